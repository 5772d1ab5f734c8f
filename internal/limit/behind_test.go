package limit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// TestBehind holds that a mutation which a check refuses counts against the rate as one that it lets
// through, once, and that a read which is refused does not.
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
	i.handle = i.limiter.Behind(check)(func(context.Context, *tool.Call) (tool.Reply, error) {
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
	for range 2000 {
		require.ErrorIs(t, i.call(t.Context(), read, ann("a")), no)
	}
}
