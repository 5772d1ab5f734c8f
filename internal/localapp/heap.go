package localapp

import (
	"cmp"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// How many percent the heap grows over what is in use before garbage is collected: maxGrowth, as Go's own, up to a
// heap of heapGoal bytes, and less above it, but minGrowth at least. So a usual server collects no more often than
// a Go program does, and one with large vaults is not resident with twice what it holds.
const (
	maxGrowth = 100
	minGrowth = 25
	heapGoal  = 256 << 20
)

// heapRoom is what a server needs beside vaults and caches: for calls that are under way, and itself.
const heapRoom = 128 << 20

// BoundHeap makes the collector of this process keep the heap small: for a process that does nothing but
// serve. What the environment says (GOGC, GOMEMLIMIT) stays as it is. The heap is tuned until stop is called.
func BoundHeap(cfg Config, env func(string) string) (stop func()) {
	t := &heapTuner{goal: heapGoal}
	if env("GOMEMLIMIT") == "" {
		t.most = heapLimit(cfg, available())
		debug.SetMemoryLimit(t.most)
	}
	if env("GOGC") != "" {
		return func() {}
	}
	t.tune()
	done := make(chan struct{})
	tick := time.NewTicker(restEvery)
	go func() {
		defer tick.Stop()
		giveBackAtRest(tick.C, done)
	}()
	return sync.OnceFunc(func() {
		t.stopped.Store(true)
		close(done)
	})
}

// A process that allocates less than restBytes within restEvery is at rest.
const (
	restEvery = 10 * time.Second
	restBytes = 16 << 20
)

// giveBackAtRest collects garbage and gives free memory back to the system when the process came to rest: once after
// each time that it was busy. Without it a server stays as large as its last load made it.
func giveBackAtRest(tick <-chan time.Time, done <-chan struct{}) {
	before, busy := allocated(), true
	for {
		select {
		case <-done:
			return
		case <-tick:
		}
		now := allocated()
		switch rests := now-before < restBytes; {
		case !rests:
			busy = true
		case busy:
			debug.FreeOSMemory()
			busy = false
		}
		before = allocated()
	}
}

// allocated is how many bytes the process has ever allocated.
func allocated() uint64 { return runtimeMetric("/gc/heap/allocs:bytes") }

func runtimeMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// heapLimit is a soft limit of the heap, in bytes: half more than vaults, caches and calls take, and nine tenths
// of the memory that is available. It is beyond all numbers where neither is known.
func heapLimit(cfg Config, available int64) int64 {
	limit := int64(math.MaxInt64)
	if available > 0 {
		limit = available / 10 * 9
	}
	if vaults := int64(cfg.Server.Memory); vaults > 0 && cfg.Folder == "" {
		caches := cmp.Or(cfg.CacheBytes, DefaultCacheBytes)
		limit = min(limit, (vaults+caches+heapRoom)/2*3)
	}
	return limit
}

// A heapTuner sets the growth of the heap after each collection, by what is in use then, and how much memory the
// process may keep of what it does not use.
type heapTuner struct {
	goal    uint64 // bytes; see heapGoal
	most    int64  // the soft limit of the process; 0: it is not ours to set
	now     int    // percent
	limit   int64  // bytes
	stopped atomic.Bool
}

// A cycle becomes garbage at once, so its cleanup runs after the next collection.
type cycle struct{ _ *byte }

// tune sets growth and limit by what is in use now, and again after the next collection.
func (t *heapTuner) tune() {
	if t.stopped.Load() {
		return
	}
	live := runtimeMetric("/gc/heap/live:bytes")
	if growth := t.growth(live); growth != t.now {
		t.now = growth
		debug.SetGCPercent(growth)
	}
	if limit := t.limitOf(live); t.most > 0 && limit != t.limit {
		t.limit = limit
		debug.SetMemoryLimit(limit)
	}
	runtime.AddCleanup(new(cycle), (*heapTuner).tune, t)
}

// limitOf is a soft limit of the memory of the process while so many bytes are in use: what the heap grows to and an
// eighth of that, but never more than the limit of the process. It is not what begins a collection: it makes the
// runtime give back what a larger heap left behind. It comes in steps of 64 MiB, for to set it stops the process
// for a moment.
func (t *heapTuner) limitOf(live uint64) int64 {
	const step = 64 << 20
	grown := max(t.goal, live+live*uint64(t.growth(live))/100) //nolint:gosec // a growth is positive
	limit := (grown+grown/8)/step*step + step
	return int64(min(limit, uint64(t.most))) //nolint:gosec // both are positive
}

// growth returns by how many percent a heap may grow of which so many bytes are in use, in tens: to set it stops
// the process for a moment.
func (t *heapTuner) growth(live uint64) int {
	percent := (t.goal - min(live, t.goal)) * 10 / max(1, live) * 10
	return int(min(maxGrowth, max(minGrowth, percent))) //nolint:gosec // it is at most maxGrowth
}
