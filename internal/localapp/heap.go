package localapp

import (
	"cmp"
	"math"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap grows over what is in use before garbage is collected. Go's
// own 100 has a server resident with more than twice what it holds.
const heapGrowth = 50

// heapRoom is what a server needs beside vaults and caches: for calls that are under way, and itself.
const heapRoom = 128 << 20

// BoundHeap makes the collector of this process keep the heap small: for a process that does nothing but
// serve. What the environment says (GOGC, GOMEMLIMIT) stays as it is.
func BoundHeap(cfg Config, env func(string) string) {
	growth, limit := heapBounds(cfg, available())
	if env("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
	if env("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// heapBounds are by how many percent the heap may grow between two collections, and a soft limit of its
// bytes: half more than vaults, caches and calls take, and nine tenths of what there is. The limit is
// beyond all numbers where neither is known.
func heapBounds(cfg Config, available int64) (growth int, limit int64) {
	limit = math.MaxInt64
	if available > 0 {
		limit = available / 10 * 9
	}
	if vaults := int64(cfg.Server.Memory); vaults > 0 && cfg.Folder == "" {
		caches := cmp.Or(cfg.CacheBytes, DefaultCacheBytes)
		limit = min(limit, (vaults+caches+heapRoom)/2*3)
	}
	return heapGrowth, limit
}
