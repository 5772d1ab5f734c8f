package markdown_test

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// TestFewLargeNotesAtOnce covers how many notes of each size are parsed at once.
func TestFewLargeNotesAtOnce(t *testing.T) {
	for _, c := range []struct {
		size int
		most int64
	}{{1 << 20, 2}, {128<<10 + 1, 2}, {128 << 10, 16}, {16<<10 + 1, 16}} {
		var all sync.WaitGroup
		var inside, most atomic.Int64
		for range 64 {
			all.Go(func() {
				for range 16 {
					leave := markdown.Enter(c.size)
					now := inside.Add(1)
					for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
					}
					runtime.Gosched()
					inside.Add(-1)
					leave()
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, most.Load(), c.most, "%d bytes", c.size)
	}
}

// TestSmallNotesDoNotWait covers that a small note is parsed while there is no room for another large one, which is
// parsed in the end.
func TestSmallNotesDoNotWait(t *testing.T) {
	large := []byte(strings.Repeat("# h\n", 39_000))
	first, second := markdown.Enter(len(large)), markdown.Enter(len(large))
	done := make(chan int)
	go func() { done <- len(markdown.Parse(large).Headings) }()
	require.Len(t, markdown.Parse([]byte("# a\n")).Headings, 1)
	first()
	second()
	require.Equal(t, 39_000, <-done)
}
