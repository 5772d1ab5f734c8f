package limit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// TestEightInstances checks that eight instances together allow as many calls as one: never more
// than the bucket, what it gained, and a lease for each instance; and no less than that without the
// lost leases.
func TestEightInstances(t *testing.T) {
	const instances, minutes = 8, 5
	b := newBed(t)
	var all []*instance
	for range instances {
		all = append(all, b.instance(0))
	}
	total, window := 0, 0
	for second := range minutes * 60 {
		if second%60 == 0 && second > 0 {
			require.LessOrEqual(t, window, 60*(limit.Burst+1)+instances*limit.LeaseSize)
			window = 0
		}
		for n := range 16 {
			if all[(n+second)%instances].call(t.Context(), write, ann("a")) == nil {
				total++
				window++
			}
		}
		b.clock.on(time.Second)
	}
	require.LessOrEqual(t, total, 120+60*minutes)
	require.GreaterOrEqual(t, total, 120+60*minutes-instances*limit.LeaseSize)
}

// TestRace checks the same for concurrent calls on several instances: exactly the calls in the
// bucket are allowed.
func TestRace(t *testing.T) {
	b := newBed(t)
	var through atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		i := b.instance(0)
		for n := range 32 {
			all.Go(func() {
				for range 10 {
					err := i.call(t.Context(), write, ann(agentName(n%2)))
					if err == nil {
						through.Add(1)
					} else if !fault.Is(err, fault.RateLimited) {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	require.LessOrEqual(t, through.Load(), int64(240))
	require.GreaterOrEqual(t, through.Load(), int64(240-2*8*limit.LeaseSize))
}

// TestCrowd checks that one write serves all waiting calls.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		i := b.instance(0)
		hold := make(chan struct{})
		b.plan = func(c tabletest.Call) tabletest.Fault {
			if c.N == 2 { // the first write, after a read
				<-hold
			}
			return tabletest.None
		}
		var all sync.WaitGroup
		for n := range 200 {
			all.Go(func() {
				if err := i.call(t.Context(), write, ann(fmt.Sprint(n/2))); err != nil {
					t.Error(err)
				}
			})
			if n == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		close(hold)
		all.Wait()
		require.Equal(t, 2, b.table.Counts().Commits)
		for range 8 {
			require.NoError(t, i.call(t.Context(), write, ann("99")))
		}
		require.Equal(t, 2, b.table.Counts().Commits, "its agent and its principal have calls in hand")
	})
}

// TestGivenUp checks that calls leased for callers that gave up are not kept: an instance has at
// most a full lease.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		i := b.instance(0)
		hold := make(chan struct{})
		b.plan = func(c tabletest.Call) tabletest.Fault {
			if c.N <= 2 {
				<-hold
			}
			return tabletest.None
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = i.call(t.Context(), write, ann("b")) })
		synctest.Wait()
		all.Go(func() { _ = i.call(t.Context(), write, ann("a")) })
		synctest.Wait()
		for range 59 {
			all.Go(func() { _ = i.call(ctx, write, ann("a")) })
		}
		synctest.Wait()
		hold <- struct{}{}
		synctest.Wait() // the first of the sixty writes for all of them
		cancel()
		synctest.Wait()
		close(hold)
		all.Wait()

		rest, refused := b.instance(0).many(t, write, ann("a"), 1000)
		require.NotNil(t, refused)
		require.LessOrEqual(t, rest, 60)
		n, _ := i.many(t, write, ann("a"), 1000)
		require.LessOrEqual(t, n, limit.LeaseSize)
	})
}

// TestLeaseExpires checks that an unused leased call is lost after a minute.
func TestLeaseExpires(t *testing.T) {
	b := newBed(t)
	idle, busy := b.instance(0), b.instance(0)
	require.NoError(t, idle.call(t.Context(), write, ann("a")))
	n, refused := busy.many(t, write, ann("a"), 1000)
	require.NotNil(t, refused)
	require.Equal(t, 110, n)
	b.clock.on(59 * time.Second)
	n, _ = busy.many(t, write, ann("a"), 1000)
	require.Equal(t, 59, n)
	n, _ = idle.many(t, write, ann("a"), 5)
	require.Equal(t, 5, n, "of the nine that it has left")
	b.clock.on(time.Second)
	n, _ = busy.many(t, write, ann("a"), 1000)
	require.Equal(t, 1, n)
	n, _ = idle.many(t, write, ann("a"), 5)
	require.Zero(t, n)
}

// TestClocks checks that different clocks neither block callers nor disable the limit: an instance
// that is ahead gives one additional full bucket, once, and one that is behind follows the item.
func TestClocks(t *testing.T) {
	const day = 24 * time.Hour
	for name, ahead := range map[string][]time.Duration{
		"seconds":        {0, 3 * time.Second, -5 * time.Second},
		"a day ahead":    {0, day},
		"a day behind":   {0, -day},
		"three clocks":   {0, day, 30 * time.Second, -time.Hour},
		"sixty years":    {0, 60 * 365 * day},
		"who comes last": {day, day, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			var all []*instance
			for _, d := range ahead {
				all = append(all, b.instance(d))
			}
			for _, i := range all {
				_, _ = i.many(t, write, ann("a"), 1000)
			}
			total := 0
			for range 120 {
				b.clock.on(time.Second)
				for _, i := range all {
					n, _ := i.many(t, write, ann("a"), 10)
					total += n
				}
			}
			require.InDelta(t, 120, total, 2*limit.LeaseSize)
		})
	}
}

// TestFuture checks that a clock that was a day ahead does not make others wait longer.
func TestFuture(t *testing.T) {
	b := newBed(t)
	_, refused := b.instance(24*time.Hour).many(t, write, ann("a"), 1000)
	require.NotNil(t, refused)
	i := b.instance(0)
	_, refused = i.many(t, write, ann("a"), 1)
	require.Equal(t, time.Second, refused.RetryAfter)
	b.clock.on(time.Second)
	require.NoError(t, i.call(t.Context(), write, ann("a")))
}

// TestClockPutBack checks that a clock that is put back and forward again allows no additional
// calls and blocks no one.
func TestClockPutBack(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	_, _ = i.many(t, write, ann("a"), 1000)
	i.ahead = -time.Hour
	n, refused := i.many(t, write, ann("a"), 10)
	require.Zero(t, n)
	require.Equal(t, time.Second, refused.RetryAfter)
	b.clock.on(5 * time.Second)
	n, _ = i.many(t, write, ann("a"), 10)
	require.Equal(t, 5, n)
}

// TestLeaseAfterClockPutBack checks that a lease is not extended by the time that a clock was put
// back.
func TestLeaseAfterClockPutBack(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	require.NoError(t, i.call(t.Context(), write, ann("a")))
	i.ahead = -time.Hour
	b.clock.on(10 * time.Minute)
	b.table.Reset()
	require.NoError(t, i.call(t.Context(), write, ann("a")))
	require.Equal(t, 1, b.table.Counts().Commits)
}

// TestBound checks that no sequence of calls, waits, new instances and clock changes allows more
// calls than a full bucket, what it gains, and one full bucket for each clock that moves forward
// and each series of calls by an instance whose clock is behind.
func TestBound(t *testing.T) {
	b := newBed(t)
	rounds := 0
	rapid.Check(t, func(t *rapid.T) {
		rounds++
		b.rates = limit.Rates{MutationsPerMinute: rapid.SampledFrom([]int{1, 7, 60, 600}).Draw(t, "rate")}
		s := &sequence{
			bed: b, caller: fmt.Sprint(rounds), begun: b.clock.read(), per: map[string]int{},
		}
		for range rapid.IntRange(1, 4).Draw(t, "instances") {
			s.all = append(s.all, b.instance(0))
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			s.step(t)
		}
	})
}

// A sequence is a series of random events for one principal.
type sequence struct {
	bed    *bed
	caller string
	all    []*instance
	begun  time.Time
	leaps  int // moves of clocks forward, or from clocks that are behind to others
	per    map[string]int
	total  int
}

func (s *sequence) step(t *rapid.T) {
	which := rapid.IntRange(0, len(s.all)-1).Draw(t, "which")
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0:
		s.all[which] = s.bed.instance(s.all[which].ahead)
	case 1:
		d := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "leap"))
		s.all[which].ahead += d
		if d > 0 {
			s.leaps++
		}
	case 2, 3, 4:
		s.bed.clock.on(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "wait")))
	default:
		s.calls(t, s.all[which], rapid.IntRange(1, 50).Draw(t, "calls"))
	}
}

func (s *sequence) calls(t *rapid.T, i *instance, calls int) {
	c := ann(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "agent"))
	c.Principal = s.caller
	if i.ahead < 0 { // where counting begins, the others see its time as long past
		s.leaps++
	}
	for range calls {
		if i.call(context.Background(), write, c) == nil {
			s.per[c.Agent]++
			s.total++
		}
	}
	rate := float64(s.bed.rates.MutationsPerMinute)
	most := rate*limit.Burst*float64(1+s.leaps) + rate*s.bed.clock.read().Sub(s.begun).Minutes()
	if float64(s.per[c.Agent]) > most || float64(s.total) > most*limit.PerPrincipal {
		t.Fatalf("%d calls of an agent, %d of all; at most %f", s.per[c.Agent], s.total, most)
	}
}

// TestLeaseOfAHighRate checks that a rate over 600 a minute is leased for a second at a time, with
// one write each, and that eight instances allow no more than that.
func TestLeaseOfAHighRate(t *testing.T) {
	const perSecond, instances = 50, 8
	b := newBed(t)
	b.rates = limit.Rates{MutationsPerMinute: perSecond * 60}
	i := b.instance(0)
	require.NoError(t, i.call(t.Context(), write, ann("a")))
	b.table.Reset()
	n, _ := i.many(t, write, ann("a"), perSecond-1)
	require.Equal(t, perSecond-1, n)
	require.Zero(t, b.table.Counts(), "the lease is for a second")
	require.NoError(t, i.call(t.Context(), write, ann("a")))
	require.NotZero(t, b.table.Counts())

	var all []*instance
	for range instances {
		all = append(all, b.instance(0))
	}
	total := 0
	for range 10 * perSecond * 60 {
		if all[total%instances].call(t.Context(), write, ann("b")) != nil {
			break
		}
		total++
	}
	most := limit.Burst * perSecond * 60
	require.LessOrEqual(t, total, most)
	require.GreaterOrEqual(t, total, most-instances*perSecond)
}
