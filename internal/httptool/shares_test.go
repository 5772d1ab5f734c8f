package httptool_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/httptool"
)

// TestSlowBodiesAreTheirSendersOwn checks that a client that sends a body slowly uses up only its
// own share.
func TestSlowBodiesAreTheirSendersOwn(t *testing.T) {
	s := serve(t, httptool.Options{
		Shares: access.NewShares(access.ShareOptions{Calls: 1}), // and four requests in flight
		Authenticate: func(r *http.Request) (auth.Caller, error) {
			c := auth.LocalCaller()
			c.Principal = r.Header.Get("X-Who")
			return c, nil
		},
	})
	read := func(who string) int {
		return send(t, s, ask{line: "GET /v1/whoami", header: map[string]string{"X-Who": who}}).status
	}
	addr := strings.TrimPrefix(s.URL, "http://")
	slow, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer slow.Close()
	_, err = fmt.Fprintf(slow, "POST /v1/tools/desk_whoami HTTP/1.1\r\nHost: %s\r\nX-Who: slow\r\n"+
		"Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n", addr)
	require.NoError(t, err)
	in := bufio.NewReader(slow)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} { // the call has begun
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
	}
	require.Equal(t, http.StatusServiceUnavailable, read("slow"))
	require.Equal(t, http.StatusOK, read("other"))
	_, err = io.WriteString(slow, "{}")
	require.NoError(t, err)
	answered, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.NoError(t, answered.Body.Close())
	require.Equal(t, http.StatusOK, answered.StatusCode)
	require.Eventually(t, func() bool { return read("slow") == http.StatusOK }, time.Minute, time.Millisecond,
		"a call ends a moment after it is answered")
}
