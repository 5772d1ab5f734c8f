package clitool

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"rookery/internal/fault"
)

// inputFlags say where an object of arguments comes from. A tool may have an argument of such a
// name; then the flag is the argument.
var inputFlags = []struct{ name, kind, doc string }{
	{"input", "JSON|FILE", "an object of arguments, or a file that holds one"},
	{"input-file", "FILE", "a file that holds an object of arguments"},
	{"stdin", "bool", "read an object of arguments from standard input"},
}

// inputText is the value of such a flag: a text that is told apart from an argument of a tool.
type inputText struct{ texts }

// addInputFlags gives a command the flags of the input that no argument of its tool is called.
func addInputFlags(flags *pflag.FlagSet) {
	for _, in := range inputFlags {
		if flags.Lookup(in.name) != nil {
			continue
		}
		value := &inputText{texts{kind: in.kind}}
		f := flags.VarPF(value, in.name, "", in.doc)
		f.Annotations = map[string][]string{commonKey: nil}
		if in.kind == "bool" {
			value.check, f.NoOptDefVal = isBool, "true"
		}
	}
}

// addInput adds the arguments of the input that the command line does not give, under whatever name
// the input has them.
func (c *command) addInput(cmd *cobra.Command, r *request) error {
	data, err := c.input(cmd)
	if err != nil || data == nil {
		return err
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

// input is the text of the one input that is given; nil if there is none.
func (c *command) input(cmd *cobra.Command) ([]byte, error) {
	given := map[string]string{}
	for _, in := range inputFlags {
		f := cmd.Flags().Lookup(in.name)
		if value, ok := f.Value.(*inputText); ok && f.Changed && value.last() != "false" {
			given[in.name] = value.last()
		}
	}
	if len(given) > 1 {
		return nil, usagef("--input, --input-file and --stdin exclude each other")
	}
	for name, text := range given {
		switch isJSON := strings.IndexAny(strings.TrimSpace(text), "{[") == 0; {
		case name == "stdin":
			return c.readAll()
		case name == "input" && isJSON:
			return []byte(text), nil
		}
		return c.readFile(text)
	}
	return nil, nil
}

func (c *command) readAll() ([]byte, error) {
	data, err := io.ReadAll(c.app.In)
	if err != nil {
		return nil, fault.New(fault.FileError, "standard input cannot be read").Because(err)
	}
	return append([]byte{}, data...), nil
}

// readFile reads a file that the caller named, so a fault may name it too.
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
