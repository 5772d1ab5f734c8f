package checkout_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/watch"
)

// A fewWatches is a watch of a system that allows no more watches.
type fewWatches struct{ blob.Watch }

func (fewWatches) Unwatched() (folders []string, some bool) { return []string{"deep", "deep/er"}, true }

// TestNotEnoughWatches checks that freshness is stale with the reason if the system allows no more
// watches.
func TestNotEnoughWatches(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.save(t, "deep/c.md", "one\n")
	s.serve(t, checkout.Options{Watch: func(enter func(string) bool) (blob.Watch, error) {
		tree, err := new(watch.Hub).Open(s.dir, enter)
		return fewWatches{tree}, err
	}}.Hurried(10))
	require.Eventually(t, func() bool { return s.control(t).Unwatched == repo.UnwatchedLimit }, waitLong, waitStep)
	c := s.control(t)
	require.Equal(t, repo.Stale, c.Freshness(time.Now()))
	require.Contains(t, c.Unwatched.Remedy(), "max_user_watches")
	s.save(t, "deep/c.md", "two\n")
	require.Eventually(t, func() bool { return s.inLog(t)["deep/c.md"] == "two\n" }, waitLong, waitStep)
}

// TestFolderThatIsAway checks that freshness and every write report a folder that is missing, and
// that the whole folder is compared when it is back.
func TestFolderThatIsAway(t *testing.T) {
	s := newServed(t, grounds()[0])
	s.save(t, "a.md", "one\n")
	var away atomic.Bool
	s.serve(t, checkout.Options{Away: away.Load}.Hurried(10))
	require.Eventually(t, func() bool { return s.inLog(t)["a.md"] == "one\n" }, waitLong, waitStep)
	_, left := s.folder.Unread("a.md")
	require.False(t, left)
	away.Store(true)
	require.Eventually(t, func() bool { return s.control(t).Unwatched == repo.UnwatchedAway }, waitLong, waitStep)
	require.Equal(t, repo.Stale, s.control(t).Freshness(time.Now()))
	f, left := s.folder.Unread("a.md")
	require.True(t, left)
	require.Equal(t, repo.LeftAway, f.Why)
	s.save(t, "b.md", "new\n")
	away.Store(false)
	require.Eventually(t, func() bool {
		return s.control(t).Unwatched == "" && s.inLog(t)["b.md"] == "new\n"
	}, waitLong, waitStep)
}
