package localapp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tool"
)

// A member is a person of a tenant who calls the server.
type member struct {
	s      tenants
	client *http.Client
	token  string
}

func (s tenants) member(c *http.Client, tenant, subject string) member {
	claims := s.issuer.Claims(subject, loadURL)
	claims["tenant"] = tenant
	return member{s, c, s.issuer.Sign(claims)}
}

// call makes a call, reads its answer, and returns the status.
func (m member) call(ctx context.Context, name string, in args) (int, error) {
	body, err := tool.Marshal(in)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.s.addr+"/v1/tools/"+name,
		bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Host = "memory.example.test"
	r.Header.Set("Authorization", "Bearer "+m.token)
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("Content-Type", "application/json")
	answer, err := m.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// A waits counts the calls of tenants that began to run, and how many others began while one of
// tenant b waited.
type waits struct {
	mu     sync.Mutex
	calls  map[string]int
	passed []int
	busy   chan struct{} // closed when tenant a has made many calls
}

func (w *waits) waited(tenant string, passed int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[tenant]++
	if tenant == "b" {
		w.passed = append(w.passed, passed)
	}
	if tenant == "a" && w.calls[tenant] == 100 {
		close(w.busy)
	}
}

// TestFairServer checks a whole server on which tenant a sends the worst load: 64 agents of 8
// people request large pages all the time, other clients send bodies that do not end, and others do
// not read their answers. No call of tenant b is refused, and at most as many calls of others as
// may run at once run before each of them.
func TestFairServer(t *testing.T) {
	const room = 8
	w := &waits{calls: map[string]int{}, busy: make(chan struct{})}
	s := openTenants(t, room, w.waited)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	do := func(m member, name string, in args) {
		t.Helper()
		status, err := m.call(t.Context(), name, in)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, name)
	}
	notes := []args{}
	for i := range 200 {
		notes = append(notes, args{
			"path": fmt.Sprintf("n%d.md", i), "text": "---\nabout: " + strings.Repeat("words ", 300) + "\n---\n",
		})
	}
	for _, tenant := range []string{"a", "b"} {
		root := s.member(client, tenant, "root")
		do(root, "team_vault_create", args{"name": "v"})
		do(root, "team_vault_import", args{"vault": "v", "notes": notes})
	}
	for n := range 4 * room {
		s.begin(t, s.head("POST /v1/tools/team_whoami", "a", fmt.Sprint(n%4), "Content-Length: 4000000\r\n"))
		s.begin(t, s.head("GET /v1/objects?vault=v&limit=200", "a", fmt.Sprint(n%4), ""))
	}
	worst, end := context.WithCancel(t.Context())
	defer end()
	var agents sync.WaitGroup
	for n := range 64 {
		m := s.member(client, "a", fmt.Sprint("person", n%8))
		agents.Go(func() {
			for worst.Err() == nil { // a refusal is told at once, and the agent comes again
				_, _ = m.call(worst, "raven_object_list",
					args{"vault": "v", "limit": 200, "agent_id": fmt.Sprint("agent", n)})
			}
		})
	}
	<-w.busy
	calls := 10 // of each tool
	if soaked() {
		calls = 30
	}
	for n := range calls {
		m := s.member(client, "b", fmt.Sprint("reader", n%4))
		for name, in := range map[string]args{
			"raven_read":        {"vault": "v", "path": fmt.Sprintf("n%d", n)},
			"raven_object_list": {"vault": "v"},
			"raven_search":      {"vault": "v", "query": "words"},
		} {
			status, err := m.call(t.Context(), name, in)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status, name)
		}
	}
	end()
	agents.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.GreaterOrEqual(t, len(w.passed), 3*calls)
	for _, passed := range w.passed {
		require.LessOrEqual(t, passed, room)
	}
}

// begin sends text over a connection that stays open, and reads no answer.
func (s tenants) begin(t *testing.T, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
}
