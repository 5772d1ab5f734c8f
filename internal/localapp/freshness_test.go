package localapp_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// stats is what raven_stats says of the files.
type stats struct {
	Freshness string
	Swept     string   `json:"swept_version"`
	SweptAt   string   `json:"swept_at"`
	Pending   []string `json:"pending_outside"`
	Edited    []string `json:"edited_outside"`
}

func statsOf(t *testing.T, via tool.Invoker, in args) stats {
	t.Helper()
	return into[stats](t, must(t, via, "raven_stats", in))
}

// TestFreshness goes through what raven_stats says of the files of a vault: from the first moment on,
// over an edit that a write meets, to a reindex that takes note of it.
func TestFreshness(t *testing.T) {
	app, dir := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness != "unknown" },
		time.Minute, time.Millisecond)
	put(t, via, map[string]string{"a.md": "one\n"})
	s := statsOf(t, via, nil)
	require.Equal(t, "fresh", s.Freshness)
	require.NotEmpty(t, s.Swept)
	require.NotEmpty(t, s.SweptAt)
	require.Empty(t, statsOf(t, via, args{"as_of": "v2"}).Freshness)

	file := filepath.Join(folderOf(dir), "a.md")
	require.NoError(t, os.WriteFile(file, []byte("mine\n"), 0o600))
	refused(t, fault.Conflict, via, "raven_add", args{"to": "a", "text": "x"})
	s = statsOf(t, via, nil)
	require.Equal(t, "pending", s.Freshness)
	require.Equal(t, []string{"a.md"}, s.Pending)
	require.Empty(t, s.Edited)

	must(t, via, "raven_reindex", nil)
	s = statsOf(t, via, nil)
	require.Equal(t, "stale", s.Freshness)
	require.Equal(t, []string{"a.md"}, s.Edited)
	require.Empty(t, s.Pending)

	require.NoError(t, os.Remove(file))
	must(t, via, "raven_reindex", nil)
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness)
}

// TestUpdating holds that a reindex is told while it runs, and only then, also if it fails.
func TestUpdating(t *testing.T) {
	dir := history(t)
	app := open(t, dir)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				done <- nil
				return
			default:
				_, err = call(t.Context(), via, "raven_reindex", args{"full": true})
			}
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return statsOf(t, via, nil).Freshness == "updating" },
		time.Minute, time.Microsecond)
	close(stop)
	require.NoError(t, <-done)
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness)

	require.NoError(t, os.Remove(payloads(t, dir)[0]))
	refused(t, fault.IndexError, via, "raven_reindex", args{"full": true})
	require.Equal(t, "fresh", statsOf(t, via, nil).Freshness, "a lease is given back")
}
