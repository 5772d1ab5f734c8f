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

// The heap grows by maxGrowth to minGrowth percent of the live heap before garbage is collected: by
// maxGrowth, the default of Go, up to a heap of heapGoal bytes, and by less above it. So a small
// server collects no more often than other Go programs, and the resident memory of a server with
// large vaults is not twice its live heap.
const (
	maxGrowth = 100
	minGrowth = 25
	heapGoal  = 192 << 20
)

// startGoal replaces heapGoal in a server of a folder until it is at rest for the first time, but
// for startTicks intervals of restEvery at most. The first reading of a large folder allocates much
// more than the server needs later.
const (
	startGoal  = 128 << 20
	startTicks = 6
)

// heapRoom is the number of bytes that a server needs beside vaults and caches, for its calls and
// for itself.
const heapRoom = 128 << 20

// BoundHeap tunes the garbage collector so that the heap of this process stays small. It is for a
// process that only serves. The environment variables GOGC and GOMEMLIMIT take precedence. The
// growth of the heap is tuned until stop is called; the limits that were set stay. stop may be
// called more than once.
//
// A Go program uses up to twice its live heap, and keeps memory that it has used once. For a server
// with large vaults that is most of the memory of a small machine. So the growth is smaller for
// larger heaps, which costs some processor time, and free memory is returned to the system when the
// server is at rest.
func BoundHeap(cfg Config, env func(string) string) (stop func()) {
	t := newHeapTuner(cfg)
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
		t.giveBackAtRest(tick.C, done, allocated)
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

// giveBackAtRest collects garbage and returns free memory to the system once after each busy
// period, until done is closed, and again when the process has allocated twice restBytes at rest.
// Otherwise a server would stay as large as its highest load made it. The start counts as a busy
// period.
//
// The server has started at the first rest, or after startTicks ticks. allocated returns how many
// bytes the process has allocated.
func (t *heapTuner) giveBackAtRest(
	tick <-chan time.Time, done <-chan struct{}, allocated func() uint64,
) {
	before, busy := uint64(0), true // what was allocated before the first tick counts too
	given := uint64(0)              // what was allocated when memory was returned last
	for n := 1; ; n++ {
		select {
		case <-done:
			return
		case <-tick:
		}
		now := allocated()
		rests := now-before < restBytes
		if rests || n == startTicks {
			t.goal.Store(heapGoal)
		}
		switch {
		case !rests:
			busy = true
		case busy || now-given >= 2*restBytes:
			debug.FreeOSMemory()
			busy, given = false, now
		}
		before = now
	}
}

// allocated returns how many bytes the process has allocated since it started.
func allocated() uint64 { return runtimeMetric("/gc/heap/allocs:bytes") }

// runtimeMetric returns the value of an unsigned metric of package runtime/metrics. It panics for a
// name that does not exist or has another type.
func runtimeMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// heapLimit returns a soft limit of the heap in bytes: the smaller of 1.5 times the memory for
// vaults, caches and calls, and nine tenths of the available memory. It is math.MaxInt64 if neither
// is known. The limit is soft: the runtime collects more often near it, and exceeds it if it must.
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

// A heapTuner sets, after each collection, the growth of the heap and the memory limit of the
// process from the size of the live heap. It runs in the goroutine of cleanups, one call at a time,
// so only stopped is shared.
type heapTuner struct {
	goal    atomic.Uint64 // bytes; see heapGoal
	most    int64         // the soft limit of the process in bytes; 0: GOMEMLIMIT sets it
	now     int           // percent
	limit   int64         // bytes
	stopped atomic.Bool
}

// newHeapTuner returns a heapTuner for a server with a configuration.
func newHeapTuner(cfg Config) *heapTuner {
	t := &heapTuner{}
	t.goal.Store(heapGoal)
	if cfg.Folder != "" {
		t.goal.Store(startGoal)
	}
	return t
}

// A cycle is garbage as soon as it is allocated, so its cleanup runs after the next collection.
type cycle struct{ _ *byte }

// tune sets growth and limit from the live heap, and arranges its next call after the next
// collection. The runtime has no call at the end of a collection, so tune allocates an object that
// is garbage at once, with a cleanup.
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

// limitOf returns a soft limit of the memory of the process, in bytes, while live bytes are in use:
// the size that the heap grows to and an eighth more, but at most t.most. It is not meant to start
// a collection: it makes the runtime return the memory of an earlier, larger heap. It is a multiple
// of 64 MiB below t.most, because setting it stops the process for a moment.
func (t *heapTuner) limitOf(live uint64) int64 {
	const step = 64 << 20
	grown := max(t.goal.Load(), live+live*uint64(t.growth(live))/100) //nolint:gosec // a growth is positive
	limit := (grown+grown/8)/step*step + step
	return int64(min(limit, uint64(t.most))) //nolint:gosec // both are positive
}

// growth returns the growth of a heap with live bytes in use, in percent. It is a multiple of ten
// between the bounds, because setting it stops the process for a moment.
func (t *heapTuner) growth(live uint64) int {
	goal := t.goal.Load()
	percent := (goal - min(live, goal)) * 10 / max(1, live) * 10
	return int(min(maxGrowth, max(minGrowth, percent))) //nolint:gosec // it is at most maxGrowth
}
