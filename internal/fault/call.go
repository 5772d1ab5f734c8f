package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Args maps the names of a call's arguments to values that encoding/json can encode.
type Args map[string]any

// A Call is a call of a tool that a fix proposes. Its text form, which String writes and ParseCall
// reads, is the one that HTTP, MCP and in-process callers see: raven_read {"path":"x"}.
type Call struct {
	Tool string
	Args []Arg // in the order of the text form
}

// An Arg is one argument of a Call.
type Arg struct {
	Name  string
	Value json.RawMessage // compact JSON
}

// NewCall returns a call of a tool, with its arguments sorted by name. It panics if an argument
// cannot be encoded as JSON, which is an error in the program.
func NewCall(tool string, args Args) Call {
	c := Call{Tool: tool}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		c.Args = append(c.Args, Arg{name, compact(args[name])})
	}
	return c
}

// compact encodes v as compact JSON without escaping <, > and &. It panics if v cannot be encoded.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("fault: the argument of a fix: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// String returns the text form: the name of the tool, a space, and the arguments as one JSON
// object.
func (c Call) String() string {
	var b strings.Builder
	b.WriteString(c.Tool + " {")
	for i, a := range c.Args {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(compact(a.Name))
		b.WriteByte(':')
		b.Write(a.Value)
	}
	return b.String() + "}"
}

// Arg returns the value of an argument and reports whether the call has it.
func (c Call) Arg(name string) (json.RawMessage, bool) {
	for _, a := range c.Args {
		if a.Name == name {
			return a.Value, true
		}
	}
	return nil, false
}

// callForm matches the text form of a call: the name of a tool, a space, and an object in braces.
var callForm = regexp.MustCompile(`^([a-z][a-z0-9_]*) (\{.*\})$`)

// ParseCall parses the text form of a call. It returns false for any other text, such as a fix that
// is advice in a sentence.
func ParseCall(text string) (Call, bool) {
	parts := callForm.FindStringSubmatch(text)
	if parts == nil {
		return Call{}, false
	}
	c, dec := Call{Tool: parts[1]}, json.NewDecoder(strings.NewReader(parts[2]))
	if !json.Valid([]byte(parts[2])) {
		return Call{}, false
	}
	_, _ = dec.Token() // skip the opening brace; the JSON is a valid object
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return Call{}, false
		}
		c.Args = append(c.Args, Arg{name.(string), value})
	}
	return c, true
}

// Try returns a copy of the fault with an additional fix: a call of a tool. Arguments that are nil
// or "" are omitted.
func (f *Fault) Try(tool string, args Args) *Fault {
	given := Args{}
	for name, v := range args {
		if v != nil && v != "" {
			given[name] = v
		}
	}
	return f.Fix("%s", NewCall(tool, given))
}
