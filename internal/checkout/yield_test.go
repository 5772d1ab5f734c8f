package checkout_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
)

// times returns how often a file was read.
func (r *reader) times(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads[key]
}

// TestHintsWaitForAWrite checks that a change which the watcher reports is not examined while a call
// writes, that it is not postponed for longer than a second, and that it is then ingested.
func TestHintsWaitForAWrite(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.save(t, "a.md", "# A\n")
	r := &reader{Files: s.disk, reads: map[string]int{}}
	s.files = &files{Files: r}
	s.serve(t, s.watched().Hurried(1))
	require.Equal(t, "# A\n", s.inLog(t)["a.md"])

	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		_, err := s.vault.Update(context.Background(), eventlog.Call{Tool: "test"},
			func(context.Context, *repo.Tx) (any, error) {
				close(begun)
				<-end
				return nil, nil
			})
		done <- err
	}()
	<-begun
	before, saved := r.times("a.md"), time.Now()
	s.save(t, "a.md", "# B\n")
	require.Eventually(t, func() bool { return r.times("a.md") > before }, waitLong, waitStep,
		"it is postponed for too long")
	require.GreaterOrEqual(t, time.Since(saved), time.Second, "it was not postponed")
	close(end)
	require.NoError(t, <-done)
	require.Eventually(t, func() bool { return s.inLog(t)["a.md"] == "# B\n" }, waitLong, waitStep)
}
