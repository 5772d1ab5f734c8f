package clitool

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A usageError is the error of a command line that cannot be parsed. All other errors are faults.
// It never contains the value of a flag, which may be a secret.
type usageError struct {
	message string
	fixes   []string
}

// Error returns the message.
func (e *usageError) Error() string { return e.message }

// Usage returns the error of a command line that cannot be parsed. Run returns exit code 1 for it.
// It is for Extra commands; the message should begin in lower case and name the flag or the word.
func Usage(format string, args ...any) error { return usagef(format, args...) }

// usagef returns a usage error.
func usagef(format string, args ...any) *usageError {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// fix adds a fix and returns e.
func (e *usageError) fix(format string, args ...any) *usageError {
	e.fixes = append(e.fixes, fmt.Sprintf(format, args...))
	return e
}

// fault returns the error in the form of an envelope's fault, for a line that requests JSON:
// INVALID_PARAMETER, with the same message and fixes. The exit code is still that of a usage error.
func (e *usageError) fault() *fault.Fault {
	f := fault.New(fault.InvalidParameter, "%s", e.message)
	f.Fixes = e.fixes
	return f
}

// flagError returns the usage error for an invalid flag, with the flag that was probably meant. If
// a word before it is not a command, it reports that word instead, because the flag may belong to
// the command that was meant. cobra calls it for every error of a flag. The errors of pflag are
// replaced, because they contain the value.
func flagError(c *cobra.Command, err error) error {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return wrongValue(err)
	}
	group := c.HasSubCommands() && c.ValidArgsFunction == nil
	if words := c.Flags().Args(); group && len(words) > 0 {
		return unknownCommand(c, words[0])
	}
	if short := missing.GetSpecifiedShortnames(); short != "" {
		return usagef("there is no flag -%c", []rune(missing.GetSpecifiedName())[0]).
			fix("put -- before an argument that begins with a dash").
			fix("%s --help", c.CommandPath())
	}
	return noFlag(c, missing.GetSpecifiedName())
}

// wrongValue returns the usage error for an invalid value of a flag, or for a missing one. It does
// not contain the value, which may be a secret.
func wrongValue(err error) error {
	var bad *pflag.InvalidValueError
	var none *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	var number *strconv.NumError
	switch {
	case errors.As(err, &none):
		return usagef("--%s needs a value", none.GetFlag().Name)
	case errors.As(err, &syntax):
		return usagef("a flag has one or two dashes and a name: --name VALUE or --name=VALUE")
	case !errors.As(err, &bad):
		return usagef("a flag is not written correctly")
	case errors.As(err, &number) && bad.GetFlag().Value.Type() == "bool":
		return usagef("--%s must be true or false", bad.GetFlag().Name)
	case errors.As(err, &number):
		return usagef("--%s must be a whole number", bad.GetFlag().Name)
	}
	reason := strings.TrimPrefix(bad.Unwrap().Error(), "it ")
	return usagef("--%s %s", bad.GetFlag().Name, reason)
}

// runGroup is the RunE of a group. It prints help, or returns an error for a word that is not a
// command.
func runGroup(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknownCommand(c, args[0])
}

// unknownCommand returns the usage error of a word that is not a subcommand of c, with the command
// that was probably meant.
func unknownCommand(c *cobra.Command, word string) error {
	path := strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()) + " " + word)
	e := usagef("there is no command %q", path)
	if meant := meantCommand(c, word); meant != "" {
		e.message += fmt.Sprintf("; did you mean %q?", meant)
		return e.fix("%s %s --help", c.Root().Name(), meant)
	}
	return e.fix("%s --help", c.CommandPath())
}

// meantCommand returns the subcommand of c with the most similar name or, if none is similar, the
// first command of the whole tree whose last word is this word, because people forget the group of
// a command more often than its name. It returns "" if there is none. The result has all words
// after the name of the program, so that it can be shown as it must be typed.
func meantCommand(c *cobra.Command, word string) string {
	group := strings.TrimPrefix(c.CommandPath()+" ", c.Root().Name()+" ")
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	if near := fault.Nearest(word, names); near != "" {
		return group + near
	}
	for _, path := range paths(c.Root()) {
		if words := strings.Fields(path); words[len(words)-1] == word {
			return path
		}
	}
	return ""
}

// paths returns the words of all available commands below c, in order, such as "vault create".
// Groups are among them.
func paths(c *cobra.Command) []string {
	var all []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, strings.TrimPrefix(sub.CommandPath(), c.Root().Name()+" "))
			all = append(all, paths(sub)...)
		}
	}
	return all
}

// asksJSON reports whether a command line requests JSON. It is for lines that cannot be parsed, so
// that flags have no values. Words after -- are not flags. It may be wrong for a line in which such
// a word is the value of another flag, which only changes the form of an error.
func asksJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(s string) bool {
		return s == "--json" || s == "--bare" || s == "--envelope"
	})
}

// asksEnvelope reports whether a command line requests the envelope explicitly.
func asksEnvelope(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--envelope") || slices.Contains(args, "--envelope=true")
}

// dashed normalizes names with underscores, as tools spell them, to names with dashes, so that
// --page_token and --page-token are one flag. pflag calls it for every name that it registers or
// reads.
func dashed(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}

// A terms contains the names of a tool's arguments on a command line: a flag, an environment
// variable, or a positional argument. Messages for people use them; in JSON a fault is printed as
// the server sent it.
//
//	argument "vault" is missing        the message of the server
//	--vault NAME or ROOKERY_VAULT is missing        for people
//
// It is made from one command line: an argument that was given by an alias is named by that alias.
type terms struct {
	tool, path string            // names of the tool and of the command
	terms      map[string]string // by argument; an argument that is missing keeps its name
	short      map[string]string // the same, without the position
	missing    map[string]bool   // positional arguments that were not given
	usage      string            // usage line with the positional arguments
	vault      [2]string         // name of a vault from the environment, and the variable
}

// argumentKey is the detail of a fault that names an argument.
const argumentKey = "argument"

// termsOf returns the terms of a command line. words are its words by argument. It is made when the
// words are known, before the input is read; see forget.
func (c *command) termsOf(cmd *cobra.Command, words map[string][]string) *terms {
	t := &terms{
		tool: c.tool.Name, path: cmd.CommandPath(), usage: cmd.UseLine(),
		terms: map[string]string{}, short: map[string]string{}, missing: map[string]bool{},
	}
	for _, a := range c.tool.Args {
		if isGlobal(a) {
			t.terms[a.Name] = c.app.globalTerm(cmd, a.Flag)
			t.short[a.Name] = t.terms[a.Name]
			continue
		}
		flag := "--" + a.Flag
		for _, given := range c.flags[a.Name] {
			if len(given.values) > 0 {
				flag = "--" + given.name
			}
		}
		t.terms[a.Name], t.short[a.Name] = flag, flag
	}
	if target, err := c.app.Target(cmd); err == nil && target.InEnvironment("vault") {
		t.vault = [2]string{target.Vault, target.From["vault"]}
	}
	for i, s := range c.slots {
		if s.name == "" || c.isFlagged(s.name) {
			continue
		}
		label := strings.Trim(s.label(), "[].")
		t.short[s.name], t.terms[s.name] = label, label
		if !s.rest {
			t.terms[s.name] = fmt.Sprintf("%s (the %s argument)", label, ordinal(i))
		}
		t.missing[s.name] = len(words[s.name]) == 0
	}
	if c.pairs != "" && !c.isFlagged(c.pairs) {
		t.terms[c.pairs], t.short[c.pairs] = pairLabel, pairLabel
	}
	return t
}

// pairLabel is the placeholder for words of the form name=value.
const pairLabel = "NAME=VALUE"

// isFlagged reports whether the line gives an argument by a flag. Messages then name the flag, even
// if the argument could be a word.
func (c *command) isFlagged(name string) bool {
	return slices.ContainsFunc(c.flags[name], func(t *texts) bool { return len(t.values) > 0 })
}

// ordinal returns the ordinal number of a position, counted from 0: first, second, third, 4th.
func ordinal(i int) string {
	if words := []string{"first", "second", "third"}; i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("%dth", i+1)
}

// globalTerm returns the term for an argument that a global flag sets: the flag or the variable
// that was used, otherwise all that can be, as "--vault NAME or ROOKERY_VAULT".
func (a *App) globalTerm(cmd *cobra.Command, flag string) string {
	if from := a.sources(cmd)[flag]; from != "" {
		return from
	}
	for _, g := range globals {
		if g.name == flag && g.value != "" && len(g.env) > 0 {
			return "--" + flag + " " + g.value + " or " + g.env[0]
		}
	}
	return "--" + flag
}

// forget removes arguments that were given as JSON, where they have their own names. Messages about
// them then use the names of the tool.
func (t *terms) forget(names ...string) {
	for _, name := range names {
		delete(t.terms, name)
		delete(t.short, name)
		delete(t.missing, name)
	}
}

// fault returns a copy of a fault with these terms, in its message, its details, its fixes and its
// individual problems. A nil t returns f unchanged. The detail that names the argument is left out
// if the message names it already.
func (t *terms) fault(f *fault.Fault) *fault.Fault {
	if t == nil {
		return f
	}
	g := *f
	about, _ := f.Details[argumentKey].(string)
	g.Message = t.message(f.Message, about)
	if term, ok := t.terms[about]; ok {
		g.Details = maps.Clone(f.Details)
		g.Details[argumentKey] = term
	}
	if named, ok := g.Details[argumentKey].(string); ok && t.says(g.Message, about, named) {
		g.Details = maps.Clone(g.Details)
		delete(g.Details, argumentKey)
	}
	g.Fixes, g.Errors = nil, nil
	for _, fix := range f.Fixes {
		g.Fixes = append(g.Fixes, t.advice(fix))
	}
	for _, one := range f.Errors {
		g.Errors = append(g.Errors, t.fault(one))
	}
	return &g
}

// says reports whether a message already names an argument, so that the detail can be omitted: by
// its name in quotes, or by one of its terms.
func (t *terms) says(message, about, term string) bool {
	short := t.short[about]
	return strings.Contains(message, `"`+about+`"`) || strings.Contains(message, term) ||
		short != "" && strings.Contains(message, short)
}

// quoted matches the way in which messages name an argument, and underlined matches names that
// contain an underscore and therefore cannot be other words.
var (
	quoted     = regexp.MustCompile(`argument "([A-Za-z_]+)"`)
	underlined = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)
)

// message returns a message with these terms. about is the argument that the message is about, or
// "". It replaces the name of the tool by that of the command, names of arguments in quotes, and
// names with an underscore, and says where the name of a vault comes from if that is the
// environment. Messages are written for all ways of calling a tool, so this is a replacement in a
// text; a name that is not certain to be an argument is left alone.
func (t *terms) message(text, about string) string {
	text = strings.ReplaceAll(text, t.tool+" ", t.path+" ")
	if rest, ok := strings.CutPrefix(text, about+" "); ok && t.terms[about] != "" {
		text = `argument "` + about + `" ` + rest
	}
	text = quoted.ReplaceAllStringFunc(text, func(s string) string {
		name := quoted.FindStringSubmatch(s)[1]
		if term, ok := t.terms[name]; ok {
			return term
		}
		return s
	})
	if name, variable := t.vault[0], t.vault[1]; name != "" {
		of := fmt.Sprintf("vault %q", name)
		text = strings.Replace(text, of, of+" (from "+variable+")", 1)
	}
	return t.names(text)
}

// advice returns a fix with these terms. A command line or a call is returned unchanged: its names
// are already those of the line, or must be those of the tool.
func (t *terms) advice(fix string) string {
	if strings.HasPrefix(fix, "rookery ") || strings.Contains(fix, "{") {
		return fix
	}
	return t.names(fix)
}

// names replaces names of arguments that cannot be other words: those with an underscore. A name
// such as path may be a word of the sentence.
func (t *terms) names(text string) string {
	return underlined.ReplaceAllStringFunc(text, func(name string) string {
		if term, ok := t.short[name]; ok {
			return term
		}
		return name
	})
}

// lacksPlace reports whether a fault, or one of its individual problems, is about a positional
// argument that was not given. Then the usage line helps.
func (t *terms) lacksPlace(f *fault.Fault) bool {
	if t == nil {
		return false
	}
	about, _ := f.Details[argumentKey].(string)
	return t.missing[about] || slices.ContainsFunc(f.Errors, t.lacksPlace)
}
