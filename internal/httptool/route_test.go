package httptool_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestOddIDs(t *testing.T) {
	s := serve(t, httptool.Options{})
	for _, id := range tooltest.Books() {
		t.Run(id, func(t *testing.T) {
			for _, line := range []string{
				"GET /v1/vaults/main/books/" + url.PathEscape(id),
				"GET /v1/vaults/main/books?id=" + url.QueryEscape(id),
				"GET /v1/vaults/main/books?reference=" + url.QueryEscape(id),
			} {
				g := send(t, s, ask{line: line})
				require.Equal(t, http.StatusOK, g.status, g.body)
				object := g.envelope(t).Data["object"].(map[string]any)
				require.Equal(t, id, object["id"], line)
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	s := serve(t, httptool.Options{})
	for name, c := range map[string]struct {
		line, body string
		want       string
	}{
		"list":                {"GET /v1/vaults/main/books", "", `"total":4`},
		"typed query":         {"GET /v1/vaults/main/books?limit=1&slim=true", "", `"count":1`},
		"repeated query":      {"GET /v1/vaults/main/books?field=genre%3Dsaga&field=pages%3D0", "", `"total":1`},
		"alias in query":      {"GET /v1/vaults/main/books?where=genre%3Dsaga", "", `"total":2`},
		"only":                {"GET /v1/vaults/main/books?only=id", "", `"items":[{"id":"a/b c#d%"}`},
		"create":              {"POST /v1/vaults/spare/books", `{"title":"Edda"}`, `"id":"edda"`},
		"query beside a body": {"POST /v1/vaults/spare/books?dry_run=true", `{"title":"B"}`, `"dry_run":true`},
		"update":              {"PATCH /v1/vaults/main/books/people%2Ffreya", `{"set":"pages=9"}`, `"pages":"9"`},
		"update by query":     {"PATCH /v1/vaults/main/books?id=people/freya", `{"set":{"pages":8}}`, `"pages":8`},
		"the same twice":      {"PATCH /v1/vaults/main/books/people%2Ffreya", `{"vault":"main","id":"people/freya","set":"a=b"}`, `"a":"b"`},
		"null is nothing":     {"PATCH /v1/vaults/main/books/people%2Ffreya", `{"id":null,"set":"a=b"}`, `"a":"b"`},
		"no family base":      {"GET /v1/whoami", "", `"principal":"local"`},
		"by name":             {"POST /v1/tools/books_book_list", `{"vault":"main","limit":2}`, `"count":2`},
		"by alias":            {"POST /v1/tools/books_book", `{"vault":"main","reference":"people/freya"}`, `"id":"people/freya"`},
		"by name, no body":    {"POST /v1/tools/desk_whoami", "", `"principal":"local"`},
		"delete":              {"DELETE /v1/vaults/main/books/people%2Ffreya?dry_run=true", "", `"action":"deleted"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := send(t, s, ask{line: c.line, body: c.body})
			require.Equal(t, http.StatusOK, g.status, g.body)
			require.Equal(t, "application/json", g.header.Get("Content-Type"))
			require.Contains(t, g.body, c.want)
			require.True(t, g.envelope(t).OK)
		})
	}
}

func TestHead(t *testing.T) {
	g := send(t, serve(t, httptool.Options{}), ask{line: "HEAD /v1/vaults/main/books"})
	require.Equal(t, http.StatusOK, g.status)
	require.Equal(t, `"v4"`, g.header.Get("ETag"))
	require.Empty(t, g.body)
}

func TestLost(t *testing.T) {
	s := serve(t, httptool.Options{})
	for name, c := range map[string]struct {
		line   string
		status int
		code   fault.Code
		fix    string
	}{
		"unknown path":     {"GET /nowhere/at/all", 404, fault.NotFound, "GET /docs lists all routes"},
		"nearest path":     {"GET /v1/vaults/main/boks/x", 404, fault.NotFound, "/v1/vaults/{vault}/books/{id}"},
		"unescaped id":     {"GET /v1/vaults/main/books/people/freya", 404, fault.NotFound, "/v1/vaults/{vault}/books/{id}: an id is one segment, with / written as %2F"},
		"other method":     {"PUT /v1/vaults/main/books/x", 405, fault.InvalidParameter, "use DELETE, GET, HEAD, PATCH"},
		"options":          {"OPTIONS /v1/vaults/main/books", 405, fault.InvalidParameter, "use DELETE, GET, HEAD, PATCH, POST"},
		"item missing":     {"DELETE /v1/vaults/main/books", 400, fault.MissingRequired, ""},
		"tools by GET":     {"GET /v1/tools/books_book_get", 405, fault.InvalidParameter, "use POST"},
		"page by POST":     {"POST /healthz", 405, fault.InvalidParameter, "use GET, HEAD"},
		"tool by POST":     {"POST /v1/whoami", 405, fault.InvalidParameter, "use GET, HEAD"},
		"dots":             {"GET /v1/vaults/main/books/..", 400, fault.InvalidPath, ""},
		"escaped dots":     {"GET /v1/vaults/main/books/%2e%2E", 400, fault.InvalidPath, ""},
		"dots within":      {"GET /v1/vaults/../v1/whoami", 400, fault.InvalidPath, ""},
		"two slashes":      {"GET /v1//whoami", 400, fault.InvalidPath, ""},
		"slash at the end": {"GET /v1/whoami/", 400, fault.InvalidPath, ""},
		"not UTF-8":        {"GET /v1/vaults/main/books/%ff", 400, fault.InvalidPath, ""},
		"unknown tool":     {"POST /v1/tools/books_book_gett", 404, fault.NotFound, "use books_book_get"},
		"unknown book":     {"GET /v1/vaults/main/books/none", 404, fault.NotFound, `books_book_list {"vault":"main"}`},
		"climbing id":      {"GET /v1/vaults/main/books/..%2F..%2Fetc", 404, fault.NotFound, `books_book_list {"vault":"main"}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := send(t, s, ask{line: c.line})
			require.Equal(t, c.status, g.status, g.body)
			f := g.envelope(t).Error
			require.Equal(t, c.code, f.Code)
			require.Equal(t, g.header.Get("X-Request-Id"), f.RequestID)
			if c.fix != "" {
				require.Equal(t, []string{c.fix}, f.Fixes)
			}
			require.Equal(t, c.status == 405, g.header.Get("Allow") != "")
		})
	}
}

// TestRootLeadsToDocs checks that a browser at the server's address is redirected to the
// documentation, if there is any.
func TestRootLeadsToDocs(t *testing.T) {
	s := hosted(t, httptool.Options{Docs: []byte("<style></style><script></script>")})
	g := send(t, s, ask{line: "GET /"})
	require.Equal(t, 200, g.status)
	require.Contains(t, g.body, "<style>", "the client followed it to /docs")
	require.Equal(t, 405, send(t, s, ask{line: "POST /"}).status)
}

// TestAllow checks that Allow lists exactly the methods of a path, HEAD with GET (RFC 9110 §9.3.2).
func TestAllow(t *testing.T) {
	s := hosted(t, httptool.Options{Resource: public, Document: document("{}")})
	for path, want := range map[string]string{
		"/v1/whoami": "GET, HEAD", "/v1/vaults/main/books": "DELETE, GET, HEAD, PATCH, POST", "/docs": "GET, HEAD", "/readyz": "GET, HEAD",
		"/v1/vaults/main/books/x": "DELETE, GET, HEAD, PATCH", "/v1/tools/desk_whoami": "POST", "/openapi.json": "GET, HEAD",
		access.WellKnown: "GET, HEAD",
	} {
		for _, method := range []string{"PUT", "OPTIONS", "TRACE"} {
			g := send(t, s, ask{line: method + " " + path})
			require.Equal(t, 405, g.status, path)
			require.Equal(t, want, g.header.Get("Allow"), path)
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PATCH", "DELETE"} {
			answered := send(t, s, ask{line: method + " " + path}).status != 405
			require.Equal(t, strings.Contains(want, method), answered, method+" "+path)
		}
	}
}

// TestPastARoute checks that a path that continues after a route gets no wrong advice if longer
// routes begin with it.
func TestPastARoute(t *testing.T) {
	type in struct {
		Thing string `json:"thing" jsonschema:"which"`
		Part  string `json:"part,omitempty" jsonschema:"which part"`
	}
	var tools []*tool.Tool
	for name, r := range map[string][2]string{
		"thing": {"/v1", "/things/{thing}"}, "part": {"/v1/things/{thing}", "/parts/{part}"},
	} {
		tools = append(tools, tool.New(tool.Spec{
			Name: name, Title: name, Doc: name, Role: auth.Reader,
			Family: &tool.Family{Name: "f", Base: r[0]}, Route: tool.Route{Method: "GET", Path: r[1]},
		}, func(context.Context, auth.Caller, in) (struct{}, error) { return struct{}{}, nil }))
	}
	cat, err := tool.NewCatalogue(tools, tool.Options{})
	require.NoError(t, err)
	for path, fix := range map[string]string{
		"/v1/things/a/part/b":    "/v1/things/{thing}/parts/{part}",
		"/v1/things/a/parts/b/c": "/v1/things/{thing}/parts/{part}: an id is one segment, with / written as %2F",
		"/v1/things/a/other/b":   "GET /docs lists all routes",
		"/v1/things/a/b":         "GET /docs lists all routes",
	} {
		g := serveAndSend(t, cat, ask{line: "GET " + path})
		require.Equal(t, []string{fix}, g.envelope(t).Error.Fixes, path)
	}
}

// TestLiteralFirst checks that a literal segment takes precedence over a parameter, and that a
// collection whose tool has the item's argument keeps the call.
func TestLiteralFirst(t *testing.T) {
	family := &tool.Family{Name: "f", Base: "/v1", Malformed: fault.InvalidValue}
	type in struct {
		ID string `json:"id,omitempty" jsonschema:"which"`
	}
	type out struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	}
	var tools []*tool.Tool
	for name, path := range map[string]string{
		"all": "/things", "one": "/things/{id}", "special": "/things/special",
	} {
		tools = append(tools, tool.New(tool.Spec{
			Name: name, Title: name, Doc: name, Role: auth.Reader, Family: family,
			Route: tool.Route{Method: "GET", Path: path},
		}, func(_ context.Context, _ auth.Caller, in in) (out, error) { return out{name, in.ID}, nil }))
	}
	cat, err := tool.NewCatalogue(tools, tool.Options{})
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/v1/things/special": `{"name":"special","id":""}`,
		"/v1/things/other":   `{"name":"one","id":"other"}`,
		"/v1/things?id=x":    `{"name":"all","id":"x"}`,
	} {
		g := serveAndSend(t, cat, ask{line: "GET " + path})
		require.Contains(t, g.body, want)
	}
}

func TestMalformedProgram(t *testing.T) {
	cat, err := tool.NewCatalogue([]*tool.Tool{tool.New(tool.Spec{
		Name: "one", Title: "One", Doc: "One.", Role: auth.Reader,
		Family: &tool.Family{Name: "f", Base: "/v1/vaults/{vault}"},
		Route:  tool.Route{Method: "GET", Path: "/things"},
	}, func(context.Context, auth.Caller, struct{}) (struct{}, error) { return struct{}{}, nil })},
		tool.Options{})
	require.NoError(t, err)
	require.PanicsWithValue(t, `httptool: the path of one names "vault", which is not an argument`,
		func() { httptool.New(cat, httptool.Options{}) })
}
