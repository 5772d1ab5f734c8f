package httptool

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// headers are the headers that give an argument. A header that has no argument in a tool is refused
// if leaving it out could do harm.
var headers = []struct {
	name     string
	arg      func(*tool.Tool) (tool.Arg, bool)
	read     func(string) (string, bool)
	harmless bool
	example  string
}{
	{"If-Match", meaning(tool.MeansVersion), unquote, false, `"v42"`},
	{"Idempotency-Key", meaning(tool.MeansKey), verbatim, true, "any text of yours"},
	{"X-Agent-Id", named("agent_id"), verbatim, false, "planner"},
	{"X-Session-Id", named("session"), verbatim, false, "default"},
}

// meaning finds the argument of a tool that has a meaning.
func meaning(m tool.Meaning) func(*tool.Tool) (tool.Arg, bool) {
	return func(t *tool.Tool) (tool.Arg, bool) { return t.Meant(m) }
}

// named finds an argument that every tool takes.
func named(name string) func(*tool.Tool) (tool.Arg, bool) {
	return func(t *tool.Tool) (tool.Arg, bool) { return t.Arg(name) }
}

func verbatim(value string) (string, bool) { return value, value != "" }

// unquote reads an entity tag: "v42". A weak one is taken too: what compresses an answer on its way
// may have weakened it.
func unquote(value string) (string, bool) {
	value = strings.TrimPrefix(value, "W/")
	n := len(value)
	if n < 3 || value[0] != '"' || value[n-1] != '"' || strings.Contains(value[1:n-1], `"`) {
		return "", false
	}
	return value[1 : n-1], true
}

// A gathering puts the arguments of one call together from everywhere that a request has some.
type gathering struct {
	tool *tool.Tool
	args map[string]json.RawMessage
}

// arguments are those of a request: of its body, its path, its query and its headers. A body that
// is no object is passed on alone, for the catalogue says what is wrong with it.
//
// The call is always made for an envelope, whose meta and warnings are needed here. bare says that
// the caller wants what is in it.
func (c *call) arguments(r *http.Request) (args json.RawMessage, bare bool, err error) {
	if c.tool == nil {
		return nil, false, nil
	}
	body, err := c.body(r)
	if err != nil {
		return nil, false, err
	}
	g := gathering{c.tool, map[string]json.RawMessage{}}
	if len(bytes.TrimSpace(body)) > 0 {
		if !utf8.Valid(body) || json.Unmarshal(body, &g.args) != nil || g.args == nil {
			return body, false, nil
		}
	}
	if err := g.addAll(c.path, r); err != nil {
		return nil, false, err
	}
	if string(g.args["envelope"]) == "false" {
		delete(g.args, "envelope")
		bare = true
	}
	args, err = tool.Marshal(g.args)
	return args, bare, err
}

// addAll adds all that stands beside the body.
func (g *gathering) addAll(path map[string]string, r *http.Request) error {
	for name, value := range path {
		if err := g.addText(name, []string{value}); err != nil {
			return err
		}
	}
	if err := g.addQuery(r.URL.RawQuery); err != nil {
		return err
	}
	return g.addHeaders(r.Header)
}

// addQuery adds what the query says. A parameter that is repeated is a list.
func (g *gathering) addQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fault.New(g.tool.Family.Malformed, "the query is not of the form name=value&…").
			Fix("escape %% as %%25, & as %%26 and ; as %%3B")
	}
	for name, values := range query {
		if !utf8.ValidString(name) {
			return fault.New(g.tool.Family.Malformed, "the query is not escaped UTF-8")
		}
		if err := g.addText(name, values); err != nil {
			return err
		}
	}
	return nil
}

// addHeaders adds the arguments that headers give.
func (g *gathering) addHeaders(h http.Header) error {
	for _, header := range headers {
		values := h.Values(header.name)
		if len(values) == 0 {
			continue
		}
		a, ok := header.arg(g.tool)
		if !ok {
			if header.harmless {
				continue
			}
			return fault.New(g.tool.Family.Malformed, "%s takes no header %s", g.tool.Name, header.name)
		}
		value, ok := header.read(values[0])
		if !ok || len(values) > 1 {
			return fault.New(g.tool.Family.Malformed, "header %s must be one value", header.name).
				Fix("%s: %s", header.name, header.example)
		}
		if err := g.addText(a.Name, []string{value}); err != nil {
			return err
		}
	}
	return nil
}

// addText adds an argument that came as text. One that the tool does not have is added too: the
// catalogue says so, together with all else that is wrong.
func (g *gathering) addText(name string, values []string) error {
	for _, v := range values {
		if !utf8.ValidString(v) {
			return fault.New(g.tool.Family.Malformed, "a value in the request is not UTF-8")
		}
	}
	a, known := g.tool.Arg(name)
	if !known {
		if _, there := g.args[name]; !there {
			raw, err := tool.Marshal(values)
			g.args[name] = raw
			return err
		}
		return nil
	}
	raw := a.FromText(values)
	for _, other := range append([]string{a.Name}, a.Aliases...) {
		was, there := g.args[other]
		if there && string(was) != "null" && !same(was, raw) {
			return fault.New(g.tool.Family.Malformed,
				"argument %q is given twice, with different values", a.Name).With("argument", a.Name)
		}
		delete(g.args, other)
	}
	g.args[a.Name] = raw
	return nil
}

// same reports whether two values are equal, however they are written.
func same(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // what was read can be written
	other, _ := json.Marshal(y)
	return bytes.Equal(one, other)
}
