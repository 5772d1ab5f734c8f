package localapp

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/config"
)

func TestHeapLimit(t *testing.T) {
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
		require.Equal(t, c.limit, heapLimit(c.cfg, c.available), c.what)
	}
}

// TestHeapGrowth checks that a heap below the goal is collected as usual, and that a larger one
// grows by a quarter.
func TestHeapGrowth(t *testing.T) {
	tuner := &heapTuner{}
	tuner.goal.Store(300 << 20)
	for live, percent := range map[uint64]int{
		0: 100, 1 << 20: 100, 150 << 20: 100, 170 << 20: 70, 200 << 20: 50, 300 << 20: 25, 10 << 30: 25,
	} {
		require.Equal(t, percent, tuner.growth(live), "%d bytes", live)
	}
}

// TestHeapMayKeep checks that the process returns memory that its heap does not need again.
func TestHeapMayKeep(t *testing.T) {
	tuner := &heapTuner{most: 1 << 30}
	tuner.goal.Store(256 << 20)
	for live, limit := range map[uint64]int64{
		0: 320 << 20, 128 << 20: 320 << 20, 200 << 20: 320 << 20, 300 << 20: 448 << 20, 4 << 30: 1 << 30,
	} {
		require.Equal(t, limit, tuner.limitOf(live), "%d bytes", live)
		if live < 1<<30 {
			grown := live + live*uint64(tuner.growth(live))/100
			require.Greater(t, uint64(limit), grown, "it begins no collection")
		}
	}
}

// TestHeapIsTuned checks that the growth follows the memory in use from one collection to the next.
func TestHeapIsTuned(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	debug.SetGCPercent(before)
	growth := func() uint64 {
		runtime.GC()
		return runtimeMetric("/gc/gogc:percent")
	}
	for _, c := range []struct{ goal, percent uint64 }{{64 << 20, minGrowth}, {1 << 40, maxGrowth}} {
		held := make([]byte, 64<<20)
		tuner := &heapTuner{}
		tuner.goal.Store(c.goal)
		tuner.tune()
		require.Eventually(t, func() bool { return growth() == c.percent }, time.Minute, time.Millisecond)
		runtime.KeepAlive(held)
		tuner.stopped.Store(true)
	}
}

// TestMemoryIsGivenBackAtRest checks that a process which was busy returns unused memory when it is
// at rest.
func TestMemoryIsGivenBackAtRest(t *testing.T) {
	tick, done := make(chan time.Time), make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&heapTuner{}).giveBackAtRest(tick, done, allocated)
	}()
	free := func() uint64 { return runtimeMetric("/memory/classes/heap/free:bytes") }
	for range 2 {
		const room = 256 << 20
		busy := make([]byte, room)
		tick <- time.Now()
		runtime.KeepAlive(busy)
		tick <- time.Now() // at rest: this one gives back
		tick <- time.Now() // taken once that is done
		require.Less(t, free(), uint64(room/2))
	}
	close(done)
	<-ended
}

// TestMemoryIsGivenBackAgain checks that a process at rest returns memory once, and again when little
// allocations have added up.
func TestMemoryIsGivenBackAgain(t *testing.T) {
	tick, done, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
	collections := func() uint64 { return runtimeMetric("/gc/cycles/forced:gc-cycles") }
	begun, all := collections(), uint64(0)
	go func() {
		defer close(ended)
		(&heapTuner{}).giveBackAtRest(tick, done, func() uint64 {
			all += restBytes * 3 / 4
			return all
		})
	}()
	for range 7 { // the first, the fourth and the seventh return memory
		tick <- time.Now()
	}
	close(done)
	<-ended
	require.Equal(t, begun+3, collections())
}

// TestAFolderStartsWithASmallHeap covers that the goal is lower until a server of a folder is at rest, or has been
// busy for some time.
func TestAFolderStartsWithASmallHeap(t *testing.T) {
	require.Equal(t, uint64(heapGoal), newHeapTuner(Config{Data: "/d"}).goal.Load())
	for _, c := range []struct {
		what  string
		each  uint64 // bytes that are allocated from one look to the next
		ticks int
	}{{"at rest at the second tick", 0, 2}, {"busy all the time", restBytes, startTicks}} {
		tuner, all := newHeapTuner(Config{Folder: "/f"}), uint64(restBytes)
		tick, done, ended := make(chan time.Time), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			tuner.giveBackAtRest(tick, done, func() uint64 {
				all += c.each
				return all
			})
		}()
		for range c.ticks {
			require.Equal(t, uint64(startGoal), tuner.goal.Load(), c.what)
			tick <- time.Now()
		}
		close(done)
		<-ended
		require.Equal(t, uint64(heapGoal), tuner.goal.Load(), c.what)
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
	BoundHeap(cfg, func(name string) string { return said[name] })()
	require.Equal(t, limit, debug.SetMemoryLimit(-1))
	require.Equal(t, 100, debug.SetGCPercent(70))
	BoundHeap(cfg, func(string) string { return "" })()
	require.NotEqual(t, 70, debug.SetGCPercent(100))
	require.Less(t, debug.SetMemoryLimit(-1), int64(math.MaxInt64))
}
