package clitool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// inputFlags are the flags that provide an object of arguments. If a tool has an argument with such
// a name, the flag sets that argument instead.
var inputFlags = []struct{ name, kind, doc string }{
	{"input", "JSON|FILE", "a JSON object of arguments, or the path of a file with one"},
	{"input-file", "FILE", "path of a file with a JSON object of arguments"},
	{stdinFlag, "bool", "read a JSON object of arguments from standard input"},
}

// stdinFlag is the flag that reads standard input.
const stdinFlag = "stdin"

// An inputText is the value of an input flag. Its type distinguishes it from the flag of a tool's
// argument with the same name, which is a *texts.
type inputText struct{ texts }

// addInputFlags adds the input flags whose names are not taken by arguments. text is the argument
// that --stdin sets; if it is empty, --stdin reads an object of arguments. The flags are among the
// common ones, except a --stdin that sets an argument.
func addInputFlags(flags *pflag.FlagSet, text string) {
	for _, in := range inputFlags {
		if flags.Lookup(in.name) != nil {
			continue
		}
		own := in.name == stdinFlag && text != ""
		if own {
			in.doc = "read the " + text + " from standard input"
		}
		value := &inputText{texts{kind: in.kind}}
		f := flags.VarPF(value, in.name, "", in.doc)
		if !own {
			f.Annotations = map[string][]string{commonKey: nil}
		}
		if in.kind == "bool" {
			value.check, f.NoOptDefVal = isBool, "true"
		}
	}
}

// describeBody adapts the descriptions of the input flags if they set one argument, the tool's
// Body: the input is then that argument, and not an object of arguments.
func (c *command) describeBody(flags *pflag.FlagSet) {
	a, ok := c.tool.Arg(c.tool.Body)
	if !ok {
		return
	}
	for i, doc := range []string{
		a.Doc + "; JSON, or the path of a file with it", "path of a file with the " + a.Name,
		"read the " + a.Name + " from standard input",
	} {
		f := flags.Lookup(inputFlags[i].name)
		f.Usage, f.Annotations = doc, nil
	}
}

// addBody sets the tool's Body to the input. It returns false if the input is an object of
// arguments that contains the Body. Input that is not JSON is a fault about the Body.
func (c *command) addBody(r *request, data []byte) (bool, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil && object[c.tool.Body] != nil {
		return false, nil
	}
	if !json.Valid(data) {
		return true, fault.New(c.tool.Family.Malformed, "the input must be JSON").
			With("argument", c.tool.Body)
	}
	r.args[c.tool.Body] = data
	return true, nil
}

// inputOf returns the text of an input flag and reports whether it is given. --stdin=false is not.
func inputOf(cmd *cobra.Command, name string) (text string, ok bool) {
	f := cmd.Flags().Lookup(name)
	value, ok := f.Value.(*inputText)
	if !ok || !f.Changed || value.last() == "false" {
		return "", false
	}
	return value.last(), true
}

// addInput adds the arguments in the input that the command line does not give, also under an
// alias. An argument of the line takes precedence over one in the input, so a script can have one
// file of arguments and change a few of them. Unknown names are added, so that the tool reports
// them. Input that is not an object is a fault of the code that the family uses for malformed
// calls.
func (c *command) addInput(cmd *cobra.Command, r *request, in *pipe) error {
	data, err := c.input(cmd, in)
	if err != nil || data == nil {
		return err
	}
	if c.tool.Body != "" {
		if done, err := c.addBody(r, data); done {
			return err
		}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) != nil || object == nil {
		return fault.New(c.tool.Family.Malformed, "the input must be one JSON object").
			Fix(`write an object: {"name": "value"}`)
	}
	typed := map[string]bool{}
	for name := range r.args {
		typed[name] = true
	}
	for name, raw := range object {
		if a, known := c.tool.Arg(name); !known || !typed[a.Name] {
			r.args[name] = raw
		}
	}
	return nil
}

// input returns the content of the input, or nil if none is given. More than one input flag is a
// usage error. The value of --input is JSON if it begins with a brace or a bracket, and otherwise
// the path of a file.
func (c *command) input(cmd *cobra.Command, piped *pipe) ([]byte, error) {
	given := map[string]string{}
	for _, in := range inputFlags {
		text, ok := inputOf(cmd, in.name)
		if ok && (in.name != stdinFlag || c.tool.Stdin == "") {
			given[in.name] = text
		}
	}
	if len(given) > 1 {
		return nil, usagef("--input, --input-file and --stdin exclude each other")
	}
	for name, text := range given {
		switch isJSON := strings.IndexAny(strings.TrimSpace(text), "{[") == 0; {
		case name == stdinFlag:
			return piped.read("--" + stdinFlag)
		case name == "input" && isJSON:
			return []byte(text), nil
		}
		return c.readFile(text)
	}
	return nil, nil
}

// readFile reads a file that the user named. Therefore a fault may contain the name. A missing file
// is a fault with the hint that JSON begins with a brace, because the text may have been meant as
// JSON.
func (c *command) readFile(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(c.tool.Family.Malformed, "there is no input file %q", name).
			Fix("an input that is JSON begins with { or [")
	}
	if err != nil {
		return nil, fault.New(fault.FileError, "the input file %q cannot be read", name).
			Because(err)
	}
	return data, nil
}

// A nestedFlag is a flag for a member of an argument, with its value: --goal for the member goal of
// the argument intent. Without such flags, an argument that is an object would have to be written
// as JSON. The tools that store and update memories have most of them.
type nestedFlag struct {
	tool.NestedFlag
	member tool.Arg
	value  *texts
}

// addNested adds the flags for members of arguments. It panics if a tool declares a flag for
// something that is not a member, which is an error in the program.
func (c *command) addNested(cmd *cobra.Command) {
	for _, n := range c.tool.Nested {
		member, ok := c.tool.Member(n.Path)
		if !ok {
			panic(fmt.Sprintf("clitool: --%s of %s is for %q, which is not a member of an "+
				"argument", n.Name, c.tool.Name, n.Path))
		}
		value := textsOf(member)
		value.name = n.Name
		f := cmd.Flags().VarPF(value, n.Name, "", docOf(member))
		if member.Bool() {
			f.NoOptDefVal = "true"
		}
		c.nested = append(c.nested, nestedFlag{n, member, value})
	}
}

// addMembers adds the values of the flags for members to the arguments. A flag for a member of an
// argument that is also given as a whole is a usage error. Of several values for one member, the
// last counts, unless the member or the argument is a list.
func (c *command) addMembers(args map[string]json.RawMessage) error {
	whole := map[string]bool{}
	for name := range args {
		whole[name] = true
	}
	for _, n := range c.nested {
		values := n.value.values
		if len(values) == 0 {
			continue
		}
		name, _, _ := strings.Cut(n.Path, ".")
		if whole[name] {
			a, _ := c.tool.Arg(name)
			return usagef("--%s is a part of --%s, and both are given", n.Name, a.Flag)
		}
		if a, _ := c.tool.Arg(name); !a.List() && !n.member.List() {
			values = values[len(values)-1:]
		}
		c.tool.SetMember(args, n.NestedFlag, values)
	}
	return nil
}

// A pipe is standard input, which a command line can read only once. It remembers what it was read
// for, so that a second use can be refused with both. It is read only if the line asks for it: a
// command in a script must not wait for, or consume, the input of the script.
type pipe struct {
	*command
	all  bool   // --stdin is given
	used string // what it was read for; empty: not read yet
}

// asksStdin reports whether --stdin is given.
func asksStdin(cmd *cobra.Command) bool {
	_, asked := inputOf(cmd, stdinFlag)
	return asked
}

// fill returns the values of an argument. It replaces them by standard input if a prose argument is
// "-", or if --stdin is given for the argument. A literal "-" must be given in --input. Empty
// input, and input that is not UTF-8, are faults, because a text that was generated by a failed
// program would otherwise replace a note.
func (p *pipe) fill(a tool.Arg, values []string) ([]string, error) {
	byFlag := p.all && p.tool.Stdin == a.Name
	switch {
	case byFlag && len(values) > 0:
		return nil, usagef("%s is given twice, also with --%s", a.Name, stdinFlag)
	case !byFlag && (!a.Text || len(values) != 1 || values[0] != "-"):
		return values, nil
	}
	data, err := p.read(a.Name)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fault.New(p.tool.Family.Missing, "standard input is empty: %s expected", a.Name).
			With("argument", a.Name)
	}
	if !utf8.Valid(data) { // JSON encoding would change it
		return nil, fault.New(p.tool.Family.Malformed, "standard input is not valid UTF-8").
			With("argument", a.Name)
	}
	return []string{string(data)}, nil
}

// read reads standard input to its end, at most maxPiped bytes. by is what it is read for; a second
// read is a usage error. The result is not nil.
func (p *pipe) read(by string) ([]byte, error) {
	if p.used != "" {
		return nil, usagef("standard input can be read only once, but %s and %s both read it", p.used, by)
	}
	p.used = by
	data, err := io.ReadAll(io.LimitReader(p.app.In, maxPiped+1))
	if err != nil {
		return nil, fault.New(fault.FileError, "standard input cannot be read").Because(err)
	}
	if len(data) > maxPiped {
		return nil, fault.New(fault.BatchTooLarge, "standard input has more than the %d bytes that a call "+
			"takes", maxPiped)
	}
	return append([]byte{}, data...), nil
}

// maxPiped is the maximum number of bytes read from standard input. It exceeds the limit of a call.
const maxPiped = 2 * tool.MaxBody
