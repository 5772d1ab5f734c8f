package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
)

// A Call is one call as interceptors see it. Its arguments are decoded but not yet checked against
// the tool's schema.
type Call struct {
	Tool   *Tool
	Caller auth.Caller
	Args   map[string]json.RawMessage

	// Malformed is the fault of arguments that could not be read as a whole; nil: they could. It is
	// returned only after the interceptors have authorized the call.
	Malformed error

	// Warnings are added to the answer by interceptors, also if the call fails.
	Warnings []Warning
}

// Text returns the string value of an argument, or "" if it is missing or not a string.
func (c *Call) Text(name string) string {
	var s string
	if json.Unmarshal(c.Args[name], &s) != nil {
		return ""
	}
	return s
}

// Needs returns the role that the call needs and the kind of change it makes. Tool.Reads can lower
// those of the tool, and Tool.Raises can raise them, depending on the arguments.
func (c *Call) Needs() Raise {
	needs := Raise{c.Tool.Role, c.Tool.Kind}
	if w := c.Tool.Reads; w != nil && slices.Contains(w.Values, c.Text(w.Arg)) {
		return Raise{auth.Reader, Read}
	}
	if len(c.Tool.Raises) == 0 {
		return needs
	}
	for name, raw := range c.Args {
		a, ok := c.Tool.Arg(name)
		if r, raises := c.Tool.Raises[a.Name]; ok && raises && !isNothing(raw) {
			needs = needs.above(r)
		}
	}
	return needs
}

// isNothing reports whether a value means the same as a missing argument: false or null.
func isNothing(raw json.RawMessage) bool {
	text := strings.TrimSpace(string(raw))
	return text == "false" || text == "null"
}

// A Handler executes a call and returns its reply. The reply may be valid in part if the error is
// not nil; see Reply.Partial.
type Handler func(ctx context.Context, c *Call) (Reply, error)

// An Interceptor wraps a handler to do work that every call needs, such as authorization or audit.
type Interceptor func(next Handler) Handler

// ArgFor returns the value of the call's argument with a meaning, by its name or an alias. It
// returns nil if the argument is not given.
func (c *Call) ArgFor(m Meaning) json.RawMessage {
	a, ok := c.Tool.ArgFor(m)
	if !ok {
		return nil
	}
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if raw, given := c.Args[name]; given {
			return raw
		}
	}
	return nil
}

// Dry reports whether the call only shows its plan.
func (c *Call) Dry() bool { return string(c.ArgFor(MeansDry)) == "true" }
