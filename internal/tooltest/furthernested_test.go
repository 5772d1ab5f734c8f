package tooltest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/openapi"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestFurtherNested holds that objects are checked at every level.
func TestFurtherNested(t *testing.T) {
	for name, c := range map[string]struct{ args, message, path, nearest string }{
		"a list of choices": {`"plan":{"goal":"g","kind":"x"}`,
			`argument "plan.kind" must be one of feature, fix`, "plan.kind", ""},
		"unknown": {`"plan":{"goal":"g","gaol":"x"}`,
			`argument "plan" has no member "gaol"; did you mean "goal"?`, "plan.gaol", "goal"},
		"missing": {`"plan":{}`, `argument "plan.goal" is missing: the aim`, "plan.goal", ""},
		"a bound": {`"plan":{"goal":"g"},"steps":[{"where":"a"},{"where":"b","hours":9}]`,
			`argument "steps[1].hours" must be a whole number from 1 to 8`, "steps[1].hours", ""},
		"a kind": {`"plan":{"goal":1}`, `argument "plan.goal" must be a text`, "plan.goal", ""},
		"no object": {`"plan":{"goal":"g"},"steps":["a"]`,
			`argument "steps[0]" must be an object`, "steps[0]", ""},
		"an entry of a list": {`"plan":{"goal":"g","tags":["a",1]}`,
			`argument "plan.tags[1]" must be a text`, "plan.tags[1]", ""},
		"null": {`"plan":{"goal":"g","tags":null}`,
			`argument "plan.tags" must be a list, each entry a text`, "plan.tags", ""},
		"by name": {`"plan":{"goal":"g","by":{"one":{"where":"x","houres":1}}}`,
			`argument "plan.by.one" has no member "houres"; did you mean "hours"?`, "plan.by.one.houres", "hours"},
		"a number in bounds": {`"plan":{"goal":"g","rate":2}`,
			`argument "plan.rate" must be null or a number`, "plan.rate", ""},
		"of another kind": {`"plan":"g"`, `argument "plan" must be an object`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := invoke(t, further(t), "stack_plan", `{"vault":"v",`+c.args+`}`)
			f := fault.Of(err)
			require.Equal(t, fault.InvalidParameter, f.Code)
			require.Equal(t, c.message, f.Message)
			require.Contains(t, []any{"plan", "steps"}, f.Details["argument"])
			if c.path == "" {
				require.NotContains(t, f.Details, "path")
				return
			}
			require.Equal(t, c.path, f.Details["path"])
			if c.nearest != "" {
				require.Equal(t, []string{c.nearest}, f.Details["nearest"])
			}
		})
	}
}

// TestFurtherNestedTogether holds that all problems come together, and that long names are not echoed.
func TestFurtherNestedTogether(t *testing.T) {
	secret := strings.Repeat("s3cret", 20)
	answer, err := invoke(t, further(t), "stack_plan", `{"vault":"v","steps":[{},{"where":2}],
		"plan":{"kind":"x","`+secret+`":1,"by":{"`+secret+`":{"hours":0}}},"plann":1}`)
	f := fault.Of(err)
	require.Len(t, f.Errors, 8)
	require.NotContains(t, answer, "s3cret")
	var paths []string
	for _, e := range f.Errors {
		path, _ := e.Details["path"].(string)
		paths = append(paths, path)
	}
	require.Equal(t, []string{"plan.by.….hours", "plan.by.….where", "plan.kind", "plan", "plan.goal", "",
		"steps[0].where", "steps[1].where"}, paths)
	answer, err = invoke(t, further(t), "stack_plan",
		`{"vault":"v","plan":{"goal":"g"},"steps":[`+strings.Repeat(`{"x":1},`, 999)+`{}]}`)
	require.Len(t, fault.Of(err).Errors, fault.MaxProblems)
	require.Less(t, len(answer), 1<<14)
}

// TestFurtherNestedDefaults holds that members have their defaults, and that null is a value where the tag says
// so.
func TestFurtherNestedDefaults(t *testing.T) {
	answer, err := invoke(t, further(t), "stack_plan", `{"vault":"v","plan":{"goal":"g","rate":null,
		"by":{"x":{"where":"here"}}},"steps":[{"where":"a"},{"where":"b","hours":8}]}`)
	require.NoError(t, err)
	require.Contains(t, answer, `"data":{"plan":{"goal":"g","kind":"fix","by":{"x":{"where":"here","hours":1}}},`+
		`"steps":[{"where":"a","hours":1},{"where":"b","hours":8}]}`)
}

// TestFurtherNestedSchema holds that the schemas which projections show have the bounds at every level.
func TestFurtherNestedSchema(t *testing.T) {
	doc, err := openapi.Document(tooltest.FurtherTools(), openapi.Info{})
	require.NoError(t, err)
	var compact strings.Builder
	require.NoError(t, json.NewEncoder(&compact).Encode(json.RawMessage(doc)))
	s := httptest.NewServer(mcptool.New(further(t), mcptool.Options{}))
	defer s.Close()
	listed := post(t, s.URL+"/mcp/x/stack", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, text := range []string{compact.String(), listed} {
		require.Contains(t, text, `"enum":["feature","fix"]`)
		require.Contains(t, text, `"maximum":8`)
	}
}

// TestFurtherOwnArgument holds that an argument of a tool takes the place of the one that every tool has: then
// headers and flags say who acts.
func TestFurtherOwnArgument(t *testing.T) {
	cat := further(t)
	acting := auth.LocalCaller()
	acting.Agent, acting.Session = "planner", "s"
	answer, err := tooltest.As(cat, acting).Invoke(t.Context(), "stack_who",
		json.RawMessage(`{"vault":"v","agent_id":"other"}`))
	require.NoError(t, err)
	const want = `{"meant":"other","acts":"planner","session":"s"}`
	require.Contains(t, string(answer), want)

	s := httptest.NewServer(httptool.New(cat, httptool.Options{}))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		s.URL+"/v1/vaults/v/nodes/who?agent_id=other", nil)
	require.NoError(t, err)
	r.Header.Set("X-Agent-Id", "planner")
	r.Header.Set("X-Session-Id", "s")
	require.Contains(t, sent(t, r, 200), want)
	r.Header.Set("X-Agent-Id", strings.Repeat("a", 129))
	require.Contains(t, sent(t, r, 400), "at most 128 characters")

	client := &httptool.Client{Base: s.URL, Agent: "planner", Session: "s", Tools: cat.Tools()}
	answer, err = client.Invoke(t.Context(), "stack_who", json.RawMessage(`{"vault":"v","agent_id":"other"}`))
	require.NoError(t, err)
	require.Contains(t, string(answer), want)

	p := run(t, "", "--json", "--agent", "planner", "--session", "s", "node", "who", "--agent-id", "other")
	require.Equal(t, want+"\n", p.Out, p.Err)
}

// TestFurtherOwnArgumentOverMCP holds the same over MCP.
func TestFurtherOwnArgumentOverMCP(t *testing.T) {
	s := httptest.NewServer(mcptool.New(further(t), mcptool.Options{}))
	defer s.Close()
	answer := post(t, s.URL+"/mcp/x/stack", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+
		`"stack_who","arguments":{"vault":"v","agent_id":"other","envelope":false}}}`,
		"X-Agent-Id", "planner", "X-Session-Id", "s")
	require.Contains(t, answer, `{\"meant\":\"other\",\"acts\":\"planner\",\"session\":\"s\"}`)
	made, ok := further(t).Find("stack_who")
	require.True(t, ok)
	a, ok := made.Arg("agent_id")
	require.True(t, ok && !a.Shared)
	n := 0
	for _, a := range made.Args {
		if a.Name == "agent_id" {
			n++
		}
	}
	require.Equal(t, 1, n)
}

// TestOwnArgumentOfForm holds that no tool has an argument of its own in the place of one that changes the form
// of answers.
func TestOwnArgumentOfForm(t *testing.T) {
	type in struct {
		Only string `json:"only,omitempty"`
	}
	require.Panics(t, func() {
		tool.New(tool.Spec{
			Name: "x", Family: &tool.Family{Name: "x"}, Title: "x", Doc: "X.", Role: auth.Reader,
		}, func(_ context.Context, _ auth.Caller, _ in) (struct{}, error) { return struct{}{}, nil })
	})
}

// sent sends a request and returns its answer, whose status must be this one.
func sent(t *testing.T, r *http.Request, status int) string {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, status, resp.StatusCode, "%s", answer)
	return string(answer)
}

// post sends a message to an MCP endpoint and returns the answer.
func post(t *testing.T, url, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return sent(t, r, http.StatusOK)
}
