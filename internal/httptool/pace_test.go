package httptool_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// noise returns a text that does not fit into the buffers of a connection and hardly compresses.
var noise = sync.OnceValue(func() []byte {
	r := rand.NewChaCha8([32]byte{})
	data := make([]byte, 2<<20)
	_, _ = r.Read(data) // it never fails
	return data
})

// paged returns the handler of a server with a large page, which allows one call at a time.
func paged() http.Handler {
	return httptool.New(tooltest.Sample(), httptool.Options{
		Hosts:    []string{"x"},
		Document: func() ([]byte, error) { return noise(), nil },
		Shares:   access.NewShares(access.ShareOptions{Calls: 1}),
	})
}

// A pipe is a listener whose connections are in memory, so that a test can control the clock.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error   { close(p.closed); return nil }
func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipe) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// inMemory runs a test with a server over both protocols.
func inMemory(t *testing.T, test func(t *testing.T, p *pipe)) {
	t.Helper()
	noise()
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{make(chan net.Conn, 1), make(chan struct{})}
		s := &http.Server{Handler: paged(), ReadHeaderTimeout: time.Hour, Protocols: new(http.Protocols)}
		s.Protocols.SetHTTP1(true)
		s.Protocols.SetUnencryptedHTTP2(true)
		var running sync.WaitGroup
		running.Go(func() { _ = s.Serve(p) }) // it ends with Close
		test(t, p)
		require.NoError(t, s.Close())
		running.Wait()
	})
}

const getPage = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"

// TestUnreadPages checks that a client that does not read its answer loses its connection after ten
// seconds and occupies no call meanwhile, and that one that reads slowly gets the whole answer.
func TestUnreadPages(t *testing.T) {
	inMemory(t, func(t *testing.T, p *pipe) {
		start := time.Now()
		stuck := p.dial()
		_, err := io.WriteString(stuck, getPage)
		require.NoError(t, err)
		synctest.Wait()

		other := p.dial()
		_, err = io.WriteString(other, "GET /v1/whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		answer, err := io.ReadAll(other)
		require.NoError(t, err)
		require.Contains(t, string(answer), "200 OK")
		require.Equal(t, start, time.Now())

		time.Sleep(10*time.Second + time.Nanosecond)
		_ = stuck.SetReadDeadline(time.Now().Add(time.Hour))
		rest, err := io.ReadAll(stuck)
		require.NoError(t, err)
		require.Less(t, len(rest), 64<<10)
		require.Less(t, time.Since(start), time.Minute)
	})
}

// TestSlowPages checks that a client that keeps reading may take as long as it needs.
func TestSlowPages(t *testing.T) {
	inMemory(t, func(t *testing.T, p *pipe) {
		start, slow, read := time.Now(), p.dial(), 0
		_, err := io.WriteString(slow, strings.Replace(getPage, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
		require.NoError(t, err)
		for buf := make([]byte, 64<<10); ; time.Sleep(2 * time.Second) {
			n, err := io.ReadFull(slow, buf)
			read += n
			if err != nil {
				break
			}
		}
		require.Greater(t, read, len(noise()))
		require.Greater(t, time.Since(start), time.Minute)
	})
}

// Frame types of HTTP/2 (RFC 9113 §6).
const (
	frameHeaders  = 1
	frameReset    = 3
	frameSettings = 4
)

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind)) //nolint:gosec // it is small
	return append(binary.BigEndian.AppendUint32(append(head, flags), stream), payload...)
}

// closedWindow returns the beginning of an HTTP/2 connection that requests the page several times
// and allows the server to send no byte of it.
func closedWindow(streams int) []byte {
	out := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	out = append(out, frame(frameSettings, 0, 0, []byte{0, 4, 0, 0, 0, 0})...)
	path := "/openapi.json"
	ask := append([]byte{0x82, 0x86, 0x04, byte(len(path))}, path...) // GET, http, :path
	ask = append(ask, 0x01, 1, 'x')                                   // :authority
	for n := range streams {
		out = append(out, frame(frameHeaders, 0x5, uint32(2*n+1), ask)...) //nolint:gosec // it is small
	}
	return out
}

// resets reads frames until the connection ends or `want` streams were reset.
func resets(conn net.Conn, want int) (streams int) {
	head := make([]byte, 9)
	for streams < want {
		if _, err := io.ReadFull(conn, head); err != nil {
			return streams
		}
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, err := io.CopyN(io.Discard, conn, size); err != nil {
			return streams
		}
		if head[3] == frameReset {
			streams++
		}
	}
	return streams
}

// TestClosedWindows checks that HTTP/2 streams with closed windows occupy no call, and are reset
// after ten seconds.
func TestClosedWindows(t *testing.T) {
	inMemory(t, func(t *testing.T, p *pipe) {
		const streams = 90
		start := time.Now()
		var conns sync.WaitGroup
		for range 2 {
			conn := p.dial()
			conns.Go(func() { _, _ = conn.Write(closedWindow(streams)) })
			conns.Go(func() {
				if n := resets(conn, streams); n != streams {
					t.Errorf("%d of %d streams were reset", n, streams)
				}
				_ = conn.Close()
			})
		}
		synctest.Wait()
		other := p.dial()
		_, err := io.WriteString(other, "GET /v1/whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		answer, err := io.ReadAll(other)
		require.NoError(t, err)
		require.Contains(t, string(answer), "200 OK")
		require.Equal(t, start, time.Now())
		conns.Wait()
		require.Equal(t, 10*time.Second, time.Since(start))
	})
}

// TestPagesAreCompressedOnce checks that public pages are compressed, and the same for all clients.
func TestPagesAreCompressedOnce(t *testing.T) {
	made := 0
	h := httptool.New(tooltest.Sample(), httptool.Options{Hosts: []string{"x"},
		Docs: []byte("<style></style>" + strings.Repeat("same ", 1<<16)), Document: func() ([]byte, error) {
			made++
			return []byte(strings.Repeat("same ", 1<<16)), nil
		}})
	for _, path := range []string{"/openapi.json", "/docs"} {
		get := func(accepts string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodGet, "http://x"+path, nil)
			r.Header.Set("Accept-Encoding", accepts)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			require.Equal(t, 200, w.Code)
			return w
		}
		plain := get("identity").Body.Bytes()
		for _, accepts := range []string{"gzip", "deflate, gzip;q=0.5"} {
			w := get(accepts)
			require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
			require.Contains(t, fmt.Sprint(w.Header().Values("Vary")), "Accept-Encoding")
			require.Less(t, w.Body.Len(), len(plain)/2)
			z, err := gzip.NewReader(bytes.NewReader(w.Body.Bytes()))
			require.NoError(t, err)
			unpacked, err := io.ReadAll(z)
			require.NoError(t, err)
			require.Equal(t, plain, unpacked)
		}
		require.Empty(t, get("gzip;q=0").Header().Get("Content-Encoding"))
	}
	require.Equal(t, 1, made)
}
