package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWatchSeesWhatIsOnTheHeap(t *testing.T) {
	const size = 64 << 20
	before := heap()
	w := watchHeap()
	made := make([]byte, size)
	most := w.end()
	runtime.KeepAlive(made)
	const freed = 1 << 20 // by other goroutines meanwhile, at most
	require.GreaterOrEqual(t, most-before, int64(size-freed))
	require.Less(t, heap()-before, int64(size), "garbage is not counted as held")
}
