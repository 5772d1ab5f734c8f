package cloudtest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/cloudtest"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

func TestMain(m *testing.M) { os.Exit(cloudtest.Main(m)) }

// deploy deploys the functions over stores.
func deploy(t *testing.T, s cloudtest.Stores, change ...func(*cloudtest.Options)) *cloudtest.Deployment {
	t.Helper()
	o := cloudtest.Options{Stores: s}
	for _, f := range change {
		f(&o)
	}
	return cloudtest.Deploy(t, o)
}

// call makes a call that must succeed, and returns its data.
func call(t *testing.T, c tool.Invoker, name, args string) map[string]any {
	t.Helper()
	answer, err := c.Invoke(t.Context(), name, json.RawMessage(args))
	require.NoError(t, err, "%s: %s", name, answer)
	var envelope struct{ Data map[string]any }
	require.NoError(t, json.Unmarshal(answer, &envelope))
	return envelope.Data
}

// writeFixture makes a vault that has a note, and returns a client of its tenant.
func writeFixture(t *testing.T, d *cloudtest.Deployment) *httptool.Client {
	t.Helper()
	c := d.Client(d.Token(t, "acme"))
	call(t, c, "team_vault_create", `{"name":"main"}`)
	call(t, c, "team_vault_import", `{"vault":"main","notes":[{"path":"inbox.md","text":"# Inbox\n"}]}`)
	return c
}

// deployWithFixture is a deployment with a vault that has a note, and a client of it.
func deployWithFixture(t *testing.T, s cloudtest.Stores) (*cloudtest.Deployment, *httptool.Client) {
	t.Helper()
	d := deploy(t, s)
	return d, writeFixture(t, d)
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	data, err := tool.Marshal(v)
	require.NoError(t, err)
	return data
}

// add is the call that adds a line to the note, once, however often it is made.
func add(line string) string {
	key := sha256.Sum256([]byte(line))
	return fmt.Sprintf(`{"vault":"main","to":"inbox.md","text":%q,"idempotency_key":"%x"}`, line, key)
}

// long is a text that stays over 16 KB however it is packed: a change with it has an object of its own.
func long() string {
	text := make([]byte, 20_000)
	for i := range text {
		text[i] = byte(rand.N(256))
	}
	return hex.EncodeToString(text)
}

// requireLines holds that the note has each of these lines once, and no other.
func requireLines(t *testing.T, c *httptool.Client, want []string) {
	t.Helper()
	text, ok := call(t, c, "raven_read", `{"vault":"main","path":"inbox.md"}`)["content"].(string)
	require.True(t, ok)
	var have []string
	for line := range strings.Lines(text) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			have = append(have, item)
		}
	}
	require.ElementsMatch(t, want, have)
}

func TestFunctions(t *testing.T) {
	s := cloudtest.NewStores(t)
	d, c := deployWithFixture(t, s)
	lines := []string{"a line with " + leaktest.Text, "a line over MCP"}
	call(t, c, "raven_add", add(lines[0]))
	over := tooltest.NewMCPClient(d.URL+mcptool.Path+"/x/all", &http.Client{Transport: cloudtest.Bearer(c.Token)})
	t.Cleanup(func() { _ = over.Close() })
	call(t, over, "raven_add", add(lines[1]))
	requireLines(t, c, lines)

	get := func(path, token string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+path, nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer, string(body)
	}
	answer, body := get("/v1/vaults/main/stats", c.Token)
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
	require.Len(t, d.Host("raven").Processes(), 1, "a route of the family leads to its function")
	for _, path := range []string{"/v1/vaults/main/objects/people%2Fnone", "/v1/vaults/main/objects/people/none"} {
		answer, body = get(path, c.Token)
		require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
		require.Contains(t, body, "people/none", path)
	}
	answer, _ = get("/v1/vaults/main/stats", "")
	require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	require.Contains(t, answer.Header.Get("X-Amzn-Remapped-Www-Authenticate"), "Bearer")
	answer, body = get("/healthz", "")
	require.Equal(t, http.StatusOK, answer.StatusCode, body)

	// Another deployment over the same stores begins from what is stored.
	later := deploy(t, s)
	requireLines(t, later.Client(c.Token), lines)
	for _, text := range []string{d.Output(), later.Output()} {
		require.NotContains(t, text, leaktest.Text)
		require.NotContains(t, text, c.Token)
		require.NotContains(t, text, "inbox")
	}
}

// TestNothingLeaks covers what the processes write, at their lowest level: nothing of what a request contains.
func TestNothingLeaks(t *testing.T) {
	d := deploy(t, cloudtest.NewStores(t), func(o *cloudtest.Options) { o.Env = []string{"ROOKERY_LOG_LEVEL=debug"} })
	c := writeFixture(t, d)
	all := leaktest.Text + " " + leaktest.Field + " " + leaktest.Query
	call(t, c, "raven_add", string(marshalled(t, map[string]any{
		"vault": "main", "to": "inbox", "text": all, "idempotency_key": all,
	})))
	for _, path := range []string{
		"/v1/vaults/main/objects/" + all, "/v1/vaults/main/object-search?query=" + all, "/" + all, "/mcp/" + all,
		"/v1/tools/" + all, "/v1/vaults/main/objects/%25zz?" + all + "=%zz",
	} {
		for _, method := range []string{"GET", "POST", "DELETE", "PATCH"} {
			r, err := http.NewRequestWithContext(t.Context(), method,
				d.URL+strings.ReplaceAll(path, " ", "%20"), strings.NewReader(`{"x":"`+all+`"}`))
			require.NoError(t, err)
			for _, name := range []string{"X-Agent-Id", "X-Session-Id", "If-Match", "Idempotency-Key", "X-Other", "Cookie"} {
				r.Header.Set(name, all)
			}
			resp, err := (&http.Client{Transport: cloudtest.Bearer(c.Token)}).Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
		}
	}
	require.NotEmpty(t, d.Output())
	leaktest.RequireNone(t, d.Output(), "the output of the functions")
}

// kills is how often TestKilledBootstrap kills: 10 times, and with ROOKERY_SOAK 100.
func kills() int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 100
	}
	return 10
}

// TestKilledBootstrap kills the processes of a function at a random request to a store, before or after its effect.
// A call that was not answered is made again: each has its effect once.
func TestKilledBootstrap(t *testing.T) {
	d, c := deployWithFixture(t, cloudtest.NewStores(t))
	var lines []string
	cold := false
	killed := 0
	for n := range kills() {
		line := fmt.Sprintf("line %d", n)
		lines = append(lines, line)
		// A process that begins makes about ten requests for a call, one that has the vault two.
		at, after := int64(1+rand.N(2)), rand.N(2) == 0
		if cold {
			at = int64(1 + rand.N(10))
		}
		t.Logf("killed at request %d, after its effect: %v", at, after)
		var count atomic.Int64
		d.Watch(func(_ string, forward func()) {
			dies := count.Add(1) == at
			if dies && !after {
				d.Host("mcp").Kill()
			}
			forward()
			if dies && after {
				d.Host("mcp").Kill()
			}
		})
		_, err := c.Invoke(t.Context(), "raven_add", json.RawMessage(add(line)))
		d.Watch(nil)
		if err != nil {
			killed++
			call(t, c, "raven_add", add(line))
		}
		call(t, c, "raven_add", add(line))
		if cold = rand.N(2) == 0; cold {
			d.Host("mcp").Kill()
		}
	}
	require.Greater(t, killed, kills()/2)
	requireLines(t, c, lines)
}

// TestFrozen stops a function with SIGSTOP at a request to a store, lets another one write to the same note, and
// lets it go on: both have their effect, once.
func TestFrozen(t *testing.T) {
	s := cloudtest.NewStores(t)
	d, c := deployWithFixture(t, s)
	other := deploy(t, s).Client(c.Token)
	host := d.Host("mcp")
	var lines []string
	for n, at := range []struct {
		operation string
		after     bool // it has its effect, and then the function is stopped
		text      string
	}{
		{"Query", false, "before the Query"},
		{"Query", true, "behind the Query"},
		{"PutItem", false, "before the create"},
		{"PutItem", true, "behind the create"},
		{http.MethodPut, false, "before the PUT " + long()},
		{http.MethodPut, true, "behind the PUT " + long()},
		{"", false, "between calls"},
	} {
		theirs := fmt.Sprintf("meanwhile %d", n)
		lines = append(lines, at.text, theirs)
		var frozen atomic.Bool
		meet := func() {
			host.Freeze()
			call(t, other, "raven_add", add(theirs))
			host.Thaw()
		}
		d.Watch(func(operation string, forward func()) {
			first := operation == at.operation && frozen.CompareAndSwap(false, true)
			if first && !at.after {
				meet()
			}
			forward()
			if first && at.after {
				meet()
			}
		})
		if at.operation == "" {
			host.Freeze()
			call(t, other, "raven_add", add(theirs))
			frozen.Store(true)
		}
		_, err := c.Invoke(t.Context(), "raven_add", json.RawMessage(add(at.text)))
		d.Watch(nil)
		require.NoError(t, err, "%.20s", at.text)
		require.True(t, frozen.Load(), "%.20s: there was no such request", at.text)
	}
	requireLines(t, c, lines)
	requireLines(t, other, lines)
}

// TestSeveralInstances has eight processes with eight writers each, whose calls are all made at the same time: no edit
// is lost or doubled, and each is answered within the deadline of its call.
func TestSeveralInstances(t *testing.T) {
	const processes, writers, edits = 8, 8, 200
	d := deploy(t, cloudtest.NewStores(t), func(o *cloudtest.Options) { o.Most, o.Concurrency = processes, writers })
	c := writeFixture(t, d)
	errs := make([]error, processes*writers)
	var all sync.WaitGroup
	var next atomic.Int64
	var lines []string
	for n := range edits {
		lines = append(lines, fmt.Sprintf("edit %d", n))
	}
	for w := range errs {
		all.Go(func() {
			for n := next.Add(1); n <= edits; n = next.Add(1) {
				_, err := c.Invoke(t.Context(), "raven_add", json.RawMessage(add(lines[n-1])))
				errs[w] = errors.Join(errs[w], err)
			}
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, d.Host("mcp").Processes(), processes)
	requireLines(t, c, lines)
}
