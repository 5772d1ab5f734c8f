package localapp

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/config"
)

func TestHeapBounds(t *testing.T) {
	for _, c := range []struct {
		what      string
		cfg       Config
		available int64
		limit     int64
	}{
		{"nothing is known", Config{}, 0, math.MaxInt64},
		{"the machine is known", Config{}, 10 << 30, 9 << 30},
		{"so is what vaults may take", Config{Server: config.Config{Memory: 1 << 30}, CacheBytes: 128 << 20}, 10 << 30,
			1280 << 20 / 2 * 3},
		{"that is more than there is", Config{Server: config.Config{Memory: 9 << 30}}, 10 << 30, 9 << 30},
		{"a folder has no such bound", Config{Folder: "/f", Server: config.Config{Memory: 1 << 20}}, 10 << 30, 9 << 30},
	} {
		_, limit := heapBounds(c.cfg, c.available)
		require.Equal(t, c.limit, limit, c.what)
	}
}

// TestTheEnvironmentBoundsTheHeap holds that GOGC and GOMEMLIMIT go before what the server would choose.
func TestTheEnvironmentBoundsTheHeap(t *testing.T) {
	growth, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(growth)
		debug.SetMemoryLimit(limit)
	})
	cfg := Config{Server: config.Config{Memory: 64 << 20}}
	said := map[string]string{"GOGC": "70", "GOMEMLIMIT": "1GiB"}
	BoundHeap(cfg, func(name string) string { return said[name] })
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, 100, debug.SetGCPercent(100))
	BoundHeap(cfg, func(string) string { return "" })
	require.Equal(t, heapGrowth, debug.SetGCPercent(100))
	require.Less(t, debug.SetMemoryLimit(-1), int64(math.MaxInt64))
}
