package search_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/search"
)

// TestSearchesAreBounded holds that of many searches at once a bounded number runs, that the others are answered too,
// and that one whose caller is gone while it waits ends with the error of that.
func TestSearchesAreBounded(t *testing.T) {
	v := vault{}
	for i := range 20 {
		v[fmt.Sprintf("n%02d.md", i)] = "the keeper of a harbour light\n"
	}
	most := int32(max(8, 2*runtime.GOMAXPROCS(0)))
	synctest.Test(t, func(t *testing.T) {
		x := v.index("english")
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var running, highest, ended atomic.Int32
		open := make(chan struct{})
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				first := true
				o := search.Options{Text: func(path string) ([]byte, error) {
					if first { // of this search
						first = false
						highest.Store(max(highest.Load(), running.Add(1)))
						<-open
						running.Add(-1)
					}
					return v.text(path)
				}}
				if i%2 == 1 {
					o.Canceled = func() error { return context.Cause(ctx) }
				}
				switch r, err := x.Search(search.ParseQuery(`"harbour light"`), o); {
				case err != nil:
					require.ErrorIs(t, err, gone)
					ended.Add(1)
				default:
					require.Equal(t, 20, r.Total)
				}
			})
		}
		synctest.Wait()
		require.Equal(t, most, running.Load(), "all turns are taken, and no more")
		cancel(gone)
		close(open)
		all.Wait()
		require.LessOrEqual(t, highest.Load(), most)
		require.Positive(t, ended.Load())
	})
}
