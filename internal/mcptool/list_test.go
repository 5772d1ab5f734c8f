package mcptool_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/mcptool"
)

func TestListByPathAndHeaders(t *testing.T) {
	all := []string{"books_book_delete", "books_book_get", "books_book_list", "books_book_new",
		"books_book_set", "books_export", "books_import",
		"desk_book_get", "desk_fail", "desk_shelf_create", "desk_whoami"}
	books := []string{"delete_book", "get_book", "list_books", "add_book", "set_book",
		"books_export", "books_import"}
	desk := []string{"get_book", "desk_fail", "desk_shelf_create", "desk_whoami"}
	start := []string{"desk_whoami", "books_book_new", "books_book_get"}
	reads := []string{"books_book_get", "books_book_list", "books_export",
		"desk_book_get", "desk_whoami"}
	cases := []struct {
		name   string
		path   string
		header []string
		want   []string
	}{
		{"first, in the order given", "/mcp", nil, start},
		{"a slash at the end", "/mcp/", nil, start},
		{"one set", "/mcp/x/books", nil, books},
		{"the same set twice", "/mcp/x/books,books", nil, books},
		{"two sets", "/mcp/x/books,desk", nil, all},
		{"two sets, escaped", "/mcp/x/desk%2Cbooks", nil, all},
		{"all", "/mcp/x/all", nil, all},
		{"all and a set", "/mcp/x/desk,all", nil, all},
		{"readonly", "/mcp/readonly", nil, []string{"desk_whoami", "books_book_get"}},
		{"readonly set", "/mcp/readonly/x/desk", nil,
			[]string{"get_book", "desk_whoami"}},
		{"readonly all", "/mcp/readonly/x/all", nil, reads},
		{"header readonly", "/mcp/x/all", []string{"X-MCP-Readonly", "true"}, reads},
		{"header not readonly", "/mcp/x/all", []string{"X-MCP-Readonly", "false"}, all},
		{"a header does not widen", "/mcp/readonly/x/all", []string{"X-MCP-Readonly", "false"}, reads},
		{"readonly caller", "/mcp/x/all", []string{"X-Readonly", "1"}, reads},
		{"header set", "/mcp/x/all", []string{"X-MCP-Toolsets", "books"}, books},
		{"header sets", "/mcp/x/all", []string{"X-MCP-Toolsets", "books, desk,"}, all},
		{"header all", "/mcp/x/books", []string{"X-MCP-Toolsets", "all"}, books},
		{"header set leaves one of two", "/mcp/x/books,desk", []string{"X-MCP-Toolsets", "desk"}, desk},
		{"header set of another path", "/mcp/x/books", []string{"X-MCP-Toolsets", "desk"}, []string{}},
		{"header set on the first", "/mcp", []string{"X-MCP-Toolsets", "books"},
			[]string{"add_book", "get_book"}},
		{"header tools", "/mcp/x/all", []string{"X-MCP-Tools", "desk_fail,books_book_create"},
			[]string{"books_book_new", "desk_fail"}},
		{"header tools by short name", "/mcp/x/desk", []string{"X-MCP-Tools", "get_book"},
			[]string{"get_book"}},
		{"header tools keep the order", "/mcp", []string{"X-MCP-Tools", "books_book_new,desk_whoami"},
			[]string{"desk_whoami", "books_book_new"}},
		{"header tools do not widen", "/mcp", []string{"X-MCP-Tools", "books_import"}, []string{}},
		{"empty header", "/mcp/x/all", []string{"X-MCP-Tools", " "}, []string{}},
	}
	url := serve(t, mcptool.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := ask(t, url+c.path, "tools/list", "", c.header...)
			require.Equal(t, http.StatusOK, r.status, r.body)
			require.Equal(t, c.want, names(t, r))
			legacy := post(t, url+c.path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, c.header...)
			require.Equal(t, c.want, names(t, legacy))
		})
	}
}

func TestListByRole(t *testing.T) {
	reads := []string{"books_book_get", "books_book_list", "books_export",
		"desk_book_get", "desk_fail", "desk_whoami"}
	for role, want := range map[auth.Role][]string{
		auth.Nobody: {},
		auth.Reader: reads,
		auth.Editor: {"books_book_delete", "books_book_get", "books_book_list", "books_book_new",
			"books_book_set", "books_export", "books_import",
			"desk_book_get", "desk_fail", "desk_whoami"},
	} {
		url := serve(t, mcptool.Options{Authenticate: as(role)})
		require.Equal(t, want, names(t, ask(t, url+"/mcp/x/all", "tools/list", "")), role)
	}
	url := serve(t, mcptool.Options{Authenticate: func(*http.Request) (auth.Caller, error) {
		c := auth.LocalCaller()
		c.ReadOnly = true
		return c, nil
	}})
	reads = slices.DeleteFunc(reads, func(name string) bool { return name == "desk_fail" })
	require.Equal(t, reads, names(t, ask(t, url+"/mcp/x/all", "tools/list", "")), "view state changes too")
}

func TestListedTool(t *testing.T) {
	url := serve(t, mcptool.Options{})
	r := ask(t, url+"/mcp/x/all", "tools/list", "")
	var list struct {
		Result struct {
			Tools      []json.RawMessage
			NextCursor *string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.body), &list))
	require.Nil(t, list.Result.NextCursor)
	page := map[string]string{}
	for _, raw := range list.Result.Tools {
		var head struct{ Name string }
		require.NoError(t, json.Unmarshal(raw, &head))
		page[head.Name] = string(raw)
	}
	require.JSONEq(t, `{
		"name": "desk_book_get", "title": "Get a desk book",
		"description": "Answers what it was given.",
		"annotations": {"title": "Get a desk book", "readOnlyHint": true, "destructiveHint": false,
			"idempotentHint": true, "openWorldHint": false},
		"inputSchema": {"type": "object", "additionalProperties": false, "properties": {
			"text": {"type": "string", "description": "anything"},
			"agent_id": {"type": "string", "description": "id of the acting agent"},
			"session": {"type": "string", "description": "id of the session, for tree views"},
			"only": {"type": "array", "items": {"type": "string"},
				"description": "fields of each item to keep"}}}
	}`, page["desk_book_get"])
	for name, want := range map[string]string{
		"books_book_new": `{"title":"Add a book","readOnlyHint":false,"destructiveHint":false,
			"idempotentHint":false,"openWorldHint":false}`,
		"books_book_set": `{"title":"Set fields of a book","readOnlyHint":false,
			"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`,
		"books_book_delete": `{"title":"Delete a book","readOnlyHint":false,"destructiveHint":true,
			"idempotentHint":true,"openWorldHint":false}`,
		"desk_fail": `{"title":"Fail","readOnlyHint":false,"destructiveHint":false,
			"idempotentHint":false,"openWorldHint":false}`,
	} {
		var tool struct{ Annotations json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(page[name]), &tool))
		require.JSONEq(t, want, string(tool.Annotations), name)
	}
	var get struct {
		InputSchema struct {
			Properties map[string]map[string]any
			Required   []string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(page["books_book_get"]), &get))
	require.Equal(t, "Vault", get.InputSchema.Properties["vault"]["x-mcp-header"])
	require.NotContains(t, get.InputSchema.Properties, "envelope")
	require.Equal(t, []string{"id"}, get.InputSchema.Required)
	require.NotContains(t, page["desk_whoami"], "x-mcp-header")
	require.Contains(t, page["books_book_new"],
		`"fields":{"type":"object","description":"what else is known of it"}`)
	for _, raw := range page {
		require.NotContains(t, raw, "books_book_create", "an alias is never listed")
		require.NotContains(t, raw, `"type":[`, "there are clients that cannot read a list of types")
	}
}

func TestListIsTheSameEachTime(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp/x/all"
	once := ask(t, url, "tools/list", "")
	for range 5 {
		require.Equal(t, once.body, ask(t, url, "tools/list", "").body)
	}
}

func TestListHasOnePage(t *testing.T) {
	url := serve(t, mcptool.Options{})
	r := resultOf(t, ask(t, url+"/mcp", "tools/list", `"cursor":"abc"`))
	rpc, code := r.rpcError(t)
	require.EqualValues(t, -32602, rpc)
	require.Equal(t, "INVALID_PARAMETER", code)
}

// TestEverythingIsPrivate checks all answers that the protocol lets a client or a proxy cache.
func TestEverythingIsPrivate(t *testing.T) {
	url := serve(t, mcptool.Options{}) + "/mcp"
	for _, method := range []string{"server/discover", "tools/list", "resources/list",
		"resources/templates/list", "prompts/list"} {
		r := resultOf(t, ask(t, url, method, ""))
		result, ok := r.rpc["result"].(map[string]any)
		require.True(t, ok, r.body)
		require.Equal(t, "private", result["cacheScope"], method)
		require.EqualValues(t, 300000, result["ttlMs"], method)
		require.Equal(t, "complete", result["resultType"], method)
	}
}

func TestUnknownPathsAndHeaders(t *testing.T) {
	url := serve(t, mcptool.Options{})
	cases := []struct {
		path, header, value string
		status              int
		code                string
		fix                 string
	}{
		{path: "/mcp/x/boks", status: 404, code: "NOT_FOUND", fix: "use /mcp/x/books"},
		{path: "/mcp/x/books,desc", status: 404, code: "NOT_FOUND", fix: "use /mcp/x/desk"},
		{path: "/mcp/x/", status: 404, code: "NOT_FOUND"},
		{path: "/mcp/x", status: 404, code: "NOT_FOUND"},
		{path: "/mcp/x/books/readonly", status: 404, code: "NOT_FOUND"},
		{path: "/mcp/readonlyx", status: 404, code: "NOT_FOUND"},
		{path: "/mcp/nothing", status: 404, code: "NOT_FOUND"},
		{path: "/mcp", header: "X-MCP-Toolsets", value: "bookss", status: 400,
			code: "INVALID_PARAMETER", fix: "use /mcp/x/books"},
		{path: "/mcp", header: "X-MCP-Tools", value: "books_book_gett", status: 400,
			code: "INVALID_PARAMETER", fix: "use books_book_get"},
		{path: "/mcp", header: "X-MCP-Readonly", value: "yes", status: 400, code: "INVALID_PARAMETER"},
		{path: "/mcp", header: "X-Readonly", value: "nope", status: 400, code: "INVALID_PARAMETER"},
		{path: "/mcp", header: "X-Agent-Id", value: string(slices.Repeat([]byte("a"), 129)),
			status: 400, code: "INVALID_PARAMETER"},
	}
	for _, c := range cases {
		var header []string
		if c.header != "" {
			header = []string{c.header, c.value}
		}
		r := resultOf(t, ask(t, url+c.path, "tools/list", "", header...))
		require.Equal(t, c.status, r.status, c.path+c.header)
		require.EqualValues(t, 1, r.rpc["id"], "the refusal answers the message")
		require.NotContains(t, r.rpc, "ok", "there is no envelope")
		_, code := r.rpcError(t)
		require.Equal(t, c.code, code, r.body)
		data := r.rpc["error"].(map[string]any)["data"].(map[string]any)
		if c.status == 404 {
			require.Equal(t, map[string]any{"sets": []any{"books", "desk"}}, data["details"])
		}
		if c.fix != "" {
			require.Equal(t, []any{c.fix}, data["fixes"])
		}
	}
}

// TestListOfPathIsShort checks that Path omits rarely used arguments but accepts them, and that
// other paths list them.
func TestListOfPathIsShort(t *testing.T) {
	url := serve(t, mcptool.Options{})
	arguments := func(path, name string) (listed []string, closed bool) {
		t.Helper()
		var list struct {
			Result struct {
				Tools []struct {
					Name        string
					InputSchema struct {
						Properties           map[string]any
						AdditionalProperties *bool
					}
				}
			}
		}
		r := ask(t, url+path, "tools/list", "")
		require.NoError(t, json.Unmarshal([]byte(r.body), &list))
		for _, one := range list.Result.Tools {
			if one.Name != name {
				continue
			}
			for arg := range one.InputSchema.Properties {
				listed = append(listed, arg)
			}
			return listed, one.InputSchema.AdditionalProperties != nil
		}
		require.Fail(t, "not listed", name)
		return nil, false
	}
	short, closed := arguments("/mcp", "books_book_new")
	require.False(t, closed, "other arguments are accepted")
	require.Contains(t, short, "vault")
	require.Contains(t, short, "if_version")
	for _, rare := range []string{"agent_id", "session", "only", "idempotency_key", "dry_run"} {
		require.NotContains(t, short, rare)
	}
	whole, closed := arguments("/mcp/x/all", "books_book_new")
	require.True(t, closed)
	require.Subset(t, whole, append(short, "agent_id", "session", "only", "idempotency_key", "dry_run"))
	r := call(t, url+"/mcp", "desk_whoami", `{"agent_id":"bo"}`)
	require.Equal(t, http.StatusOK, r.status)
	data := r.env["data"].(map[string]any)
	require.Equal(t, "bo", data["agent"])
}

// TestInstructionsFollowTheOffer checks the Offer that Options.Instructions gets for a client.
func TestInstructionsFollowTheOffer(t *testing.T) {
	url := serve(t, mcptool.Options{Instructions: func(o mcptool.Offer) string {
		return fmt.Sprint(o.Writes, o.Tools)
	}})
	for path, want := range map[string]string{
		"/mcp":          "true [desk_whoami books_book_new books_book_get]",
		"/mcp/readonly": "false [desk_whoami books_book_get]",
		"/mcp/x/desk":   "true [desk_book_get desk_fail desk_shelf_create desk_whoami]",
	} {
		r := resultOf(t, ask(t, url+path, "server/discover", ""))
		require.Equal(t, want, r.rpc["result"].(map[string]any)["instructions"], path)
	}
}
