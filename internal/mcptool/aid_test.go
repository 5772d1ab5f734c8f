package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

var documents = []mcptool.Document{{
	URI: "rookery://guide/agents", Name: "agents", Title: "Guide", Doc: "Read first.",
	MIME: "text/markdown", Text: "# Guide\n",
}}

// aided runs an endpoint of the sample with its aids, behind access control.
func aided(t testing.TB, o mcptool.Options, more ...tool.Interceptor) string {
	t.Helper()
	cat, err := tool.NewCatalogue(tooltest.AidedTools(), tool.Options{
		Interceptors: append(more, access.Check(vaults{"main", "spare"})),
	})
	require.NoError(t, err)
	o.Documents = documents
	return serveCatalogue(t, cat, o)
}

// inMain returns an authenticator for a caller with a role only in the vault `main`.
func inMain(role auth.Role) func(*http.Request) (auth.Caller, error) {
	return func(*http.Request) (auth.Caller, error) {
		c := auth.LocalCaller()
		c.Roles = map[string]auth.Role{"main": role}
		return c, nil
	}
}

// An era is a generation of the protocol: the newest, or those before it.
type era struct {
	name string
	ask  func(t testing.TB, url, method, params string) result
}

func eras() []era {
	return []era{
		{"modern", func(t testing.TB, url, method, params string) result {
			var named struct{ Name, URI string }
			require.NoError(t, json.Unmarshal([]byte("{"+params+"}"), &named), params)
			header := []string{"X-Request-Id", "r1"}
			if name := named.Name + named.URI; name != "" {
				header = append(header, "Mcp-Name", name)
			}
			return resultOf(t, ask(t, url, method, params, header...))
		}},
		{"legacy", func(t testing.TB, url, method, params string) result {
			return resultOf(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"`+method+
				`","params":{`+params+`}}`, "MCP-Protocol-Version", "2025-06-18", "X-Request-Id", "r1"))
		}},
	}
}

// inEach runs a test in both generations.
func inEach(t *testing.T, test func(t *testing.T, e era)) {
	for _, e := range eras() {
		t.Run(e.name, func(t *testing.T) { test(t, e) })
	}
}

// answered returns the result as JSON, without what the protocol adds.
func (r result) answered(t testing.TB) string {
	t.Helper()
	body, ok := r.rpc["result"].(map[string]any)
	require.True(t, ok, r.body)
	delete(body, "_meta")
	delete(body, "resultType")
	data, err := json.Marshal(body)
	require.NoError(t, err)
	return string(data)
}

// refused checks that a request was refused with these codes and has no result.
func (r result) refused(t testing.TB, rpc int, code fault.Code) {
	t.Helper()
	got, fault := r.rpcError(t)
	require.EqualValues(t, rpc, got, r.body)
	require.EqualValues(t, code, fault, r.body)
}

// notFound returns the protocol's code of a missing resource.
func (e era) notFound() int {
	if e.name == "modern" {
		return -32602
	}
	return -32002
}

const listed = `"ttlMs":300000,"cacheScope":"private"`

func TestResourcesAreListed(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}) + "/mcp"
		require.JSONEq(t, `{"resources":[
			{"uri":"rookery://guide/agents","name":"agents","title":"Guide","description":"Read first.",
				"mimeType":"text/markdown","size":8},
			{"uri":"rookery://main/books","name":"main/books","title":"Books of main",
				"description":"The books of a shelf.","mimeType":"application/json"},
			{"uri":"rookery://spare/books","name":"spare/books","title":"Books of spare",
				"description":"The books of a shelf.","mimeType":"application/json"}],`+listed+`}`,
			e.ask(t, url, "resources/list", "").answered(t))
		require.JSONEq(t, `{"resourceTemplates":[
			{"uriTemplate":"rookery://{vault}/books/{+id}","name":"book","title":"A book",
				"description":"One book.","mimeType":"application/json"},
			{"uriTemplate":"rookery://{vault}/reviews/{+id}","name":"review","title":"A review",
				"description":"How to review a book.","mimeType":"text/plain"}],`+listed+`}`,
			e.ask(t, url, "resources/templates/list", "").answered(t))
	})
}

// TestResourcesArePaged checks that each resource is on exactly one page.
func TestResourcesArePaged(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{PageSize: 1}) + "/mcp"
		var uris []string
		cursor, pages := "", 0
		for more := true; more; pages++ {
			params := ""
			if cursor != "" {
				params = `"cursor":"` + cursor + `"`
			}
			var page struct {
				Resources  []struct{ URI string }
				NextCursor string
			}
			answer := e.ask(t, url, "resources/list", params).answered(t)
			require.NoError(t, json.Unmarshal([]byte(answer), &page))
			for _, r := range page.Resources {
				uris = append(uris, r.URI)
			}
			cursor, more = page.NextCursor, page.NextCursor != ""
		}
		require.Equal(t, 2, pages)
		require.Equal(t, []string{
			"rookery://guide/agents", "rookery://main/books", "rookery://spare/books",
		}, uris)
		for _, method := range []string{
			"resources/list", "resources/templates/list", "prompts/list",
		} {
			e.ask(t, url, method, `"cursor":"none of ours"`).refused(t, -32602, fault.InvalidParameter)
		}
	})
}

func TestResourcesAreRead(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}) + "/mcp"
		for uri, want := range map[string]string{
			"rookery://guide/agents":                "# Guide\n",
			"rookery://main/books/people/freya":     `{"object":{"id":"people/freya","title":"Book people/freya","fields":{"genre":"atlas","pages":1}}}`,
			"rookery://main/books/people%2Ffreya":   `{"object":{"id":"people/freya","title":"Book people/freya","fields":{"genre":"atlas","pages":1}}}`,
			"rookery://main/reviews/a/b%20c%23d%25": "Review Book a/b c#d%.",
			"rookery://main/reviews/a/b c#d%25":     "Review Book a/b c#d%.",
			"rookery://main/reviews/ünï/코드":         "Review Book ünï/코드.",
			"rookery://main/reviews/x?y=z&w":        "Review Book x?y=z&w.",
			"rookery://spare/books":                 `{"items":[]}`,
		} {
			r := e.ask(t, url, "resources/read", `"uri":"`+uri+`"`)
			var read mcp.ReadResourceResult
			require.NoError(t, json.Unmarshal([]byte(r.answered(t)), &read))
			require.Len(t, read.Contents, 1)
			require.Equal(t, uri, read.Contents[0].URI, "it is what was asked for")
			require.Equal(t, want, read.Contents[0].Text)
			require.NotEmpty(t, read.Contents[0].MIMEType)
			require.Contains(t, r.body, `"ttlMs":0,"cacheScope":"private"`)
		}
	})
}

// TestNoSuchResource reads missing resources in every spelling, and checks that the error reveals
// nothing about existing ones.
func TestNoSuchResource(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}) + "/mcp"
		for _, uri := range []string{
			"x", "rookery:", "rookery://", "rookery://main", "rookery://main/books/",
			"rookery:///books", "http://main/books/people/freya", "rookery://main/none",
			"rookery://main%2Fbooks", "rookery://main/books/%zz", "rookery://main/books/%ff",
			"rookery://main/books/../../etc/passwd", "rookery://main/books/none",
			"ROOKERY://main/books",
			"rookery://guide/agents/", "rookery://main/books/" + strings.Repeat("x", 400),
		} {
			r := e.ask(t, url, "resources/read", `"uri":"`+uri+`"`)
			r.refused(t, e.notFound(), fault.NotFound)
			require.NotContains(t, strings.ReplaceAll(r.body, uri, ""), "freya")
		}
		for _, params := range []string{`"uri":5`, `"uri":{}`, `"uri":["a"]`, `"uri":""`, ``,
			`"uri":"rookery://main/books/\u0000"`, `"uri":"rookery://main/reviews/\n"`} {
			r := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{`+params+`}}`)
			_, failed := resultOf(t, r).rpc["error"]
			require.True(t, failed, r.body)
		}
	})
}

// TestUnseenVaultHasNoResources checks that a vault that the caller is not allowed to see is
// refused like one that does not exist, byte for byte, and is in no list and no completion.
func TestUnseenVaultHasNoResources(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{Authenticate: inMain(auth.Reader)}) + "/mcp"
		for _, uri := range []string{
			"rookery://%s/books", "rookery://%s/books/people/freya", "rookery://%s/reviews/people/freya",
		} {
			unseen := e.ask(t, url, "resources/read", `"uri":"`+fmt.Sprintf(uri, "spare")+`"`)
			unseen.refused(t, e.notFound(), fault.NotFound)
			gone := e.ask(t, url, "resources/read", `"uri":"`+fmt.Sprintf(uri, "gone1")+`"`)
			require.Equal(t, unseen.body, strings.ReplaceAll(gone.body, "gone1", "spare"))
		}
		prompt := `"name":"review","arguments":{"vault":"%s","id":"people/freya"}`
		unseen := e.ask(t, url, "prompts/get", fmt.Sprintf(prompt, "spare"))
		unseen.refused(t, -32602, fault.NotFound)
		gone := e.ask(t, url, "prompts/get", fmt.Sprintf(prompt, "gone1"))
		require.Equal(t, unseen.body, strings.ReplaceAll(gone.body, "gone1", "spare"))
		completion := `"ref":{"type":"ref/prompt","name":"review"},` +
			`"argument":{"name":"id","value":""},"context":{"arguments":{"vault":"%s"}}`
		require.Equal(t,
			e.ask(t, url, "completion/complete", fmt.Sprintf(completion, "spare")).body,
			e.ask(t, url, "completion/complete", fmt.Sprintf(completion, "gone1")).body)
	})
}

// TestAidsByRole checks the aids that each role can list. Documents are available to all.
func TestAidsByRole(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		for role, want := range map[auth.Role][2]int{
			auth.Nobody: {1, 0}, auth.Reader: {3, 1}, auth.Editor: {3, 1}, auth.Admin: {3, 1},
		} {
			url := aided(t, mcptool.Options{Authenticate: as(role)}) + "/mcp"
			require.Equal(t, want, [2]int{
				strings.Count(e.ask(t, url, "resources/list", "").body, `"uri":`),
				strings.Count(e.ask(t, url, "prompts/list", "").body, `"Review a book"`),
			}, role)
		}
	})
}

// TestAidsByPathAndHeaders checks that aids are restricted like tools. Path itself offers all aids,
// because its tools are only a selection.
func TestAidsByPathAndHeaders(t *testing.T) {
	url := aided(t, mcptool.Options{})
	for _, c := range []struct {
		path    string
		header  []string
		prompts int
		each    int
	}{
		{"/mcp", nil, 1, 2},
		{"/mcp/readonly", nil, 1, 2},
		{"/mcp/x/books", nil, 1, 2},
		{"/mcp/x/all", nil, 1, 2},
		{"/mcp/x/desk", nil, 0, 0},
		{"/mcp", []string{"X-MCP-Toolsets", "desk"}, 0, 0},
		{"/mcp", []string{"X-MCP-Tools", "books_book_list"}, 0, 2},
		{"/mcp", []string{"X-MCP-Tools", "books_book_get,review"}, 1, 0},
	} {
		resources := ask(t, url+c.path, "resources/list", "", c.header...).body
		prompts := ask(t, url+c.path, "prompts/list", "", c.header...).body
		require.Equal(t, c.each, strings.Count(resources, `"Books of `), "%v", c)
		require.Equal(t, c.prompts, strings.Count(prompts, `"Review a book"`), "%v", c)
		require.Contains(t, resources, "rookery://guide/agents")
	}
	r := resultOf(t, ask(t, url+"/mcp/x/desk", "resources/read", `"uri":"rookery://main/books"`,
		"Mcp-Name", "rookery://main/books"))
	r.refused(t, -32602, fault.NotFound)
}

// TestAidsAreNoTools checks that aids are not in the list of tools, but can be called by name.
func TestAidsAreNoTools(t *testing.T) {
	url := aided(t, mcptool.Options{First: []string{"books_book_get", "books_prompt_review"}})
	require.Equal(t, []string{"books_book_get"}, names(t, ask(t, url+"/mcp", "tools/list", "")))
	for _, name := range names(t, ask(t, url+"/mcp/x/all", "tools/list", "")) {
		require.NotContains(t, name, "complete")
		require.NotContains(t, name, "prompt")
	}
	r := call(t, url+"/mcp/x/all", "books_complete", `{"kind":"book","vault":"main","prefix":"p"}`)
	require.False(t, r.fail, r.body)
	require.Contains(t, r.text, `{"items":["people/freya"]}`)
}

func TestPrompts(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}) + "/mcp"
		require.JSONEq(t, `{"prompts":[{"name":"review","title":"Review a book",
			"description":"An instruction to review a book.","arguments":[
			{"name":"vault","description":"name of the vault; optional if you see exactly one"},
			{"name":"id","description":"the book to review","required":true},
			{"name":"tone","description":"how it is meant"},
			{"name":"lines","description":"how long it is at most"}]}],`+listed+`}`,
			e.ask(t, url, "prompts/list", "").answered(t))
		for _, name := range []string{"review", "books_prompt_review"} {
			require.JSONEq(t, `{"description":"An instruction to review a book.","messages":[
				{"role":"user","content":{"type":"text","text":"Review Book people/freya. kind"}}]}`,
				e.ask(t, url, "prompts/get", `"name":"`+name+`","arguments":
				{"vault":"main","id":"people/freya","tone":"kind","lines":"3"}`).answered(t))
		}
	})
}

func TestBadPrompts(t *testing.T) {
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}) + "/mcp"
		for params, want := range map[string]fault.Code{
			`"name":"reviews"`:                                                              fault.NotFound,
			`"name":"books_book_get"`:                                                       fault.NotFound,
			`"name":"review"`:                                                               fault.InvalidParameter, // no vault is given
			`"name":"review","arguments":{"vault":"main"}`:                                  fault.MissingRequired,
			`"name":"review","arguments":{"vault":"main","id":""}`:                          fault.MissingRequired,
			`"name":"review","arguments":{"vault":"main","id":"none"}`:                      fault.NotFound,
			`"name":"review","arguments":{"vault":"main","id":"people/freya","tone":"x"}`:   fault.InvalidValue,
			`"name":"review","arguments":{"vault":"main","id":"people/freya","lines":"x"}`:  fault.InvalidValue,
			`"name":"review","arguments":{"vault":"main","id":"people/freya","lines":"99"}`: fault.InvalidValue,
			`"name":"review","arguments":{"vault":"main","idd":"people/freya"}`:             fault.ValidationFailed,
		} {
			e.ask(t, url, "prompts/get", params).refused(t, -32602, want)
		}
	})
	url := aided(t, mcptool.Options{}) + "/mcp"
	for _, arguments := range []string{`{"id":5}`, `[]`, `"x"`, `{"id":["people/freya"]}`} {
		r := resultOf(t, post(t, url, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":`+
			`{"name":"review","arguments":`+arguments+`}}`))
		require.Contains(t, r.rpc, "error")
	}
}

func TestCompletions(t *testing.T) {
	book := `"ref":{"type":"ref/resource","uri":"rookery://{vault}/books/{+id}"},`
	review := `"ref":{"type":"ref/prompt","name":"review"},`
	inMain := `,"context":{"arguments":{"vault":"main"}}`
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}) + "/mcp"
		for params, want := range map[string]string{
			book + `"argument":{"name":"vault","value":""}`:                                          `{"values":["main","spare"]}`,
			book + `"argument":{"name":"vault","value":"sp"}`:                                        `{"values":["spare"]}`,
			book + `"argument":{"name":"vault","value":"x"}`:                                         `{"values":[]}`,
			book + `"argument":{"name":"id","value":"p"}` + inMain:                                   `{"values":["people/freya"]}`,
			book + `"argument":{"name":"id","value":"p"}`:                                            `{"values":[]}`,
			review + `"argument":{"name":"id","value":""}` + inMain:                                  `{"values":["a/b c#d%","people/freya","x?y=z&w","ünï/코드"]}`,
			review + `"argument":{"name":"tone","value":"h"}`:                                        `{"values":["harsh"]}`,
			review + `"argument":{"name":"tone","value":""}`:                                         `{"values":["kind","harsh"]}`,
			review + `"argument":{"name":"lines","value":""}`:                                        `{"values":[]}`,
			review + `"argument":{"name":"vault","value":"m"}` + inMain:                              `{"values":["main"]}`,
			review + `"argument":{"name":"id","value":"` + strings.Repeat("x", 2000) + `"}` + inMain: `{"values":[]}`,
		} {
			require.JSONEq(t, `{"completion":`+want+`}`,
				e.ask(t, url, "completion/complete", params).answered(t), params)
		}
		for params, want := range map[string]fault.Code{
			`"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"id","value":""}`:  fault.NotFound,
			`"ref":{"type":"ref/resource","uri":"x:{y}"},"argument":{"name":"y","value":""}`: fault.NotFound,
			book + `"argument":{"name":"depth","value":""}`:                                  fault.InvalidParameter,
			review + `"argument":{"name":"none","value":""}`:                                 fault.InvalidParameter,
			review + `"argument":{"name":"","value":""}`:                                     fault.InvalidParameter,
			`"argument":{"name":"id","value":""}`:                                            fault.InvalidParameter,
		} {
			e.ask(t, url, "completion/complete", params).refused(t, -32602, want)
		}
		for _, params := range []string{
			`"ref":{"type":"ref/other"},"argument":{"name":"id","value":""}`,
			`"ref":5,"argument":{"name":"id","value":""}`,
			review + `"argument":{"name":"id","value":5}`,
		} {
			require.Contains(t, e.ask(t, url, "completion/complete", params).rpc, "error", params)
		}
	})
}

// TestManyCompletions completes among more books than one answer contains.
func TestManyCompletions(t *testing.T) {
	url := aided(t, mcptool.Options{})
	for i := range 101 {
		r := call(t, url+"/mcp/x/all", "books_book_new", fmt.Sprintf(`{"vault":"spare","title":"t%03d"}`, i))
		require.False(t, r.fail, r.body)
	}
	var got struct {
		Completion struct {
			Values  []string
			HasMore bool
		}
	}
	answer := eras()[0].ask(t, url+"/mcp", "completion/complete", `"ref":{"type":"ref/prompt",`+
		`"name":"review"},"argument":{"name":"id","value":""},"context":{"arguments":{"vault":"spare"}}`)
	require.NoError(t, json.Unmarshal([]byte(answer.answered(t)), &got))
	require.Len(t, got.Completion.Values, 100)
	require.True(t, slices.IsSorted(got.Completion.Values))
	require.True(t, got.Completion.HasMore)
}

// TestAidsAreCalls refuses every call, as a limit does, and checks that everything that answers
// from a vault is a call.
func TestAidsAreCalls(t *testing.T) {
	limited := func(tool.Handler) tool.Handler {
		return func(context.Context, *tool.Call) (tool.Reply, error) {
			return tool.Reply{}, fault.New(fault.RateLimited, "wait a moment").After(2e9)
		}
	}
	inEach(t, func(t *testing.T, e era) {
		url := aided(t, mcptool.Options{}, limited) + "/mcp"
		for method, params := range map[string]string{
			"resources/list": "", "resources/read": `"uri":"rookery://main/books"`,
			"prompts/get": `"name":"review","arguments":{"vault":"main","id":"people/freya"}`,
			"completion/complete": `"ref":{"type":"ref/prompt","name":"review"},` +
				`"argument":{"name":"id","value":""}`,
		} {
			r := e.ask(t, url, method, params)
			r.refused(t, -32603, fault.RateLimited)
			require.Contains(t, r.body, `"retry_after":2`)
			require.Contains(t, r.body, `"request_id":"r1"`)
		}
		guide := e.ask(t, url, "resources/read", `"uri":"rookery://guide/agents"`)
		require.Contains(t, guide.body, "# Guide", "it is no call")
	})
}

// TestSDKClientReadsAids uses the SDK's client, in each version that it supports.
func TestSDKClientReadsAids(t *testing.T) {
	url := aided(t, mcptool.Options{Version: "1.2.3"}) + "/mcp"
	for _, version := range []string{"", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"} {
		t.Run(version, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "other", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(t, err)
			defer func() { require.NoError(t, session.Close()) }()
			resources, err := session.ListResources(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, resources.Resources, 3)
			read, err := session.ReadResource(t.Context(),
				&mcp.ReadResourceParams{URI: "rookery://main/reviews/ünï/코드"})
			require.NoError(t, err)
			require.Equal(t, "Review Book ünï/코드.", read.Contents[0].Text)
			prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review",
				Arguments: map[string]string{"vault": "main", "id": "people/freya"}})
			require.NoError(t, err)
			require.Len(t, prompt.Messages, 1)
			done, err := session.Complete(t.Context(), &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "review"},
				Argument: mcp.CompleteParamsArgument{Name: "vault", Value: "s"},
			})
			require.NoError(t, err)
			require.Equal(t, []string{"spare"}, done.Completion.Values)
			_, err = session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "none"})
			require.ErrorContains(t, err, "there is no such prompt")
		})
	}
}
