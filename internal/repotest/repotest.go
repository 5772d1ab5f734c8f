// Package repotest is what a log must hold on every engine: that each call has exactly one effect
// whatever the table and the bucket do, that several processes over one table lose nothing and see
// no time go back, that a key works once, and that calls cost what they may (DESIGN §8, §9).
//
// ROOKERY_SOAK=1 makes the budgets of the random cases larger. A random case logs its seed, and has
// it again with ROOKERY_SEED.
package repotest

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// An Engine is where logs are kept.
type Engine struct {
	Table  table.Table
	Bucket blob.Bucket
	Items  bool // small images are items of Table; see eventlog.Options
}

// A testCase is one thing that must hold.
type testCase struct {
	name string
	run  func(*testing.T, Engine)
}

// cases are all of them. Faults of the first are put at every stride-th call, unless the tests soak.
func cases(stride int) []testCase {
	return []testCase{
		{"exactly one effect", func(t *testing.T, e Engine) { exactlyOneEffect(t, e, stride) }},
		{"exactly one effect while folding", oneEffectFolding},
		{"contention", contention},
		{"contention of vaults", crowds},
		{"idempotency", idempotency},
		{"requests", requests},
		{"control item", control},
		{"one state", oneState},
		{"nothing crosses or returns", crossings},
	}
}

// remoteCases are those that RunRemote runs. The others make many thousand calls.
var remoteCases = []string{
	"exactly one effect", "contention", "contention of vaults", "idempotency", "requests", "control item",
	"one state",
}

// Run runs the suite on an engine. open is called once for each case and returns an empty engine;
// what has to be closed is closed with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) Engine) {
	for _, c := range cases(3) {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// RunFolding runs the cases in which images are made, lost and erased, on an engine; see Run.
func RunFolding(t *testing.T, open func(t *testing.T) Engine) {
	folding := []string{"exactly one effect while folding", "requests", "one state", "nothing crosses or returns"}
	for _, c := range cases(3) {
		if slices.Contains(folding, c.name) {
			t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
		}
	}
}

// RunRemote is Run on an engine whose calls take milliseconds each. Unless the tests soak, it leaves out the cases
// with the most calls, and puts faults at a few calls only.
func RunRemote(t *testing.T, open func(t *testing.T) Engine) {
	for _, c := range cases(12) {
		if soaking() || slices.Contains(remoteCases, c.name) {
			t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
		}
	}
}

// A Clock stands still until it is told to move. It is safe for concurrent use.
type Clock struct{ nanos atomic.Int64 }

// NewClock is a clock at a time of its own.
func NewClock() *Clock {
	c := &Clock{}
	c.nanos.Store(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC).UnixNano())
	return c
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanos.Load()) }

// Move moves the clock, also back.
func (c *Clock) Move(d time.Duration) { c.nanos.Add(int64(d)) }

// A place is a partition of an engine with faults in front of it, and the clock of who uses it.
type place struct {
	Engine
	flaky  *tabletest.Flaky
	bucket *flakyBucket
	clock  *Clock
}

// newPlace takes a part of the engine that nobody else uses.
func newPlace(e Engine, name string, plan func(tabletest.Call) tabletest.Fault) *place {
	name = strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' || r == ',' {
			return '-'
		}
		return r
	}, name)
	clock := NewClock()
	e = Engine{table.Sub(e.Table, name), &timedBucket{
		Bucket: blob.Sub(e.Bucket, name), now: clock.Now, dates: map[string]time.Time{},
	}, e.Items}
	return &place{e, tabletest.NewFlaky(e.Table, plan), &flakyBucket{Bucket: e.Bucket}, clock}
}

// flakyEngine is the engine with the faults.
func (p *place) flakyEngine() Engine { return Engine{p.flaky, p.bucket, p.Items} }

// log opens the log of the place, as a process of its own would.
func (p *place) log(t *testing.T, e Engine) *eventlog.Log[*State] {
	t.Helper()
	l, err := eventlog.New(LogOptions(e, p.clock.Now), &State{})
	require.NoError(t, err)
	return l
}

// newLog makes the log of a place and opens it.
func (p *place) newLog(t *testing.T) *eventlog.Log[*State] {
	t.Helper()
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	return p.log(t, p.flakyEngine())
}

// soaking reports whether the tests may take their time.
func soaking() bool { return os.Getenv("ROOKERY_SOAK") != "" }

// seeded is a source of chance that can be had again by its seed, which it logs.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(newSeed(t), 0))
}

// Seed is a new seed, or the one that ROOKERY_SEED names. It is logged.
func Seed(t testing.TB) uint64 { return newSeed(t) }

func newSeed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if named := os.Getenv("ROOKERY_SEED"); named != "" {
		var err error
		seed, err = strconv.ParseUint(named, 10, 64)
		require.NoError(t, err, "ROOKERY_SEED is a number")
	}
	t.Logf("ROOKERY_SEED=%d", seed)
	return seed
}

// noise is text that does not get smaller when it is packed.
func noise(n int, seed uint64) string {
	r, b := rand.New(rand.NewPCG(seed, 1)), make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + r.IntN(95))
	}
	return string(b)
}

// together runs n functions at once and waits for all.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}
