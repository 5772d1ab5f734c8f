package bridge_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bridge"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/mcptool"
)

// A gate lets requests through one by one, and says when one has come or its client has gone.
type gate struct {
	next      http.Handler
	came      chan struct{}
	pass      chan struct{}
	cancelled chan struct{}
}

func newGate(next http.Handler) *gate {
	return &gate{next, make(chan struct{}, 100), make(chan struct{}, 100), make(chan struct{}, 100)}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the end of a connection is seen when its body has been read
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	g.came <- struct{}{}
	select {
	case <-g.pass:
		g.next.ServeHTTP(w, r)
	case <-r.Context().Done():
		g.cancelled <- struct{}{}
	}
}

func ping(id int) string {
	return `{"jsonrpc":"2.0","id":` + strconv.Itoa(id) + `,"method":"ping"}`
}

// TestNoAnswer holds which lines get none, also when the server is away.
func TestNoAnswer(t *testing.T) {
	away := "http://127.0.0.1:1"
	for _, url := range []string{listen(t, endpoint(t, mcptool.Options{})), away} {
		s := run(t, bridge.Options{Server: &fixed{url: url}})
		s.send("", "  \t", "\r",
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":1,"result":{}}`,
			`{"jsonrpc":"2.0","method":"nothing"}`,
			`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`)
		require.Empty(t, s.end())
	}
}

// TestConcurrentCalls holds that calls do not wait for each other, and that a cancelled one ends
// without an answer: at the server too.
func TestConcurrentCalls(t *testing.T) {
	g := newGate(endpoint(t, mcptool.Options{}))
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, g)}})
	for id := range 5 {
		s.send(ping(id))
	}
	s.send(`{"jsonrpc":"2.0","id":"1","method":"ping"}`)
	for range 6 {
		<-g.came
	}
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"x"}}`)
	<-g.cancelled
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	var ids []string
	for range 5 {
		g.pass <- struct{}{}
		ids = append(ids, string(outcomeOf(t, s.next()).ID))
	}
	require.ElementsMatch(t, []string{"0", "2", "3", "4", `"1"`}, ids)
	require.Empty(t, s.end())
}

// TestCancelledBatch holds that a batch ends when all of its requests are cancelled.
func TestCancelledBatch(t *testing.T) {
	g := newGate(endpoint(t, mcptool.Options{}))
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, g)}})
	s.send(`[` + ping(1) + `,` + ping(2) + `]`)
	<-g.came
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	s.send(cancel("1"), ping(3))
	<-g.came
	require.Empty(t, g.cancelled)
	s.send(cancel("2"))
	<-g.cancelled
	g.pass <- struct{}{}
	require.Equal(t, "3", string(outcomeOf(t, s.next()).ID))
	require.Empty(t, s.end())
}

// TestEndOfInput holds that messages which were read are answered, the last one without a newline
// too.
func TestEndOfInput(t *testing.T) {
	g := newGate(endpoint(t, mcptool.Options{}))
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, g)}})
	s.send(ping(1) + "\r")
	_, err := io.WriteString(s.in, ping(2))
	require.NoError(t, err)
	require.NoError(t, s.in.Close())
	<-g.came
	<-g.came
	g.pass <- struct{}{}
	g.pass <- struct{}{}
	var ids []string
	for range 2 {
		ids = append(ids, string(outcomeOf(t, s.next()).ID))
	}
	require.ElementsMatch(t, []string{"1", "2"}, ids)
	require.NoError(t, <-s.done)
}

// TestStop holds that the call in flight is answered when the program is told to stop.
func TestStop(t *testing.T) {
	g := newGate(endpoint(t, mcptool.Options{}))
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, g)}})
	s.send(ping(1))
	<-g.came
	s.stop()
	g.pass <- struct{}{}
	require.Equal(t, "1", string(outcomeOf(t, s.next()).ID))
	require.NoError(t, <-s.done)
}

// TestOutputIsClosed holds that the bridge ends when nothing reads its answers.
func TestOutputIsClosed(t *testing.T) {
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, endpoint(t, mcptool.Options{}))}})
	require.NoError(t, s.out.Close())
	s.send(ping(1))
	require.NoError(t, <-s.done)
}

// TestTooLarge holds that a message over the limit is refused with its id, wherever that is, and
// that the next one is served.
func TestTooLarge(t *testing.T) {
	s := run(t, bridge.Options{Server: &fixed{url: listen(t, endpoint(t, mcptool.Options{}))}})
	text := strings.Repeat("x", 4<<20)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"` + text + `"}}`,
		`{"method":"ping","params":{"x":"` + text + `"},"jsonrpc":"2.0","id":"big"}`,
	} {
		o := outcomeOf(t, s.ask(message))
		require.Equal(t, `"big"`, string(o.ID))
		require.Equal(t, fault.BatchTooLarge, o.Error.Data.Code)
	}
	go func() {
		_, _ = io.Copy(s.in, io.LimitReader(endless{}, 17<<20))
		s.send("")
	}()
	o := outcomeOf(t, s.next())
	require.Equal(t, "null", string(o.ID))
	require.Equal(t, fault.BatchTooLarge, o.Error.Data.Code)
	require.Contains(t, s.ask(ping(1)), `"result":{}`)
	require.Empty(t, s.end())
}

// endless is text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
