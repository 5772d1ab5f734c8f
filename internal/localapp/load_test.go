package localapp_test

import (
	"net/http"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// The load: so many clients on a hosted server, and the room that it has for calls at once: enough for
// them and for all who only hold on to it, or too little.
const (
	loadClients = 200
	loadRoom    = 1024
	loadCramped = 24
)

// loadTimes returns how long the clients call a server with a sufficient limit, and one with a low
// limit. The times bound the run; the checks do not depend on how many calls are made.
func loadTimes() (wide, cramped time.Duration) {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 110 * time.Second, 10 * time.Second
	}
	return 8 * time.Second, 2 * time.Second
}

// TestLoad checks that a hosted server with all limits serves 200 clients of both protocols and of
// both kinds of tokens, and 300 more connections that send a byte at a time, nothing, or half a
// call. No client gets an error of the server. Acknowledged changes exist once and refused ones do
// not, over stops under load and starts on the same data. Calls in flight are finished. A client
// that exceeds its rate, or calls while too many calls run, is told when to try again, and is
// accepted then. The memory does not grow, and nothing remains at the end.
func TestLoad(t *testing.T) {
	c := newCrowd(t)
	before := runtime.NumGoroutine()
	wide, cramped := loadTimes()

	s := c.open(t, loadRoom)
	c.settle(t, s)
	slow := hold(t, s, c.root())
	end := c.call(t, s)
	c.waitAllAnswered(t)
	heap := sampleHeap(wide)
	c.sees(t, fault.RateLimited, "nobody came to a limit")
	flight := c.begin(t, s)
	s.stop()
	flight.finish(t, c)
	slow.leave()
	s.requireStopped(t)
	end()
	slow.requireGone()
	requireFlat(t, heap)
	require.Zero(t, c.seen.of(fault.Unavailable), "there was room for all")

	s = c.open(t, loadCramped)
	end = c.call(t, s)
	time.Sleep(cramped)
	c.sees(t, fault.Unavailable, "there was room for all")
	s.stop()
	s.requireStopped(t)
	end()
	c.requireKept(t)
	c.requireQuiet(t)
	requireNoMore(t, before)
}

// waitAllAnswered waits until every client was answered once, or was asked to wait: clients then store more
// about the server than the server stores about them, which would disturb the measurement.
func (c *crowd) waitAllAnswered(t *testing.T) {
	t.Helper()
	for _, v := range c.visitors {
		select {
		case <-v.met:
		case <-time.After(2 * time.Minute):
			require.Fail(t, "a client was never answered")
		}
	}
}

// sees waits until a client was refused with a code, however slow the calls are.
func (c *crowd) sees(t *testing.T, code fault.Code, otherwise string) {
	t.Helper()
	require.Eventually(t, func() bool { return c.seen.of(code) > 0 }, 2*time.Minute, time.Millisecond,
		otherwise)
}

// sampleHeap returns the sizes of the live heap at intervals, over a time.
func sampleHeap(long time.Duration) []uint64 {
	const samples = 6
	var all []uint64
	end := time.Now().Add(long)
	for left := samples; left > 0; left-- {
		time.Sleep(time.Until(end) / time.Duration(left))
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		all = append(all, m.HeapAlloc)
	}
	return all
}

// requireFlat requires that the heap of the second half is about that of the first. The capacity of
// the caches and the records of the clients are allowed for.
func requireFlat(t *testing.T, heap []uint64) {
	t.Helper()
	first, second := heap[:len(heap)/2], heap[len(heap)/2:]
	t.Logf("heap in bytes: %d", heap)
	require.LessOrEqual(t, slices.Max(second), slices.Max(first)*3/2+32<<20)
}

// requireNoMore waits until there are no more goroutines than before.
func requireNoMore(t *testing.T, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	const slack = 10 // of the runtime and of the test itself
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if runtime.NumGoroutine() <= before+slack {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.Fail(t, "goroutines are left", "%d, and there were %d\n%s", runtime.NumGoroutine(), before,
		stacks)
}
