package checkout_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
)

// times returns how often a file was read.
func (r *reader) times(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads[key]
}

// beginCall begins a call that writes, and returns when it runs. end ends the call.
func (s *served) beginCall(t *testing.T) (end func()) {
	t.Helper()
	begun, ends, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.vault.Update(context.Background(), eventlog.Call{Tool: "test"},
			func(context.Context, *repo.Tx) (any, error) {
				close(begun)
				<-ends
				return nil, nil
			})
		done <- err
	}()
	<-begun
	return func() {
		t.Helper()
		close(ends)
		require.NoError(t, <-done)
	}
}

// isSynced reports whether a file was synced.
func (f *files) isSynced(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.synced, key)
}

// TestSyncsWaitForAWrite checks that files are not synced while a call writes, that they are when it
// has waited for a while, and at once when a save is called for.
func TestSyncsWaitForAWrite(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.serve(t, s.watched().Hurried(10))
	s.write(t, "a.md", "# A\n")
	begun, end := time.Now(), s.beginCall(t)
	if !s.files.isSynced("a.md") { // the call began before the next save
		require.Eventually(t, func() bool { return s.files.isSynced("a.md") }, waitLong, waitStep)
		require.GreaterOrEqual(t, time.Since(begun), 500*time.Millisecond, "it did not wait")
	}
	end()

	s.folder.Close()
	require.NoError(t, s.disk.Close())
	s.mount(t)
	s.serve(t, checkout.Options{}.Slowed(1000))
	s.write(t, "b.md", "# B\n")
	end = s.beginCall(t)
	s.folder.Save(t.Context())
	require.True(t, s.files.isSynced("b.md"), "a save that is called for does not wait")
	end()
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

	end := s.beginCall(t)
	before, saved := r.times("a.md"), time.Now()
	s.save(t, "a.md", "# B\n")
	require.Eventually(t, func() bool { return r.times("a.md") > before }, waitLong, waitStep,
		"it is postponed for too long")
	require.GreaterOrEqual(t, time.Since(saved), time.Second, "it was not postponed")
	end()
	require.Eventually(t, func() bool { return s.inLog(t)["a.md"] == "# B\n" }, waitLong, waitStep)
}
