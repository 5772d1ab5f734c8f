package hosted_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

var discard = slog.New(slog.DiscardHandler)

func clock() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// local trusts every request.
func local(*http.Request) *fault.Fault { return nil }

// gateway passes requests on as the HTTP API of a cloud and its runtime do: with the path decoded,
// cut at a decoded question mark, and escaped again.
func gateway(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.URL.Path, "?")
		r.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: path, RawQuery: r.URL.RawQuery}
		r.RequestURI = r.URL.RequestURI()
		to.ServeHTTP(w, r)
	})
}

// A caught is the call that a request resulted in.
type caught struct {
	Tool string
	Args map[string]json.RawMessage
}

// catching returns a catalogue of all tools whose calls only set last.
func catching(t *testing.T, last *caught) *tool.Catalogue {
	t.Helper()
	cat, err := tool.NewCatalogue(hosted.Tools(nil, nil), tool.Options{Interceptors: []tool.Interceptor{
		func(tool.Handler) tool.Handler {
			return func(_ context.Context, c *tool.Call) (tool.Reply, error) {
				*last = caught{c.Tool.Name, c.Args}
				return tool.Reply{Data: struct{}{}}, nil
			}
		},
	}})
	require.NoError(t, err)
	return cat
}

// ids are values of the parameter at the end of a path. Most contain characters that are escaped
// there.
var ids = []string{
	"people/freya", "people/freya#tasks", "a/b/c", "100%", "100%/x", "a+b", "a b", "Æ", "日本/語", "x%2Fy", "x%25y",
	"a/../b", "../b", "b/..", "./b", "/b", "b/", "a//b", "a&b=c", "a;b", "a:b@c", `"x"`, "..", ".", "plain", "q/raw",
}

// TestPathsThroughTheGateway checks that a request results in the same call with and without a
// gateway that decodes its path, for every route and many ids.
func TestPathsThroughTheGateway(t *testing.T) {
	var last caught
	cat := catching(t, &last)
	plain := httptool.New(cat, httptool.Options{Hosts: []string{"x"}})
	through := gateway(httptool.New(cat, httptool.Options{Hosts: []string{"x"}, Decoded: true}))
	ask := func(h http.Handler, method, path string) (int, caught) {
		last = caught{}
		r := httptest.NewRequest(method, "http://x"+path, strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code, last
	}
	compared := 0
	for _, made := range cat.Tools() {
		before := strings.ReplaceAll(strings.TrimSuffix(made.Path(), "{"+made.PathArg()+"}"), "{vault}", "main")
		for _, id := range ids {
			path := before
			if made.PathArg() != "" {
				path += url.PathEscape(id)
			} else if id != ids[0] {
				break
			}
			status, want := ask(plain, made.Route.Method, path)
			got, call := ask(through, made.Route.Method, path)
			if above(cat, made) && strings.Contains(id, "/") && made.PathArg() != "memory_id" {
				require.Equal(t, "name", made.PathArg(), made.Name)
				require.Empty(t, call.Tool, "%s %q", made.Name, id) // not in any name of a vault
				continue
			}
			require.Equal(t, want, call, "%s %s", made.Route.Method, path)
			require.Equal(t, status, got, "%s %s", made.Route.Method, path)
			compared++
		}
	}
	require.Greater(t, compared, 200)
	for path, want := range map[string]int{
		"/v1/vaults//objects/a%2Fb": 400, "/v1/vaults/../objects/a%2Fb": 400, "/v1/vaults/main/objects/": 400,
		"/v1/vaults/main/objcts/a%2Fb": 404, "/nowhere/a%2Fb": 404, "/v1/tools/raven%2Fread": 405,
		"/v1/vaults/main/objects/a%FFb%2Fc": 400,
	} {
		status, call := ask(through, http.MethodGet, path)
		require.Equal(t, want, status, path)
		require.Empty(t, call.Tool, path)
	}
}

// above reports whether other routes begin below the parameter at the end of a tool's route. Then a
// slash after the parameter may belong to them.
func above(cat *tool.Catalogue, made *tool.Tool) bool {
	prefix, _, ends := strings.Cut(made.Path(), "{"+made.PathArg()+"}")
	if !ends || made.PathArg() == "" {
		return false
	}
	for _, other := range cat.Tools() {
		rest, below := strings.CutPrefix(other.Path(), prefix)
		if _, after, more := strings.Cut(rest, "/"); below && more && after != "" {
			return true
		}
	}
	return false
}
