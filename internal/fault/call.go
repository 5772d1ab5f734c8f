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

// Args are the arguments of a call, by name.
type Args map[string]any

// A Call is one call of a tool, as a fix proposes it. Its text, which String writes and ParseCall
// reads, is the form in which HTTP, MCP and callers in process see it: raven_read {"path":"x"}.
type Call struct {
	Tool string
	Args []Arg // in the order in which they are written
}

// An Arg is one argument of a Call.
type Arg struct {
	Name  string
	Value json.RawMessage // compact JSON
}

// NewCall returns the call of a tool, with its arguments in the order of their names. It panics if
// an argument cannot be written as JSON: the program is malformed.
func NewCall(tool string, args Args) Call {
	c := Call{Tool: tool}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		c.Args = append(c.Args, Arg{name, compact(args[name])})
	}
	return c
}

// compact writes JSON in which <, > and & stay as they are.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("fault: the argument of a fix: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// String writes the name of the tool and, behind a space, the arguments as one JSON object.
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

// Arg returns the value of an argument, and whether the call has it.
func (c Call) Arg(name string) (json.RawMessage, bool) {
	for _, a := range c.Args {
		if a.Name == name {
			return a.Value, true
		}
	}
	return nil, false
}

// callForm is the beginning of every call: the name of a tool, and the brace of its arguments.
var callForm = regexp.MustCompile(`^([a-z][a-z0-9_]*) (\{.*\})$`)

// ParseCall reads the text of a call. It returns false for any other text, such as advice.
func ParseCall(text string) (Call, bool) {
	parts := callForm.FindStringSubmatch(text)
	if parts == nil {
		return Call{}, false
	}
	c, dec := Call{Tool: parts[1]}, json.NewDecoder(strings.NewReader(parts[2]))
	if !json.Valid([]byte(parts[2])) {
		return Call{}, false
	}
	_, _ = dec.Token() // the JSON is valid, and an object
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

// Try returns a copy of the fault with one more fix that is a call. Of its arguments those that are
// nil or an empty text are left out.
func (f *Fault) Try(tool string, args Args) *Fault {
	given := Args{}
	for name, v := range args {
		if v != nil && v != "" {
			given[name] = v
		}
	}
	return f.Fix("%s", NewCall(tool, given))
}
