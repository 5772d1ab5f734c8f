package httptool

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
	"github.com/rookeryhq/rookery/internal/tool"
)

// headers are the headers that set an argument. A header for which a tool has no argument is
// refused, unless ignoring it is harmless.
var headers = []header{
	{name: "If-Match", arg: meaning(tool.MeansVersion), read: unquote, example: `"v42"`},
	{
		name: "Idempotency-Key", arg: meaning(tool.MeansKey), read: verbatim, harmless: true,
		example: "any text of yours",
	},
	{
		name: "X-Agent-Id", arg: shared("agent_id"), read: verbatim, example: "planner",
		of: func(c *auth.Caller) *string { return &c.Agent },
	},
	{
		name: "X-Session-Id", arg: shared("session"), read: verbatim, example: "default",
		of: func(c *auth.Caller) *string { return &c.Session },
	},
}

// A header is a header that sets an argument. arg finds the argument of a tool, and read converts
// the value, or returns false for an invalid one.
type header struct {
	name     string
	arg      func(*tool.Tool) (tool.Arg, bool)
	read     func(string) (string, bool)
	harmless bool
	example  string

	// of returns the field of the caller that the header sets if the tool does not have the shared
	// argument, or has one of its own with that name; nil: there is none.
	of func(*auth.Caller) *string
}

// meaning returns a function that finds a tool's argument with a meaning.
func meaning(m tool.Meaning) func(*tool.Tool) (tool.Arg, bool) {
	return func(t *tool.Tool) (tool.Arg, bool) { return t.ArgFor(m) }
}

// shared returns a function that finds a shared argument. It returns false if the tool has one of
// its own with that name.
func shared(name string) func(*tool.Tool) (tool.Arg, bool) {
	return func(t *tool.Tool) (tool.Arg, bool) {
		a, ok := t.Arg(name)
		return a, ok && a.Shared
	}
}

// verbatim returns a header value unchanged, and false if it is empty.
func verbatim(value string) (string, bool) { return value, value != "" }

// unquote parses an entity tag: "v42". It also accepts a weak one, because a proxy that compresses
// a response may weaken its tag. A list of tags, and *, are invalid.
func unquote(value string) (string, bool) {
	value = strings.TrimPrefix(value, "W/")
	n := len(value)
	if n < 3 || value[0] != '"' || value[n-1] != '"' || strings.Contains(value[1:n-1], `"`) {
		return "", false
	}
	return value[1 : n-1], true
}

// A gathering collects the arguments of one call from all parts of a request: its body, its path,
// its query and its headers. An argument may come from any of them, and from two of them only with
// equal values.
type gathering struct {
	tool   *tool.Tool
	args   map[string]json.RawMessage
	caller *auth.Caller // headers may set its agent and session
}

// request returns the call that a request makes, with the arguments in its body, path, query and
// headers. If the body is not a JSON object, the call has only that fault, which the catalogue
// answers after authorization.
//
// The call is always made with the envelope, which limits the size of an answer; bare reports
// whether the caller asked for the data only. Headers that are not arguments of the tool change the
// caller. For a call of an unknown tool nothing is read.
func (c *call) request(
	r *http.Request, caller *auth.Caller,
) (request tool.Request, bare bool, err error) {
	request.Name = c.name
	if c.tool == nil {
		return request, false, nil
	}
	body, err := c.body(r)
	if err != nil {
		return request, false, err
	}
	g := gathering{c.tool, map[string]json.RawMessage{}, caller}
	if len(bytes.TrimSpace(body)) > 0 {
		if !utf8.Valid(body) || json.Unmarshal(body, &g.args) != nil || g.args == nil {
			_, request.Malformed = c.tool.ParseArgs(body)
			return request, false, nil
		}
	}
	if err := g.addAll(c.path, r); err != nil {
		return request, false, err
	}
	if string(g.args["envelope"]) == "false" {
		delete(g.args, "envelope")
		bare = true
	}
	request.Args = g.args
	return request, bare, nil
}

// addAll adds the arguments in the path, the query and the headers, in this order. Those of the
// body are in args already.
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

// addQuery adds the arguments in the query. A repeated parameter is a list. A query that cannot be
// parsed, and names or values that are not UTF-8, are faults with the code of the tool's family.
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

// addHeaders adds the arguments in the headers.
func (g *gathering) addHeaders(h http.Header) error {
	for _, header := range headers {
		values := h.Values(header.name)
		if len(values) == 0 {
			continue
		}
		if err := g.addHeader(header, values); err != nil {
			return err
		}
	}
	return nil
}

// addHeader adds the argument that a header sets, or sets the field of the caller. A header that
// the tool cannot use is refused, because its sender relies on it: a version that is not compared
// would lead to a lost update. A header that is sent twice is refused too.
func (g *gathering) addHeader(h header, values []string) error {
	a, ok := h.arg(g.tool)
	switch {
	case ok, h.of != nil:
	case h.harmless:
		return nil
	default:
		return fault.New(g.tool.Family.Malformed, "%s takes no header %s", g.tool.Name, h.name)
	}
	value, fine := h.read(values[0])
	if !fine || len(values) > 1 {
		return fault.New(g.tool.Family.Malformed, "header %s must be one value", h.name).
			Fix("%s: %s", h.name, h.example)
	}
	if ok {
		return g.addText(a.Name, []string{value})
	}
	if !utf8.ValidString(value) || utf8.RuneCountInString(value) > tool.MaxActor {
		return fault.New(g.tool.Family.Malformed, "header %s must be UTF-8 of at most %d characters",
			h.name, tool.MaxActor)
	}
	*h.of(g.caller) = value
	return nil
}

// addText adds an argument given as text, converted by the schema of the argument. An unknown
// argument is added too, so that the catalogue reports it together with all other problems. An
// argument that is given twice with different values, perhaps under an alias, is an error.
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

// same reports whether two JSON values are equal, independent of formatting and of the order of
// members.
func same(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, _ := json.Marshal(x) // decoded values can always be encoded
	other, _ := json.Marshal(y)
	return bytes.Equal(one, other)
}

// body reads the arguments in the body of a request; nil if there is no body. GET, HEAD and DELETE
// must not have a body, because proxies may drop it. A body that is too large, or does not fit into
// the caller's share, keeps the fault of package httpbody; the other faults have the code of the
// tool's family.
func (c *call) body(r *http.Request) ([]byte, error) {
	malformed := c.tool.Family.Malformed
	data, err := httpbody.Read(r)
	if fault.Is(err, fault.BatchTooLarge) || fault.Is(err, fault.Unavailable) {
		return nil, err
	}
	if err != nil {
		return nil, fault.New(malformed, "the body of the request ended before it was whole").
			Because(err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	if reads(r.Method) || r.Method == http.MethodDelete {
		return nil, fault.New(malformed, "a %s takes its arguments from the query, not from a body",
			r.Method).Fix("POST /v1/tools/%s", c.tool.Name)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, fault.New(malformed, "a body must not be compressed").
			Fix("send it without Content-Encoding")
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, fault.New(malformed, "the body must be JSON, with the matching Content-Type").
			Fix("Content-Type: application/json")
	}
	return data, nil
}

// isJSON reports whether a media type is JSON in UTF-8. Other media types, such as that of a form,
// are refused: a page of another site could send them without a preflight request.
func isJSON(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	return err == nil && media == "application/json" &&
		(charset == "" || strings.EqualFold(charset, "utf-8"))
}
