package clitool

import (
	"errors"
	"fmt"
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
