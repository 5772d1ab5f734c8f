package httptool_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/httptool"
)

// TestSlowBodiesAreTheirSendersOwn holds that who sends a body slowly is the only one who finds no room.
func TestSlowBodiesAreTheirSendersOwn(t *testing.T) {
	s := serve(t, httptool.Options{
		Flights: access.NewFlights(1),
		Authenticate: func(r *http.Request) (auth.Caller, error) {
			c := auth.LocalCaller()
			c.Principal = r.Header.Get("X-Who")
			return c, nil
		},
	})
	read := func(who string) int {
		return send(t, s, ask{line: "GET /v1/whoami", header: map[string]string{"X-Who": who}}).status
	}
	body, slow := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/tools/desk_whoami", body)
	require.NoError(t, err)
	r.Header.Set("X-Who", "slow")
	r.Header.Set("Content-Type", "application/json")
	answered := make(chan int)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	_, err = io.WriteString(slow, "{")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return read("slow") == http.StatusServiceUnavailable },
		10*time.Second, time.Millisecond)
	require.Equal(t, http.StatusOK, read("other"))
	_, err = io.WriteString(slow, "}")
	require.NoError(t, err)
	require.NoError(t, slow.Close())
	require.Equal(t, http.StatusOK, <-answered)
	require.Equal(t, http.StatusOK, read("slow"))
}
