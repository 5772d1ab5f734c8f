package checkout_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/checkout"
)

// A reader counts how often each file is read.
type reader struct {
	checkout.Files
	mu    sync.Mutex
	reads map[string]int
}

func (r *reader) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	r.mu.Lock()
	r.reads[key]++
	r.mu.Unlock()
	return r.Files.Get(ctx, key, off, n)
}

// TestFirstReadingReadsEachFileOnce checks that the first reading reads each file once if it has
// not changed for a while, and that a file which cannot be ingested is not read repeatedly.
func TestFirstReadingReadsEachFileOnce(t *testing.T) {
	s := newServed(t, grounds()[0])
	r := &reader{Files: s.disk, reads: map[string]int{}}
	s.files = &files{Files: r}
	want := map[string]string{}
	for i := range 30 {
		path := fmt.Sprintf("n/%02d.md", i)
		want[path] = fmt.Sprintf("# Note %d\n", i)
		s.save(t, path, want[path])
	}
	s.save(t, "odd.md", "\xff\xfe no text\n")
	time.Sleep(2500 * time.Millisecond) // a file that changed less than two seconds ago is read again
	s.serve(t, checkout.Options{}.Hurried(10))
	require.Equal(t, want, s.inLog(t))
	require.Eventually(t, func() bool { return s.control(t).Left != nil }, waitLong, waitStep)
	for range 2 {
		_, err := s.folder.Sweep(t.Context())
		require.NoError(t, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range want {
		require.Equal(t, 1, r.reads[path], path)
	}
	require.Equal(t, 1, r.reads["odd.md"])
}
