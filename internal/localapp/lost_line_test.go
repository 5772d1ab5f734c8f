package localapp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// everything is a number of bytes that lets a whole answer pass.
const everything = 1 << 30

// A wire is one connection of a client, with the points at which it is cut.
type wire struct {
	sent   int // bytes of the request that the client sends before it hangs up; everything: it waits
	passed int // bytes of the answer that arrive

	mu    sync.Mutex
	said  bytes.Buffer  // what the server answered, whether it arrived or not
	ended chan struct{} // closed when the server is done with the connection
}

func newWire(sent, passed int) *wire {
	return &wire{sent: sent, passed: passed, ended: make(chan struct{})}
}

// A line is a listener whose connections are cut as their wires say.
type line struct {
	net.Listener
	wires chan *wire // of the connections that come next
}

// Accept implements net.Listener.
func (l *line) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wired{Conn: c, wire: <-l.wires}, nil
}

// wired is the server's end of a wire.
type wired struct {
	net.Conn
	*wire
	closing sync.Once
}

// Write implements net.Conn. It returns no error for bytes that do not arrive, because a server
// cannot know that.
func (w *wired) Write(p []byte) (int, error) {
	w.mu.Lock()
	room := max(0, w.passed-w.said.Len())
	w.said.Write(p)
	w.mu.Unlock()
	_, err := w.Conn.Write(p[:min(room, len(p))])
	return len(p), err
}

// Close implements net.Conn.
func (w *wired) Close() error {
	err := w.Conn.Close()
	w.closing.Do(func() { close(w.ended) })
	return err
}

// A lineAnswer is the answer of a server to one call.
type lineAnswer struct {
	status int
	body   json.RawMessage
}

// ok reports whether the call was answered with a success.
func (s lineAnswer) ok() bool { return s.status == http.StatusOK }

// send sends a request over its own wire, disconnects when the wire says so, and waits until the
// server has finished with it. It returns the answer of the server, which the client may not have
// received.
func (l *line) send(t testing.TB, raw []byte, w *wire) lineAnswer {
	t.Helper()
	l.start(t, raw, w, nil)
	<-w.ended
	return w.answer(t)
}

// start sends a request, and disconnects when the wire or the channel says so.
func (l *line) start(t testing.TB, raw []byte, w *wire, hangUp <-chan struct{}) {
	t.Helper()
	l.wires <- w
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	_, err = c.Write(raw[:min(w.sent, len(raw))])
	require.NoError(t, err)
	if w.sent == everything {
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			_, _ = io.Copy(io.Discard, c) // it may be cut at any byte
		}()
		select {
		case <-hangUp:
		case <-heard:
		}
	}
	require.NoError(t, c.Close())
}

// answer returns the answer of the server over the wire, if there is one.
func (w *wire) answer(t testing.TB) lineAnswer {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said.Len() == 0 {
		return lineAnswer{}
	}
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(w.said.Bytes())), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return lineAnswer{r.StatusCode, body}
}
