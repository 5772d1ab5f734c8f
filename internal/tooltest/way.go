package tooltest

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Call is one call of a tool, as a caller would write it.
type Call struct {
	Tool string // its name, or an alias
	Args map[string]json.RawMessage
}

// NewCall is the call of a tool with arguments in JSON.
func NewCall(t testing.TB, name, args string) Call {
	t.Helper()
	c := Call{Tool: name, Args: map[string]json.RawMessage{}}
	if args != "" {
		require.NoError(t, json.Unmarshal([]byte(args), &c.Args), "the arguments %s", args)
	}
	return c
}

// JSON is the arguments as one object.
func (c Call) JSON(t testing.TB) json.RawMessage {
	t.Helper()
	data, err := tool.Marshal(c.Args)
	require.NoError(t, err)
	return data
}

// A Way is one way in to the tools of a catalogue. All ways give a call the same answer, to the
// byte, but for what Comparable takes out.
type Way struct {
	Name string

	// Call makes a call. carried is false if the way cannot carry it: a query has no way to say
	// that an id is a number. The way itself checks what it says beside the answer: the status over
	// HTTP, the exit code of a command.
	Call func(t testing.TB, c Call) (answer json.RawMessage, carried bool)
}

// Invoking is the way that calls an Invoker by the tool's name. It carries every call.
func Invoking(name string, inv tool.Invoker) Way {
	return Way{name, func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		answer, err := inv.Invoke(t.Context(), c.Tool, c.JSON(t))
		require.NotEmpty(t, answer, "%s: %v", c.Tool, err)
		require.Equal(t, CodeOf(t, answer), codeIn(err), "%s: the error is that of the answer", name)
		return answer, true
	}}
}

// Either is the first way, and the second for the calls that the first cannot carry.
func Either(first, second Way) Way {
	return Way{first.Name, func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		if answer, carried := first.Call(t, c); carried {
			return answer, true
		}
		return second.Call(t, c)
	}}
}

// As calls a catalogue for a caller, whoever the context names.
func As(cat *tool.Catalogue, c auth.Caller) tool.Invoker { return calling{cat, c} }

type calling struct {
	cat    *tool.Catalogue
	caller auth.Caller
}

// Invoke implements tool.Invoker.
func (c calling) Invoke(
	ctx context.Context, name string, args json.RawMessage,
) (json.RawMessage, error) {
	return c.cat.Invoke(auth.WithCaller(ctx, c.caller), name, args)
}

// Set is the way over the endpoint of the tool's own MCP set, under the name that it has there. It
// carries the calls of tools by their names, which aliases are not.
func Set(t testing.TB, cat *tool.Catalogue, base string) Way {
	clients := map[string]*MCPClient{}
	for _, made := range cat.Tools() {
		set := made.Family.Name
		if clients[set] == nil {
			clients[set] = NewMCPClient(base+mcptool.Path+"/x/"+set, nil)
			t.Cleanup(func() { _ = clients[set].Close() }) // the server is about to go, too
		}
	}
	return Way{"mcp set", func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		made, ok := cat.Find(c.Tool)
		if !ok || made.Name != c.Tool {
			return nil, false
		}
		inv := Invoking("mcp set", clients[made.Family.Name])
		answer, carried := inv.Call(t, Call{made.LocalName(), c.Args})
		return longNamed(cat, made.Family, answer), carried
	}}
}

// CodeOf is the code in an answer, enveloped or bare; empty for one that is no failure. A failure
// is kept with what the run keeps.
func CodeOf(t testing.TB, answer json.RawMessage) fault.Code {
	t.Helper()
	code := codeOf(t, answer)
	if code != "" {
		leaktest.StoreRefusal(t, answer)
	}
	return code
}

func codeOf(t testing.TB, answer json.RawMessage) fault.Code {
	t.Helper()
	var a struct {
		Error json.RawMessage // of a bare failure, in some families, a text
		Code  fault.Code
		OK    *bool
	}
	require.NoError(t, json.Unmarshal(answer, &a), "%s", answer)
	if a.OK == nil {
		return a.Code
	}
	var failed struct{ Code fault.Code }
	if len(a.Error) > 0 {
		require.NoError(t, json.Unmarshal(a.Error, &failed), "%s", answer)
	}
	require.Equal(t, *a.OK, failed.Code == "", "%s", answer)
	return failed.Code
}

func codeIn(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.Of(err).Code
}

var differing = []struct {
	pattern *regexp.Regexp
	same    string
}{
	{regexp.MustCompile(`"query_time_ms":\d+`), `"query_time_ms":0`},
	{regexp.MustCompile(`"request_id":"[^"]*"`), `"request_id":""`},
	{regexp.MustCompile(`job-[0-9a-z]{26}`), `job-`},
	{regexp.MustCompile(`"bytes":\d+,"left":`), `"bytes":0,"left":`}, // with ids of requests among them
	{regexp.MustCompile(`"indexFreshness":"\w+"`), `"indexFreshness":""`},
	{regexp.MustCompile(`\{"code":"INDEX_(STALE|PENDING|UPDATING|UNKNOWN)","message":"[^"]*"` +
		`(,"fixes":\[[^][]*\])?,"state":[^{}]*\},?`), ""},
	{regexp.MustCompile(`,"pendingChangeCount":\d+,"heldChangeCount":\d+(,"sweptAt":"[^"]*","sweptVersion":"v\d+")?`),
		""},
	{regexp.MustCompile(`,"cursors":\{[^{}]*\}`), ""},
	{regexp.MustCompile(`,"freshness":"\w+"(,"swept_at":"[^"]*","swept_version":"v\d+")?`), ""},
	{regexp.MustCompile(`(mem|agent|chapter|wisdom)_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "${1}_"},
	{regexp.MustCompile(`"access_count":\d+(,"last_accessed":(\d+|null))?`), `"access_count":0`},
	{regexp.MustCompile(`"token_estimate":\d+`), `"token_estimate":0`}, // names of agents differ in length
	{regexp.MustCompile(`\b(17\d{8})\d{3}\b`), "${1}000"},              // milliseconds of functions, whose clock goes on
	{regexp.MustCompile(`\bs_[0-9a-z]{26}\b`), "s_"},                   // likewise those in ids of snapshots
	{regexp.MustCompile(`\bn_01[0-9A-Z]{8}([0-9A-Z]{16})\b`), "n_$1"},  // likewise those in uids of nodes
}

// Comparable is an answer without what differs from call to call (CONTRACT §1): how long it took,
// and the ids of the request, of a job and of what memory tools made, the bytes that an erasure
// counts, and how often a memory was recalled; and without what is known of the files at the
// moment, which is no part of a version.
func Comparable(answer json.RawMessage) string {
	text := string(answer)
	for _, d := range differing {
		text = d.pattern.ReplaceAllString(text, d.same)
	}
	return text
}

// texts is a value as a query or a command line would say it, if the argument is read from that as
// the same value.
func texts(a tool.Arg, raw json.RawMessage) ([]string, bool) {
	var all []string
	var one string
	switch {
	case json.Unmarshal(raw, &one) == nil && raw[0] == '"':
		all = []string{one}
	case raw[0] != '[' || json.Unmarshal(raw, &all) != nil || slices.Contains(all, ""):
		all = []string{string(raw)}
	}
	if len(all) == 0 || len(all) == 1 && all[0] == "" {
		return nil, false
	}
	return all, sameJSON(a.FromText(all), raw)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	one, err := json.Marshal(x)
	other, other2 := json.Marshal(y)
	return err == nil && other2 == nil && string(one) == string(other)
}

// named gives each argument of a call its tool's Arg. It fails if two names mean one argument, or
// one means none: a text cannot say that as JSON does.
func named(t *tool.Tool, c Call) (map[string]tool.Arg, bool) {
	args, seen := map[string]tool.Arg{}, map[string]bool{}
	for name := range c.Args {
		a, ok := t.Arg(name)
		if !ok || seen[a.Name] {
			return nil, false
		}
		args[name], seen[a.Name] = a, true
	}
	return args, true
}
