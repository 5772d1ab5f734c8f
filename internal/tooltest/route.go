package tooltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Routes is the way over the tools' own routes on the server at base: arguments stand in the path,
// and in the query or, where the method has one, in the body.
func Routes(cat *tool.Catalogue, base string) Way { return RoutesOver(http.DefaultClient, cat, base) }

// RoutesOver is the way over the tools' own routes through an HTTP client, such as one that sends a token.
func RoutesOver(client *http.Client, cat *tool.Catalogue, base string) Way {
	return Way{"http route", func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		made, ok := cat.Find(c.Tool)
		if !ok || made.Name != c.Tool {
			return nil, false
		}
		r, ok := request(t, base, made, c)
		if !ok {
			return nil, false
		}
		return send(t, client, r), true
	}}
}

// request is the call as a request to its tool's route.
func request(t testing.TB, base string, made *tool.Tool, c Call) (*http.Request, bool) {
	t.Helper()
	path, rest, ok := fill(made, c)
	if !ok {
		return nil, false
	}
	method, target := made.Route.Method, base+path
	if method != http.MethodGet && method != http.MethodDelete {
		r, err := http.NewRequestWithContext(t.Context(), method, target,
			bytes.NewReader(Call{"", rest}.JSON(t)))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		return r, true
	}
	query, ok := queryOf(made, Call{made.Name, rest})
	if !ok {
		return nil, false
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, target, nil)
	require.NoError(t, err)
	return r, true
}

// fill puts arguments into the path of the tool's route, and returns the others.
func fill(made *tool.Tool, c Call) (path string, rest map[string]json.RawMessage, ok bool) {
	rest = map[string]json.RawMessage{}
	for name, raw := range c.Args {
		rest[name] = raw
	}
	segments := strings.Split(made.Path(), "/")
	for i, s := range segments {
		if !strings.HasPrefix(s, "{") {
			continue
		}
		name := strings.Trim(s, "{}")
		var value string
		if json.Unmarshal(c.Args[name], &value) != nil || strings.Trim(value, ".") == "" {
			return "", nil, false
		}
		segments[i] = url.PathEscape(value)
		delete(rest, name)
	}
	return strings.Join(segments, "/"), rest, true
}

// queryOf is a call's arguments as a query.
func queryOf(made *tool.Tool, c Call) (url.Values, bool) {
	query := url.Values{}
	args, ok := named(made, c)
	if !ok {
		return nil, false
	}
	for name, a := range args {
		values, ok := texts(a, c.Args[name])
		if !ok {
			return nil, false
		}
		query[name] = values
	}
	return query, true
}

// send sends a request, and checks that the status is that of the answer.
func send(t testing.TB, client *http.Client, r *http.Request) json.RawMessage {
	t.Helper()
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	want := http.StatusOK
	if code := CodeOf(t, answer); code != "" {
		want = fault.New(code, "").HTTP()
	}
	require.Equal(t, want, resp.StatusCode, "%s %s: %s", r.Method, r.URL, answer)
	return answer
}
