package clitool

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/fault"
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
