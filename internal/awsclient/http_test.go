package awsclient_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awsclient"
)

// TestIdleConnectionsAfterAFreeze counts connections: one is used again within 30 s, and not after.
func TestIdleConnectionsAfterAFreeze(t *testing.T) {
	var connections atomic.Int64
	store := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	store.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	store.Start()
	t.Cleanup(store.Close)

	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	client := awsclient.NewHTTP(func() time.Time { return now })
	for _, c := range []struct {
		pause time.Duration
		want  int64 // connections so far
	}{{0, 1}, {0, 1}, {30 * time.Second, 1}, {31 * time.Second, 2}, {time.Second, 2}, {25 * time.Hour, 3}} {
		now = now.Add(c.pause)
		client.Begin()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, store.URL, nil)
		require.NoError(t, err)
		answer, err := client.Do(r)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, c.want, connections.Load(), "after a pause of %v", c.pause)
	}
}
