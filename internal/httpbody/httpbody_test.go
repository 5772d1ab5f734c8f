package httpbody_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httpbody"
)

const bound = 1 << 20

// reader answers 413 to a body that is too large, and 400 to one that was cut off.
var reader = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	httpbody.Bound(w, r, bound)
	data, err := httpbody.Read(r)
	switch {
	case fault.Is(err, fault.BatchTooLarge):
		w.WriteHeader(fault.Of(err).HTTP())
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = w.Write(data[:min(len(data), 9)])
})

// request is one with a body of blanks behind a word, whose length is declared or not.
func request(size int, declared bool) *http.Request {
	body := io.Reader(strings.NewReader("beginning" + strings.Repeat(" ", size-len("beginning"))))
	if !declared {
		body = io.MultiReader(body)
	}
	return httptest.NewRequest(http.MethodPost, "/", body)
}

// TestRead holds what is read of a body of each size: all of it, or that it is too large, and its beginning.
func TestRead(t *testing.T) {
	for _, declared := range []bool{true, false} {
		for size, want := range map[int]int{9: 200, bound: 200, bound + 1: 413, 10 * bound: 413, 99 * bound: 413} {
			w := httptest.NewRecorder()
			reader.ServeHTTP(w, request(size, declared))
			require.Equal(t, want, w.Code, size)
			require.Equal(t, "beginning", w.Body.String(), size)
			require.Equal(t, size == 99*bound, w.Header().Get("Connection") == "close", "its connection ends")
		}
	}
	w := httptest.NewRecorder()
	cut := io.MultiReader(strings.NewReader("beginning"), iotest.ErrReader(errors.New("cut off")))
	reader.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", cut))
	require.Equal(t, 400, w.Code)
}

// TestBoundTwice holds that the first bound counts, also for who reads without Read.
func TestBoundTwice(t *testing.T) {
	r := request(9, true)
	httpbody.Bound(nil, r, 8)
	httpbody.Bound(nil, r, 100)
	data, err := io.ReadAll(r.Body)
	require.ErrorAs(t, err, new(*http.MaxBytesError))
	require.Equal(t, "beginnin", string(data))
	require.Panics(t, func() { _, _ = httpbody.Read(request(9, true)) })
}

// A line is a listener of one connection.
type line struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *line) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *line) Close() error   { close(l.closed); return nil }
func (l *line) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowSenders holds that who sends slowly what is too large is answered after ten seconds, whichever way
// it says how much there is, and that the connection ends with that.
func TestSlowSenders(t *testing.T) {
	for name, begin := range map[string]string{
		"declared":  "Content-Length: 999999999\r\n\r\n",
		"in chunks": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\nffffffff\r\n%s", strings.Repeat(" ", bound+1)),
	} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			l := &line{make(chan net.Conn, 1), make(chan struct{})}
			l.conn <- server
			s := &http.Server{Handler: reader, ReadHeaderTimeout: time.Hour}
			var running sync.WaitGroup
			running.Go(func() { _ = s.Serve(l) })
			start := time.Now()
			running.Go(func() { // a byte a second, for as long as somebody takes it
				_, err := io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\n"+begin)
				for err == nil {
					time.Sleep(time.Second)
					_, err = io.WriteString(client, " ")
				}
			})
			resp, err := http.ReadResponse(bufio.NewReader(client), nil)
			require.NoError(t, err, name)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, 413, resp.StatusCode)
			require.True(t, resp.Close)
			require.Equal(t, 10*time.Second, time.Since(start))
			require.NoError(t, client.Close())
			require.NoError(t, s.Shutdown(t.Context()))
			running.Wait()
		})
	}
}
