package access_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

func caller(tenant, principal string) auth.Caller {
	return auth.Caller{Tenant: tenant, Principal: principal}
}

// begins returns the requests of a caller that are accepted before one is refused.
func begins(t *testing.T, s *access.Shares, c auth.Caller) (all []*access.Flight) {
	t.Helper()
	for range 10_000 {
		f, err := s.Begin(c)
		if err != nil {
			require.True(t, fault.Is(err, fault.Unavailable))
			require.NotZero(t, fault.Of(err).RetryAfter)
			return all
		}
		all = append(all, f)
	}
	require.Fail(t, "nothing is refused")
	return nil
}

// TestSharesOfRequests checks that a tenant leaves room for others, also with many principals, that
// one principal leaves room for others of its tenant, and that finished requests free their share.
func TestSharesOfRequests(t *testing.T) {
	s := access.NewShares(access.ShareOptions{Calls: 64}) // 256 requests
	first := begins(t, s, caller("a", "ann"))
	require.Len(t, first, 85, "a third, alone")
	held := len(first)
	for n := range 50 {
		held += len(begins(t, s, caller("a", fmt.Sprint(n))))
	}
	require.Equal(t, 128, held, "one tenant has a half")
	require.Len(t, begins(t, s, caller("b", "ben")), 42, "a third of what is left")
	require.NotEmpty(t, begins(t, s, caller("c", "cat")), "there is something for the next")
	for _, f := range first {
		f.End()
	}
	_, err := s.Begin(caller("a", "ann"))
	require.NoError(t, err)
	_, err = (*access.Shares)(nil).Begin(caller("a", "ann"))
	require.NoError(t, err)
}

// TestLocalHasNoShare checks that the local principal may use the whole capacity.
func TestLocalHasNoShare(t *testing.T) {
	s := access.NewShares(access.ShareOptions{Calls: 4})
	require.Len(t, begins(t, s, auth.LocalCaller()), 16)
}

// TestSharesOfBytes checks that incoming bodies and unread answers count against the share of their
// tenant, and that another tenant has room for both.
func TestSharesOfBytes(t *testing.T) {
	s := access.NewShares(access.ShareOptions{Calls: 16}) // 64 MiB
	var taken int
	for n := range 30 {
		f, err := s.Begin(caller("a", fmt.Sprint(n)))
		require.NoError(t, err)
		for range tool.MaxBody >> 16 {
			if err = f.Take(1 << 16); err != nil {
				require.True(t, fault.Is(err, fault.Unavailable))
				break
			}
			taken += 1 << 16
		}
	}
	require.LessOrEqual(t, taken, 32<<20)
	for n := range 3 {
		f, err := s.Begin(caller("b", fmt.Sprint(n)))
		require.NoError(t, err)
		require.NoError(t, f.Take(1<<20))
		require.NoError(t, f.Run(t.Context()))
		f.Answered(tool.MaxBody)
	}
}

// TestAnswersHoldNoCall checks that a call ends before its answer is written.
func TestAnswersHoldNoCall(t *testing.T) {
	s := access.NewShares(access.ShareOptions{Calls: 2})
	for n := range 4 {
		f, err := s.Begin(caller("a", fmt.Sprint(n)))
		require.NoError(t, err)
		require.NoError(t, f.Run(t.Context()))
		f.Answered(100)
		f.Answered(1 << 30) // only the first counts
	}
}

// TestWaitEnds checks that a waiting call is refused after ten seconds, or when its client has
// gone, and leaves the queue then.
func TestWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := access.NewShares(access.ShareOptions{Calls: 1})
		running, err := s.Begin(caller("a", "ann"))
		require.NoError(t, err)
		require.NoError(t, running.Run(t.Context()))
		waits, err := s.Begin(caller("b", "ben"))
		require.NoError(t, err)
		start := time.Now()
		require.True(t, fault.Is(waits.Run(t.Context()), fault.Unavailable))
		require.Equal(t, 10*time.Second, time.Since(start))
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		require.True(t, fault.Is(waits.Run(gone), fault.Unavailable))
		waits.End()
		running.End()
		next, err := s.Begin(caller("c", "cat"))
		require.NoError(t, err)
		require.NoError(t, next.Run(t.Context()))
	})
}

// load is the worst load of tenant A: 64 agents with four tokens send one call after the other,
// half of them with slow bodies of 1 MiB. Each call runs for a second, and its answer of 4 MiB is
// read slowly.
func load(s *access.Shares, stop <-chan struct{}, agents *sync.WaitGroup) {
	for n := range 64 {
		agents.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				f, err := s.Begin(caller("a", fmt.Sprint(n%4)))
				if err != nil {
					time.Sleep(time.Second)
					continue
				}
				if n%2 == 0 && f.Take(1<<20) == nil {
					time.Sleep(3 * time.Second)
				}
				if f.Run(context.Background()) == nil {
					time.Sleep(time.Second)
					f.Answered(tool.MaxBody)
					time.Sleep(time.Second) // its answer is read slowly
				}
				f.End()
			}
		})
	}
}

// TestFairness checks that calls of one tenant run promptly while another tenant sends the worst
// load. The number of calls that run before them is counted: its 99th percentile must be below ten
// times that of a quiet server, and no call may be refused.
func TestFairness(t *testing.T) {
	for _, calls := range []int{8, 64, 256} {
		synctest.Test(t, func(t *testing.T) {
			var passed []int // under the lock of the Shares
			s := access.NewShares(access.ShareOptions{Calls: calls, Waited: func(tenant string, n int) {
				if tenant == "b" {
					passed = append(passed, n)
				}
			}})
			counted := func() int {
				passed = nil
				for range 200 {
					f, err := s.Begin(caller("b", "ben"))
					require.NoError(t, err)
					require.NoError(t, f.Run(t.Context()))
					f.End()
					time.Sleep(100 * time.Millisecond)
				}
				require.Len(t, passed, 200)
				return p99(passed)
			}
			quiet := counted()
			stop, agents := make(chan struct{}), new(sync.WaitGroup)
			load(s, stop, agents)
			time.Sleep(10*time.Second + time.Millisecond)
			require.Less(t, counted(), 10*max(1, quiet), calls)
			close(stop)
			agents.Wait()
		})
	}
}

func p99(counts []int) int {
	slices.Sort(counts)
	return counts[len(counts)*99/100]
}

// TestFewestFirst checks which call runs when another ends: that of the tenant with the fewest
// running calls, then of its principal with the fewest, then the oldest. A tenant that has its
// share waits even if there is room.
func TestFewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string // under the lock of the Shares
		s := access.NewShares(access.ShareOptions{Calls: 8, Waited: func(tenant string, _ int) {
			order = append(order, tenant)
		}})
		run := func(tenant, principal string) *access.Flight {
			f, err := s.Begin(caller(tenant, principal))
			require.NoError(t, err)
			go func() { _ = f.Run(t.Context()) }() // a call that waits too long returns an error
			synctest.Wait()
			return f
		}
		var all []*access.Flight
		for _, tenant := range []string{"a", "a", "a", "a", "a", "b", "b", "c", "b", "c", "d"} {
			all = append(all, run(tenant, fmt.Sprint(len(all))))
		}
		require.Equal(t, []string{"a", "a", "a", "a", "b", "b", "c", "c"}, order, "a half, and then a quarter")
		order = nil
		for _, f := range all[:3] { // three calls of a, which has four running and one waiting
			f.End()
			synctest.Wait()
		}
		require.Equal(t, []string{"d", "a"}, order, "the last place is for another one")
		for _, f := range all {
			f.End()
		}
		time.Sleep(20 * time.Second)
	})
}
