package limit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// TestBehind checks that a call that the check refuses counts against the rate once, like one that
// it allows.
func TestBehind(t *testing.T) {
	b := newBed(t)
	i := b.instance(0)
	no := fault.New(fault.PermissionDenied, "not for you")
	var answer error
	check := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			if answer != nil {
				return tool.Reply{}, answer
			}
			return next(ctx, c)
		}
	}
	made := 0
	i.handle = i.limiter.After(check)(func(context.Context, *tool.Call) (tool.Reply, error) {
		made++
		return tool.Reply{}, fault.New(fault.PermissionDenied, "not this note")
	})
	for range 60 {
		answer = nil
		require.True(t, fault.Is(i.call(t.Context(), write, ann("a")), fault.PermissionDenied))
		answer = no
		require.ErrorIs(t, i.call(t.Context(), write, ann("a")), no)
	}
	require.Equal(t, 60, made)
	for _, answer = range []error{nil, no} {
		require.True(t, fault.Is(i.call(t.Context(), write, ann("a")), fault.RateLimited))
	}
	for range 1200 {
		require.ErrorIs(t, i.call(t.Context(), read, ann("a")), no)
	}
	require.True(t, fault.Is(i.call(t.Context(), read, ann("a")), fault.RateLimited))
}

// TestVisit checks that a request that calls no tool counts as a read, and is refused over the
// rate.
func TestVisit(t *testing.T) {
	i := newBed(t).instance(0)
	left := new(auth.Allowance)
	c := auth.Caller{Tenant: "t", Principal: "ann", Agent: "a", Allowance: left}
	for n := range 1200 {
		require.NoError(t, i.limiter.Visit(t.Context(), c), n)
	}
	require.Equal(t, 1200, left.Limit)
	require.Zero(t, left.Remaining)
	require.True(t, fault.Is(i.limiter.Visit(t.Context(), c), fault.RateLimited))
	require.NoError(t, i.limiter.Visit(t.Context(), auth.LocalCaller()))
}
