package localapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// rawBad are arguments that are not a JSON object in UTF-8, or are ambiguous.
var rawBad = map[string]string{
	"no JSON":            `{"vault":`,
	"a list":             `[1]`,
	"a text":             `"x"`,
	"a number":           `5`,
	"two objects":        `{} {}`,
	"invalid UTF-8":      "{\"vault\":\"main\",\"type\":\"page\",\"title\":\"a\xff\"}",
	"overlong UTF-8":     "{\"vault\":\"main\",\"type\":\"page\",\"title\":\"\xc0\xaf\"}",
	"a lone surrogate":   `{"vault":"main","type":"page","title":"x","content":"a\ud800b"}`,
	"a lone low one":     `{"vault":"main","type":"page","title":"x","content":"\udc00"}`,
	"surrogates swapped": `{"vault":"main","type":"page","title":"x","content":"\udc00\ud800"}`,
	"a lone one as name": `{"vault":"main","type":"page","title":"x","\udbff":1}`,
	"20,000 levels deep": `{"vault":"main","type":"page","title":"x","fields":{"a":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}}`,
	"10 MiB":             `{"vault":"main","type":"page","title":"x","content":"` + strings.Repeat("x", 10<<20) + `"}`,
}

// TestBadBytes sends bytes that are not arguments to a tool of each family, over every way that
// accepts bytes. Each is refused, nothing changes, and the server continues.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	e := &entrance{other: tooltest.Invoking("catalogue", p.catalogue()), dir: p.dir, logs: p.logs}
	versions, files := e.state(t)
	for why, raw := range rawBad {
		for _, name := range []string{"raven_new", "team_vault_create"} {
			for way, send := range p.rawWays(name) {
				if len(raw) > 1<<20 && (way == "cli --input" || name != "raven_new") {
					continue // it says no more than --stdin and the other tool do, and takes long
				}
				t.Run(fmt.Sprintf("%s/%s/%s", why, name, way), func(t *testing.T) {
					answer := send(t, raw)
					code := tooltest.CodeOf(t, json.RawMessage(answer))
					require.Equal(t, fault.StatusInvalidArgument, code.Status(), "%.500s", answer)
					require.Less(t, len(answer), 3000)
					e.requireNoLeak(t, answer)
				})
			}
		}
	}
	after, filesAfter := e.state(t)
	require.Equal(t, versions, after)
	require.Equal(t, files, filesAfter)
	e.requireNoLeak(t, p.logs.String())
}

// rawWays returns functions that send bytes as the arguments of a tool, and return the envelope of
// the answer.
func (p *place) rawWays(name string) map[string]func(t testing.TB, raw string) string {
	route := map[string]string{
		"raven_new": "/v1/vaults/main/objects", "team_vault_create": "/v1/vaults",
	}[name]
	words := map[string][]string{
		"raven_new": {"object", "create"}, "team_vault_create": {"vault", "create"},
	}[name]
	shell := p.shell("")
	return map[string]func(t testing.TB, raw string) string{
		"catalogue": func(t testing.TB, raw string) string {
			answer, err := p.catalogue().Invoke(t.Context(), name, json.RawMessage(raw))
			require.Error(t, err)
			return string(answer)
		},
		"http": func(t testing.TB, raw string) string {
			return p.post(t, "/v1/tools/"+name, raw)
		},
		"http route": func(t testing.TB, raw string) string { return p.post(t, route, raw) },
		"mcp": func(t testing.TB, raw string) string {
			return p.mcp(t, fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
				name, raw))
		},
		"cli --input": func(t testing.TB, raw string) string {
			if !strings.HasPrefix(raw, "{") && !strings.HasPrefix(raw, "[") {
				raw = " {" + raw // anything else is the name of a file
			}
			return shell.Run(t, append(words, "--json", "--input", raw)...).Out
		},
		"cli --stdin": func(t testing.TB, raw string) string {
			piped := shell
			piped.Stdin = raw
			return piped.Run(t, append(words, "--json", "--stdin")...).Out
		},
	}
}

// post sends a body as JSON, and returns the answer, which must be a refusal.
func (p *place) post(t testing.TB, path, body string) string {
	t.Helper()
	resp, err := http.Post(p.base+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	want := http.StatusBadRequest
	if len(body) > 4<<20 {
		want = http.StatusRequestEntityTooLarge
	}
	require.Equal(t, want, resp.StatusCode, "%.500s", answer)
	return string(answer)
}

// mcp sends a message to /mcp/x/all, and returns the envelope in the answer, or in its error.
func (p *place) mcp(t testing.TB, message string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost,
		p.base+"/mcp/x/all", strings.NewReader(message))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var answer struct {
		Error *struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	require.NoError(t, json.Unmarshal(data, &answer), "status %d: %s", resp.StatusCode, data)
	switch {
	case answer.Error == nil:
		require.True(t, answer.Result.IsError, "%s", data)
		return answer.Result.Content[0].Text
	case len(answer.Error.Data) > 0:
		return string(answer.Error.Data)
	}
	require.Negative(t, answer.Error.Code, "%s", data)
	return `{"ok":false,"error":{"code":"INVALID_PARAMETER"}}` // the protocol's own refusal
}

// TestBadContent checks bodies without the media type of JSON.
func TestBadContent(t *testing.T) {
	p := newPlace(t)
	before, _ := (&entrance{other: tooltest.Invoking("", p.catalogue()), dir: p.dir}).state(t)
	for _, content := range []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1"} {
		for path, code := range map[string]fault.Code{
			"/v1/tools/raven_new": fault.InvalidValue, "/v1/vaults/main/objects": fault.InvalidValue,
			"/v1/tools/team_vault_create": fault.InvalidParameter, "/v1/vaults": fault.InvalidParameter,
		} {
			body := strings.NewReader(`{"type":"page","title":"x"}`)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+path, body)
			require.NoError(t, err)
			if content != "" {
				r.Header.Set("Content-Type", content)
			}
			resp, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			answer, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, "%s %q", path, content)
			require.Equal(t, code, tooltest.CodeOf(t, answer), "%s %q: %s", path, content, answer)
			require.Contains(t, string(answer), "application/json")
		}
	}
	after, _ := (&entrance{other: tooltest.Invoking("", p.catalogue()), dir: p.dir}).state(t)
	require.Equal(t, before, after)
}

// TestCutOffBody checks a client that stops in the middle of its body: it gets an error, and the
// received part is not taken for the whole body.
func TestCutOffBody(t *testing.T) {
	p := newPlace(t)
	host := strings.TrimPrefix(p.base, "http://")
	for _, path := range []string{"/v1/tools/raven_new", "/v1/vaults/main/objects", "/mcp"} {
		for _, body := range []string{`{"vault":"main","type":"page","tit`, `{"vault":"main","type":"page","title":"cut"}`} {
			conn, err := net.Dial("tcp", host)
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
				"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
				path, host, len(body)+10, body)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			answer, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.NoError(t, conn.Close())
			require.True(t, bytes.HasPrefix(answer, []byte("HTTP/1.1 400 ")), "%s: %s", path, answer)
			require.Contains(t, string(answer), "INVALID_")
		}
	}
	_, err := p.catalogue().Invoke(t.Context(), "raven_object_get", json.RawMessage(`{"vault":"main","id":"cut"}`))
	require.True(t, fault.Is(err, fault.NotFound))
}
