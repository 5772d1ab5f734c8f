package localapp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A holder is a connection that only occupies the server.
type holder struct {
	opening string        // sent at once
	drip    bool          // then it sends a byte from time to time
	cut     bool          // then it resets the connection, and comes again
	call    bool          // the server has begun a call for it, and waits for its body
	stop    chan struct{} // closed when it must end
}

// holders are all of them, until they have ended.
type holders struct {
	all   []*holder
	gone  sync.WaitGroup
	leave func() // lets those go that a stop would wait for, except in the soak, which sees them cut
}

// holdEvery is the time between two bytes.
const holdEvery = 200 * time.Millisecond

// hold opens 300 connections to a site: a hundred that send headers byte by byte; sixty that send
// bodies in this way, half of them with a token and half without, over both protocols; seventy that
// send nothing; and seventy that disconnect in the middle of a call, again and again.
func hold(t *testing.T, s *site, token string) *holders {
	t.Helper()
	const (
		tool = "/v1/tools/raven_stats"
		mcp  = "/mcp"
	)
	begin := func(path, headers string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s",
			path, s.addr, headers)
	}
	body := "Content-Length: 100000\r\n\r\n{"
	known := "Authorization: Bearer " + token + "\r\n"
	h := &holders{}
	add := func(n int, like holder) {
		for range n {
			one := like
			one.stop = make(chan struct{})
			h.all = append(h.all, &one)
		}
	}
	add(100, holder{opening: begin(tool, "X-Slow: "), drip: true})
	add(15, holder{opening: begin(tool, known+body), drip: true, call: true})
	add(15, holder{opening: begin(mcp, known+body), drip: true, call: true})
	add(15, holder{opening: begin(tool, body), drip: true})
	add(15, holder{opening: begin(mcp, body), drip: true})
	add(70, holder{})
	add(35, holder{opening: begin(tool, known+body), cut: true})
	add(35, holder{opening: begin(mcp, known+body), cut: true})
	for _, one := range h.all {
		h.gone.Go(func() { one.run(s) })
	}
	h.leave = h.let
	return h
}

// let ends those for which a call has begun.
func (h *holders) let() {
	for _, one := range h.all {
		if one.call && os.Getenv("ROOKERY_SOAK") == "" {
			close(one.stop)
		}
	}
}

// requireGone waits until all have ended. A server that has stopped has closed all connections, so
// none of them waits.
func (h *holders) requireGone() { h.gone.Wait() }

// run holds one connection after the other until the server stops.
func (h *holder) run(s *site) {
	for {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			return // the listener is closed
		}
		again := h.one(conn)
		_ = conn.Close() // it may be closed already
		select {
		case <-s.stopped:
			return
		case <-h.stop:
			return
		case <-time.After(holdEvery):
		}
		if !again {
			return
		}
	}
}

// one holds a connection until the server closes it, or until the holder disconnects.
func (h *holder) one(conn net.Conn) (again bool) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, conn) // its answer does not matter
	}()
	defer func() { <-closed }()
	defer conn.Close()
	_, _ = io.WriteString(conn, h.opening) // a failure shows as the end of the connection
	for {
		select {
		case <-closed:
			return true
		case <-h.stop:
			return false
		case <-time.After(holdEvery):
		}
		switch {
		case h.cut:
			_ = conn.(*net.TCPConn).SetLinger(0) // it ends with a reset
			return true
		case h.drip:
			_, _ = io.WriteString(conn, "a")
		}
	}
}

// A flight is the calls that the server has begun when it is told to stop.
type flight struct {
	addr  string
	calls []*inFlight
}

// An inFlight is one of these calls. Its body has not been sent.
type inFlight struct {
	conn net.Conn
	in   *bufio.Reader
	word string
}

// inFlights is the number of these calls.
const inFlights = 8

// begin makes the calls. The server has authenticated them.
func (c *crowd) begin(t *testing.T, s *site) *flight {
	t.Helper()
	f := &flight{addr: s.addr}
	for n := range inFlights {
		conn, err := net.Dial("tcp", s.addr)
		require.NoError(t, err)
		one := &inFlight{conn, bufio.NewReader(conn), fmt.Sprintf("w999-%05d", n)}
		_, err = fmt.Fprintf(conn, "POST /v1/tools/raven_add HTTP/1.1\r\nHost: %s\r\n"+
			"Authorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
			"Expect: 100-continue\r\n\r\n", s.addr, c.root(), len(one.body()))
		require.NoError(t, err)
		f.calls = append(f.calls, one)
	}
	for _, one := range f.calls {
		line, err := one.in.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "100 Continue")
		_, err = one.in.ReadString('\n')
		require.NoError(t, err)
	}
	return f
}

func (i *inFlight) body() string { return `{"vault":"v0","to":"log","text":"` + i.word + `"}` }

// finish sends the bodies when the listener is closed, and requires that all calls are answered.
func (f *flight) finish(t *testing.T, c *crowd) {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", f.addr)
		if err != nil {
			break
		}
		_ = conn.Close() // the next one may be refused
	}
	for _, one := range f.calls {
		_, err := io.WriteString(one.conn, one.body())
		require.NoError(t, err)
		answer, err := http.ReadResponse(one.in, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
		require.NoError(t, one.conn.Close())
		c.flown = append(c.flown, one.word)
	}
}
