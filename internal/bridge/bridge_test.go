package bridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bridge"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// vaults are those that everybody sees.
type vaults []string

func (v vaults) Vaults(context.Context, auth.Caller, bool) ([]string, error) { return v, nil }

func (vaults) ClaimAgent(context.Context, auth.Caller, bool) error { return nil }

// endpoint is the MCP endpoint of the sample tools.
func endpoint(t testing.TB, o mcptool.Options) http.Handler {
	t.Helper()
	clock := func() time.Time { return time.Unix(0, 0) } // query_time_ms is 0
	cat, err := tool.NewCatalogue(tooltest.SampleTools(), tool.Options{
		Now: clock, Interceptors: []tool.Interceptor{access.Check(vaults{"main", "spare"})},
	})
	require.NoError(t, err)
	o.First = []string{"desk_whoami", "books_book_new", "books_book_get"}
	return mcptool.New(cat, o)
}

// listen serves a handler, and returns its URL.
func listen(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// fixed is a server with one address and these tokens, one after the other.
type fixed struct {
	url      string
	tokens   []string
	patience time.Duration

	mu     sync.Mutex
	client *httptool.Client
	failed int
}

func (f *fixed) Patience() time.Duration { return f.patience }

func (f *fixed) Find(_ context.Context, failed *httptool.Client) (*httptool.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if failed != nil {
		f.failed++
	}
	switch {
	case f.client == nil:
		f.client = &httptool.Client{Base: f.url}
	case f.client != failed || len(f.tokens) < 2:
		return f.client, nil
	default:
		f.tokens = f.tokens[1:]
		f.client = &httptool.Client{Base: f.url}
	}
	if len(f.tokens) > 0 {
		f.client.Token = f.tokens[0]
	}
	return f.client, nil
}

// A session is a bridge that runs, seen from its client.
type session struct {
	testing.TB
	in   *io.PipeWriter
	out  *io.PipeReader
	read *bufio.Reader
	stop context.CancelFunc
	done chan error
}

// run starts a bridge to a server.
func run(t testing.TB, o bridge.Options) *session {
	t.Helper()
	if o.Catalogue == nil {
		o.Catalogue = tooltest.SampleTools()
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, writer := io.Pipe()
	reader, out := io.Pipe()
	s := &session{
		TB: t, in: writer, out: reader, read: bufio.NewReader(reader), stop: cancel, done: make(chan error, 1),
	}
	go func() {
		s.done <- bridge.Run(ctx, o, in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		_ = reader.Close()
		_ = writer.Close()
	})
	return s
}

// send writes lines.
func (s *session) send(lines ...string) {
	s.Helper()
	for _, l := range lines {
		_, err := io.WriteString(s.in, l+"\n")
		require.NoError(s, err)
	}
}

// next reads a line.
func (s *session) next() string {
	s.Helper()
	l, err := s.read.ReadString('\n')
	require.NoError(s, err)
	return strings.TrimSuffix(l, "\n")
}

// ask sends a message and reads the answer to it.
func (s *session) ask(message string) string {
	s.Helper()
	s.send(message)
	return s.next()
}

// end closes the input and returns the lines that come after.
func (s *session) end() []string {
	s.Helper()
	require.NoError(s, s.in.Close())
	rest, err := io.ReadAll(s.read)
	require.NoError(s, err)
	require.NoError(s, <-s.done)
	return strings.FieldsFunc(string(rest), func(c rune) bool { return c == '\n' })
}

// An outcome is an answer, taken apart.
type outcome struct {
	ID    json.RawMessage
	Error struct {
		Code    int
		Message string
		Data    fault.Fault
	}
}

func outcomeOf(t testing.TB, l string) outcome {
	t.Helper()
	var o outcome
	require.NoError(t, json.Unmarshal([]byte(l), &o), l)
	return o
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26",` +
	`"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// call is a message that calls a tool, in the newest protocol.
func call(id, name, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name +
		`","arguments":` + args + `,` + meta + `}}`
}

// TestAnswersAreThoseOfTheEndpoint sends messages of both eras over the bridge and straight to the
// endpoint, with the headers of each: the answers are the same to the byte.
func TestAnswersAreThoseOfTheEndpoint(t *testing.T) {
	url := listen(t, endpoint(t, mcptool.Options{Version: "1"}))
	modern := func(method string, header ...string) []string {
		return append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}, header...)
	}
	legacy := []string{"MCP-Protocol-Version", "2025-03-26"}
	s := run(t, bridge.Options{Server: &fixed{url: url}})
	for _, c := range []struct {
		message string
		header  []string
	}{
		{hello, nil},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, legacy},
		{`{"jsonrpc":"2.0","id":"a b","method":"ping"}`, legacy},
		{`{"jsonrpc":"2.0","id":-7,"method":"nothing"}`, legacy},
		{`{"params":{"name":"desk_whoami","arguments":{}},"method":"tools/call","jsonrpc":"2.0","id":2}`, legacy},
		{`[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":"3","method":"ping"}]`, legacy},
		{`{"jsonrpc":`, legacy},
		{`"a text"`, legacy},
		{`[]`, legacy},
		{`{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{` + meta + `}}`, modern("server/discover")},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{` + meta + `}}`, modern("tools/list")},
		{call("6", "books_book_get", `{"vault":"main","id":"people/freya"}`), modern("tools/call",
			"Mcp-Name", "books_book_get", "Mcp-Param-Vault", "main")},
		{call("7", "desk_whoami", `{}`), modern("tools/call", "Mcp-Name", "desk_whoami")},
		{call("8", "no_tool", `{}`), modern("tools/call", "Mcp-Name", "no_tool")},
		{`{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"rookery://main/books/people/freya",` +
			meta + `}}`, modern("resources/read", "Mcp-Name", "rookery://main/books/people/freya")},
	} {
		want := post(t, url, c.message, c.header...)
		require.Equal(t, unnamed(want), unnamed(s.ask(c.message)), c.message)
	}
	require.Empty(t, s.end())
}

// unnamed is an answer without the id of its request. The answers of a batch, which come in any order, are
// sorted.
func unnamed(answer string) string {
	var batch []json.RawMessage
	if json.Unmarshal([]byte(answer), &batch) == nil {
		slices.SortFunc(batch, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		sorted, _ := json.Marshal(batch) // it has just been read
		answer = string(sorted)
	}
	return regexp.MustCompile(`request_id\\*":\\*"[A-Z0-9]+`).ReplaceAllString(answer, "")
}

// post sends a message as a client of Streamable HTTP does.
func post(t testing.TB, url, body string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(answer)
}

// A recorder keeps the requests that pass.
type recorder struct {
	next http.Handler
	mu   sync.Mutex
	all  []*http.Request
	body []string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	q.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	r.all, r.body = append(r.all, q.Clone(context.Background())), append(r.body, string(body))
	r.mu.Unlock()
	r.next.ServeHTTP(w, q)
}

// last is the request that passed last, and its body.
func (r *recorder) last() (http.Header, string, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := len(r.all) - 1
	return r.all[i].Header, r.all[i].URL.Path, r.body[i]
}

// TestHeaders holds which headers a message is sent with, and that it is sent as it is.
func TestHeaders(t *testing.T) {
	seen := &recorder{next: endpoint(t, mcptool.Options{})}
	s := run(t, bridge.Options{
		Server: &fixed{url: listen(t, seen), tokens: []string{"secret"}}, Path: "/mcp/x/all",
		Tools: "books_book_get,desk_whoami", ReadOnly: true, Agent: "Ägent", Session: "s1",
	})
	message := call("1", "books_book_get", `{ "vault":"main" , "id":"people/freya" }`)
	require.Contains(t, s.ask(message), `"result"`)
	h, path, body := seen.last()
	require.Equal(t, message, body)
	require.Equal(t, "/mcp/x/all", path)
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
		"Mcp-Name": "books_book_get", "Mcp-Param-Vault": "main", "X-Agent-Id": "Ägent", "X-Session-Id": "s1",
		"X-MCP-Tools": "books_book_get,desk_whoami", "X-MCP-Readonly": "true", "Content-Type": "application/json",
	} {
		require.Equal(t, want, h.Get(name), name)
	}
	s.ask(call("2", "books_book_get", `{"vault":"Über ","id":"x"}`))
	h, _, _ = seen.last()
	require.Equal(t, "=?base64?w5xiZXIg?=", h.Get("Mcp-Param-Vault"))
	s.ask(call("3", `a\nb`, `{"vault":null}`))
	h, _, _ = seen.last()
	require.Equal(t, "=?base64?YQpi?=", h.Get("Mcp-Name"), "no header has a line break")
	require.NotContains(t, h, "Mcp-Param-Vault")

	s.ask(`{"jsonrpc":"2.0","id":4,"method":"ping"}`)
	h, _, _ = seen.last()
	require.NotContains(t, h, "Mcp-Protocol-Version", "the client has not said which it speaks")
	s.ask(hello)
	h, _, _ = seen.last()
	require.NotContains(t, h, "Mcp-Protocol-Version", "it is in the message")
	s.ask(`{"jsonrpc":"2.0","id":5,"method":"ping"}`)
	h, _, _ = seen.last()
	require.Equal(t, "2025-03-26", h.Get("MCP-Protocol-Version"))
	require.Empty(t, s.end())
}

// TestMessagesAfterInitialize holds that a message which does not wait for the answer to
// `initialize` is sent with the version in it.
func TestMessagesAfterInitialize(t *testing.T) {
	seen := &recorder{next: endpoint(t, mcptool.Options{})}
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, seen)}})
	go s.send(hello, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.next()
	s.next()
	require.Empty(t, s.end())
	require.Len(t, seen.all, 3)
	for _, r := range seen.all[1:] {
		require.Equal(t, "2025-03-26", r.Header.Get("MCP-Protocol-Version"))
	}
}

// TestDefaultVault holds where the vault of the options is named: in calls that take one and name
// none.
func TestDefaultVault(t *testing.T) {
	seen := &recorder{next: endpoint(t, mcptool.Options{})}
	s := run(t, bridge.Options{
		Server: &fixed{url: listen(t, seen)}, Vault: "spare", Path: "/mcp/x/all",
	})
	for name, c := range map[string]struct{ message, header, body string }{
		"none": {call("1", "books_book_get", `{"id":"people/freya"}`), "spare", `"vault":"spare"`},
		"no arguments": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"books_book_get"}}`, "spare",
			`"arguments":{"vault":"spare"}`},
		"short name": {call("1", "get_book", `{"id":"people/freya"}`), "spare", `"vault":"spare"`},
		"its own":    {call("1", "books_book_get", `{"vault":"main","id":"x"}`), "main", `{"vault":"main","id":"x"}`},
		"takes none": {call("1", "desk_whoami", `{}`), "", `"arguments":{},`},
		"not known":  {call("1", "new_tool", `{}`), "", `"arguments":{},`},
		"completion": {`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":` +
			`"ref/prompt","name":"p"},"argument":{"name":"n","value":""}}}`, "", `"context":{"arguments":{"vault":"spare"}}`},
		"listing": {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
	} {
		s.ask(c.message)
		h, _, body := seen.last()
		require.Equal(t, c.header, h.Get("Mcp-Param-Vault"), name)
		require.Contains(t, body, c.body, name)
	}
	require.Contains(t, s.ask(call("9", "books_book_get", `{"id":"people/freya"}`)), `freya`)
	require.Empty(t, s.end())
}
