package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/mcptool"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A meter counts the calls that are running and those that have begun.
type meter struct {
	running, most, begun atomic.Int32
	each                 time.Duration // duration of a call
}

func (m *meter) intercept(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		m.begun.Add(1)
		now := m.running.Add(1)
		defer m.running.Add(-1)
		for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); {
			most = m.most.Load()
		}
		time.Sleep(m.each)
		return next(ctx, c)
	}
}

// metered returns an endpoint whose calls are counted.
func metered(t testing.TB, m *meter) http.Handler {
	t.Helper()
	cat, err := tool.NewCatalogue(tooltest.AidedTools(), tool.Options{Interceptors: []tool.Interceptor{m.intercept}})
	require.NoError(t, err)
	return mcptool.New(cat, mcptool.Options{First: first, Documents: documents})
}

// legacy returns a request of a protocol with batches.
func legacy(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, mcptool.Path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-03-26")
	return r
}

// messages returns a batch of n messages that cycle through these: a method and its params.
func messages(n int, of ...[2]string) string {
	all := make([]string, n)
	for i := range all {
		m := of[i%len(of)]
		all[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, i, m[0], m[1])
	}
	return "[" + strings.Join(all, ",") + "]"
}

var (
	oneCall = [2]string{"tools/call", `"name":"desk_whoami"`}
	oneRead = [2]string{"resources/read", `"uri":"rookery://main/books/people/freya"`}
)

// TestOneCallAtATime checks that a request never has more than one call in flight, whatever its
// messages are, and that each of them is answered.
func TestOneCallAtATime(t *testing.T) {
	m := &meter{each: time.Millisecond}
	w := httptest.NewRecorder()
	metered(t, m).ServeHTTP(w, legacy(messages(100, oneCall, oneRead,
		[2]string{"prompts/get", `"name":"review","arguments":{"vault":"main","id":"people/freya"}`},
		[2]string{"completion/complete", `"ref":{"type":"ref/resource","uri":"rookery://{vault}/books/{+id}"},` +
			`"argument":{"name":"id","value":""},"context":{"arguments":{"vault":"main"}}`},
		[2]string{"resources/list", ""})))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var answers []struct{ Result, Error json.RawMessage }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answers))
	require.Len(t, answers, 100)
	require.NotContains(t, w.Body.String(), "UNAVAILABLE")
	require.Equal(t, int32(100), m.begun.Load())
	require.Equal(t, int32(1), m.most.Load())
}

// TestCallsThatComeTooLate checks that a call that does not get its turn in time is answered as not
// run, before the server closes the connection, and that each call has its full time limit.
func TestCallsThatComeTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{each: 20 * time.Second}
		w, start := httptest.NewRecorder(), time.Now()
		metered(t, m).ServeHTTP(w, legacy(messages(4, oneCall, oneRead)))
		require.Equal(t, 40*time.Second, time.Since(start))
		require.Equal(t, int32(2), m.begun.Load())
		require.Equal(t, http.StatusOK, w.Code)
		var answers []json.RawMessage
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answers))
		require.Len(t, answers, 4)
		late := 0
		for _, a := range answers {
			if strings.Contains(string(a), "UNAVAILABLE") {
				late++
				require.Contains(t, string(a), "was not run")
				require.Contains(t, string(a), `request_id`)
			}
		}
		require.Equal(t, 2, late)
	})
}

// TestHangUpEndsThoseThatWait checks that no further call of a request begins after its client has
// disconnected.
func TestHangUpEndsThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &meter{each: 10 * time.Second}
		ctx, hangUp := context.WithCancel(t.Context())
		start := time.Now()
		time.AfterFunc(time.Second, hangUp)
		metered(t, m).ServeHTTP(httptest.NewRecorder(), legacy(messages(100, oneCall)).WithContext(ctx))
		require.Equal(t, int32(1), m.begun.Load())
		require.Equal(t, 10*time.Second, time.Since(start), "the call that had begun has its place until it ends")
	})
}
