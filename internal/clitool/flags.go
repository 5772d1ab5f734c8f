package clitool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/tool"
)

// A texts is the value of a flag: all texts given to it, unparsed. The arguments are made from them
// later, by the schema of the argument and not by the type of the flag, so that a value means the
// same as a flag, as a word and in HTTP.
type texts struct {
	name   string // name of the flag
	kind   string // placeholder for the value in help
	check  func(text string) error
	values []string
}

var _ pflag.Value = (*texts)(nil)

// Set implements pflag.Value. It appends a text, or returns the error of check, whose message
// continues "it must be".
func (t *texts) Set(text string) error {
	if t.check != nil {
		if err := t.check(text); err != nil {
			return err
		}
	}
	t.values = append(t.values, text)
	return nil
}

// String implements pflag.Value. It returns "", so that help shows no default; docOf adds it
// instead.
func (t *texts) String() string { return "" }

// Type implements pflag.Value. Help shows it as the placeholder for the value, and nothing for
// "bool". cobra lets a flag of this type have no value.
func (t *texts) Type() string { return t.kind }

// last returns the last text, which counts if only one value is allowed: as with other programs, a
// flag at the end of a line overrides the same flag before it, for example in an alias. There must
// be at least one.
func (t *texts) last() string { return t.values[len(t.values)-1] }

// isNumber accepts any number that Go can parse as a floating-point number. The tool checks whether
// it is an integer and in range.
func isNumber(text string) error {
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return fmt.Errorf("it must be a number")
	}
	return nil
}

// isBool accepts true and false, and no other spelling such as 1 or yes, because the text becomes
// JSON as it is.
func isBool(text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("it must be true or false")
	}
	return nil
}

// textsOf returns an empty value for a flag of an argument, with a placeholder by the schema of the
// argument: text, number, value (any type), name=value, JSON, or none for a boolean. Only numbers
// and booleans are checked here; the tool checks everything else.
func textsOf(a tool.Arg) *texts {
	switch kind := a.Schema().Type; {
	case a.Bool():
		return &texts{kind: "bool", check: isBool}
	case kind == "integer" || kind == "number":
		return &texts{kind: "number", check: isNumber}
	case a.Free():
		return &texts{kind: "value"}
	case isFields(a):
		return &texts{kind: "name=value"}
	case kind == "object", kind == "" && a.List() && a.Schema().Items.Type == "object",
		kind == "array" && a.Schema().Items != nil && a.Schema().Items.Type == "object":
		return &texts{kind: "JSON"}
	}
	return &texts{kind: "text"}
}

// isFields reports whether the argument takes both name=value and an object: the fields of a note,
// for example.
func isFields(a tool.Arg) bool {
	return !a.Free() && a.List() && slices.Contains(a.Schema().Types, "object") &&
		slices.Contains(a.Schema().Types, "string")
}

// addFlags adds a flag for each argument, hidden flags for their aliases, and the flags that do not
// belong to an argument: those for members of arguments, for a call made before, for questions, for
// imports, for presets, for the input, and for wide tables.
//
// Flags of positional arguments, of shared arguments and of aliases are hidden in help, but work.
// The argument that is the body of the tool, and those that the command implies, have no flags.
func (c *command) addFlags(cmd *cobra.Command) {
	c.flags = map[string][]*texts{}
	for _, a := range c.tool.Args {
		if !isGlobal(a) && a.Name != c.tool.Body && c.set[a.Name] == "" {
			f := c.addFlag(cmd.Flags(), a, a.Flag)
			f.Hidden = f.Hidden || c.hasPlace(a.Name)
			if a.Common {
				f.Annotations = map[string][]string{commonKey: nil}
			}
		}
	}
	for _, a := range c.tool.Args {
		for _, name := range append([]string{a.Name}, a.Aliases...) {
			asked := a.Name != c.tool.Body && c.set[a.Name] == ""
			if !isGlobal(a) && asked && cmd.Flags().Lookup(name) == nil {
				c.addFlag(cmd.Flags(), a, name).Hidden = true
			}
		}
	}
	c.addNested(cmd)
	if in := c.tool.Input; in != nil && in.Before != nil {
		cmd.Flags().Bool(in.Before.Flag, false, in.Before.Doc)
	}
	if len(c.tool.Asks) > 0 {
		cmd.Flags().Bool(yesFlag, false, "do not ask for confirmation")
	}
	if in := c.tool.Input; in != nil && !in.Any {
		cmd.Flags().Bool(strictFlag, false, "refuse files with invalid names instead of "+
			"skipping them")
	}
	for _, p := range c.tool.Presets {
		cmd.Flags().Bool(p.Flag, false, p.Doc)
	}
	addInputFlags(cmd.Flags(), c.tool.Stdin)
	c.describeBody(cmd.Flags())
	if flags := cmd.Flags(); c.isTable() && flags.Lookup(wideFlag) == nil {
		flags.Bool(wideFlag, false, "on a terminal: do not shorten wide tables")
	}
}

// strictFlag is the flag that refuses files with invalid note names.
const strictFlag = "strict"

// wideFlag is the flag for tables that are not cut.
const wideFlag = "wide"

// isTable reports whether answers of the tool may contain a table: a list of objects at the top of
// the data.
func (c *command) isTable() bool {
	for _, s := range c.tool.OutputSchema().Properties {
		if s.Items != nil && s.Items.Type == "object" {
			return true
		}
	}
	return false
}

// isWide reports whether the line has wideFlag. A tool may have an argument of that name; then the
// flag sets it, and tables are cut. The type of the flag distinguishes the two.
func isWide(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup(wideFlag)
	return f != nil && f.Value.Type() == "bool" && f.Value.String() == "true"
}

// hasPlace reports whether an argument is positional, so that help need not show its flag.
func (c *command) hasPlace(name string) bool {
	return slices.ContainsFunc(c.slots, func(s slot) bool { return s.name == name })
}

// isGlobal reports whether a global flag sets the argument: the vault, and some of the shared
// arguments. Such an argument has no flag of its own.
func isGlobal(a tool.Arg) bool {
	if a.Name == "vault" {
		return true
	}
	return a.Shared && slices.ContainsFunc(globals, func(g global) bool { return g.name == a.Flag })
}

// addFlag adds a flag with this name for an argument, and returns it. Several flags may set one
// argument; each has its own texts.
func (c *command) addFlag(flags *pflag.FlagSet, a tool.Arg, name string) *pflag.Flag {
	value := textsOf(a)
	value.name = name
	if in := c.tool.Input; in != nil && a.Name == in.Arg {
		value.kind = pathLabel(in.Single)
	}
	c.flags[a.Name] = append(c.flags[a.Name], value)
	f := flags.VarPF(value, name, "", docOf(a))
	f.Hidden = a.Shared
	if a.Bool() {
		f.NoOptDefVal = "true"
	}
	return f
}

// docOf returns the description of an argument on one line, with its allowed values and its
// default, and whether the flag may be repeated or read standard input. It removes backquotes,
// because pflag takes a word in backquotes for the placeholder of the value.
func docOf(a tool.Arg) string {
	doc := strings.ReplaceAll(a.Doc, "`", "")
	if n := len(a.Schema().Enum); n > 0 {
		doc += " (one of " + strings.Join(options(a), ", ") + ")"
	}
	if d := a.Schema().Default; len(d) > 0 {
		doc += " (default " + strings.Trim(string(d), `"`) + ")"
	}
	if a.List() {
		doc += " (repeatable)"
	}
	if a.Text {
		doc += " (- reads standard input)"
	}
	return strings.TrimSpace(doc)
}

// options returns the values of the argument's enumeration, in the order of the schema.
func options(a tool.Arg) []string {
	var all []string
	for _, option := range a.Schema().Enum {
		all = append(all, fmt.Sprint(option))
	}
	return all
}

// preset sets the preset values of arguments that the line does not give: `rookery trait todo`
// lists open tasks only, unless --all is given. A line with an object of arguments comes from a
// program and gets no presets.
func (c *command) preset(cmd *cobra.Command, args map[string]json.RawMessage) error {
	for _, f := range inputFlags {
		if cmd.Flags().Changed(f.name) {
			return nil
		}
	}
	for _, p := range c.tool.Presets {
		off, err := cmd.Flags().GetBool(p.Flag)
		if err != nil {
			return err
		}
		if _, given := args[p.Arg]; !off && !given {
			args[p.Arg] = json.RawMessage(p.Value)
		}
	}
	return nil
}

// typed returns the arguments given on the command line, as words or flags, converted by their
// schemas. in is standard input, which "-" reads. Members of arguments that have flags of their own
// are included.
func (c *command) typed(
	words map[string][]string, in *pipe,
) (map[string]json.RawMessage, error) {
	args := map[string]json.RawMessage{}
	for _, a := range c.tool.Args {
		values, err := c.values(a, words[a.Name])
		if err == nil {
			values, err = in.fill(a, values)
		}
		if err != nil {
			return nil, err
		}
		if len(values) > 0 {
			args[a.Name] = a.FromText(values)
		}
	}
	return args, c.addMembers(args)
}

// values returns the texts of one argument: all of them for a list, otherwise those of the words,
// joined with spaces, or the last value of the flag. Contradictory input is a usage error: a word
// and a flag, or two flags of different names. Only the words of an argument that takes all
// remaining words can be several, so a title can be written without quotes. The exception to the
// first rule is the argument of name=value words, for which words and flags are joined.
func (c *command) values(a tool.Arg, words []string) ([]string, error) {
	ways, values := 0, slices.Clone(words)
	for _, flag := range c.flags[a.Name] {
		if len(flag.values) > 0 {
			ways++
			values = append(values, flag.values...)
		}
	}
	switch {
	case len(words) > 0 && ways > 0 && a.Name != c.pairs:
		return nil, usagef("%s is given twice: as a word and as --%s", placeLabel(a.Name), a.Flag)
	case ways > 1 && !a.List():
		return nil, usagef("--%s is given twice, also under another name", a.Flag)
	case a.List() && len(values) > 1 && isFields(a) && slices.ContainsFunc(values, isObject):
		return nil, usagef("--%s is one object, or name=value any number of times", a.Flag)
	case a.List() || len(values) == 0:
		return values, nil
	case len(words) > 1:
		return []string{strings.Join(words, " ")}, nil
	}
	return values[len(values)-1:], nil
}

// isObject reports whether a text looks like a JSON object. It is not parsed; the tool reports
// invalid JSON.
func isObject(text string) bool { return strings.HasPrefix(text, "{") }

// paired returns a command line in which each word of the form name=value that follows the flag of
// an argument with named values becomes a value of that flag: `--frontmatter a=1 b=2` sets both, as
// `--frontmatter a=1 --frontmatter b=2` does. The line of a command that takes such words without a
// flag is returned unchanged, and so is one that calls no tool. Words after -- are not changed.
//
// cobra cannot do this, because a flag has one value there, so the words are rewritten before cobra
// sees them. Another flag, or a word of another form, ends the sequence.
func (a *App) paired(root *cobra.Command, args []string) []string {
	c := a.commandOf(root, args)
	if c == nil || c.pairs != "" || completes(args) {
		return args
	}
	var line []string
	flag, value := "", false // flag of the following words; whether the next word is its value
	for i, word := range args {
		switch name, _, has := strings.Cut(word, "="); {
		case word == "--":
			return append(line, args[i:]...)
		case strings.HasPrefix(word, "--"):
			flag, value = "", false
			if c.isPairsFlag(strings.TrimPrefix(name, "--")) {
				flag, value = name, !has
			}
		case value:
			value = false
		case flag != "" && pair.MatchString(word):
			word = flag + "=" + word
		default:
			flag = ""
		}
		line = append(line, word)
	}
	return line
}

// isPairsFlag reports whether a flag sets an argument with named values. Underscores in its name
// count as dashes.
func (c *command) isPairsFlag(name string) bool {
	name = string(dashed(nil, name))
	for _, a := range c.tool.Args {
		isFlag := slices.ContainsFunc(c.flags[a.Name], func(t *texts) bool {
			return string(dashed(nil, t.name)) == name
		})
		if isFlag && isFields(a) {
			return true
		}
	}
	return false
}
