package localapp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// TestBackupUnderLoad makes backups of a server while many clients write, erase and delete. Each
// backup is restored and examined: it has every change that was acknowledged before it began, and
// its vaults can be written.
func TestBackupUnderLoad(t *testing.T) {
	app, dir := openVault(t)
	l, err := localapp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, l, "test") }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
		require.NoError(t, app.Close())
	})
	via := local{app}
	const writers = 8
	var answered [writers]atomic.Int64
	var done atomic.Bool
	var clients sync.WaitGroup
	for w := range writers {
		put(t, via, map[string]string{fmt.Sprintf("w%d.md", w): "# Notes\n"})
		clients.Go(func() {
			for i := int64(1); !done.Load(); i++ {
				must(t, via, "raven_add", args{"to": fmt.Sprintf("w%d", w), "text": fmt.Sprintf("line %d of %d", i, w)})
				answered[w].Store(i)
				switch i % 16 {
				case 3:
					put(t, via, map[string]string{fmt.Sprintf("s%d/n%d.md", w, i): strings.Repeat("secret ", 50)})
				case 9:
					must(t, via, "raven_delete", args{"id": fmt.Sprintf("s%d/n%d", w, i-6), "erase": w%2 == 0, "force": true})
				case 12:
					must(t, via, "memory_store", args{
						"agent_id": fmt.Sprint("agent-", w), "intent": args{"goal": fmt.Sprint("work ", i), "task_type": "other"},
						"outcome": args{"success": true, "summary": "done"},
					})
				}
			}
		})
	}
	for round := range 3 {
		before := [writers]int64{}
		for w := range writers {
			before[w] = answered[w].Load()
		}
		file := filepath.Join(t.TempDir(), "backup.tar.zst")
		m, err := localapp.CreateBackup(t.Context(), localapp.Config{Data: dir}, file)
		require.NoError(t, err)
		restored := filepath.Join(t.TempDir(), "data")
		got, found, err := localapp.RestoreBackup(t.Context(), file, restored)
		require.NoError(t, err)
		require.Equal(t, m, got)
		for _, f := range found {
			require.NotEqual(t, doctor.LevelError, f.Level, "%s: %s", f.Check, f.Message)
		}
		holdsLines(t, restored, round, before[:])
	}
	done.Store(true)
	clients.Wait()
}

// holdsLines requires that a restored directory has so many lines of each writer, and perhaps one
// more, and that it can be written.
func holdsLines(t *testing.T, dir string, round int, least []int64) {
	t.Helper()
	app := open(t, dir)
	defer func() { require.NoError(t, app.Close()) }()
	via := local{app}
	for w, n := range least {
		text := string(must(t, via, "raven_read", args{"id": fmt.Sprintf("w%d", w)}).Data)
		require.Contains(t, text, "# Notes")
		if n > 0 {
			require.Contains(t, text, fmt.Sprintf("line %d of %d", n, w), "round %d", round)
		}
	}
	must(t, via, "raven_add", args{"to": "w0", "text": "after the restore"})
	require.Eventually(t, func() bool { // an erasure that was under way is completed first
		_, err := via.Invoke(t.Context(), "team_audit_verify", json.RawMessage(`{"vault":"v"}`))
		return err == nil
	}, 30*time.Second, 100*time.Millisecond, "the history verifies")
}

// TestOperator checks which callers may request a backup from a server, and the errors.
func TestOperator(t *testing.T) {
	app, dir := openVault(t)
	l, err := localapp.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- app.Serve(ctx, l, "test") }()
	var busy *localapp.InUse
	require.Eventually(t, func() bool {
		_, err := localapp.Open(t.Context(), localapp.Config{Data: dir})
		return errors.As(err, &busy) && busy.Operator != nil
	}, 20*time.Second, 10*time.Millisecond)
	for _, key := range []string{"", "Bearer ", "Bearer " + strings.ToLower(busy.Operator.Key), busy.Operator.Key} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, busy.Operator.URL+"/backup", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", key)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
	file := filepath.Join(t.TempDir(), "b")
	_, err = localapp.CreateBackup(t.Context(), localapp.Config{Data: dir}, file)
	require.NoError(t, err)
	_, err = localapp.CreateBackup(t.Context(), localapp.Config{Data: dir}, file)
	require.Equal(t, fault.Conflict, fault.Of(err).Code)
	_, err = localapp.CreateBackup(t.Context(), localapp.Config{Data: dir}, filepath.Join(file, "b"))
	require.Equal(t, fault.FileError, fault.Of(err).Code)
	stop()
	require.NoError(t, <-served)
	require.NoError(t, app.Close())
	_, err = localapp.CreateBackup(t.Context(), localapp.Config{Data: dir}, file+"2")
	require.NoError(t, err, "without a server")

	_, _, err = localapp.RestoreBackup(t.Context(), file, dir)
	require.Equal(t, fault.Conflict, fault.Of(err).Code)
	_, err = localapp.VerifyBackup(t.Context(), file+"3")
	require.Equal(t, fault.NotFound, fault.Of(err).Code)
}
