package access_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A step is a call of a mutating tool.
type step struct {
	Text string `json:"text"`
	tool.Mutation
}

type stepped struct {
	tool.Aside `json:"-"`
}

// TestClaim checks that an agent is claimed by a call that changes something, but not by one that
// is refused, over its rate, malformed or a dry run. Otherwise names could be claimed at no cost.
func TestClaim(t *testing.T) {
	h := newHouse(t)
	family := &tool.Family{
		Name: "f", Base: "/v1", Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
		Several: fault.InvalidParameter,
	}
	over := false
	limiter := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			if over {
				return tool.Reply{}, fault.New(fault.RateLimited, "no")
			}
			return next(ctx, c)
		}
	}
	cat, err := tool.NewCatalogue([]*tool.Tool{tool.New(tool.Spec{
		Name: "f_step", Family: family, Title: "Step", Doc: "Step.", Role: auth.Editor, Kind: tool.Write,
	}, func(context.Context, auth.Caller, step) (stepped, error) { return stepped{}, nil })},
		tool.Options{Interceptors: []tool.Interceptor{
			access.Check(access.NewDirectory(h.teams)), limiter, access.Claim(access.NewDirectory(h.teams)),
		}})
	require.NoError(t, err)
	call := func(who string, role auth.Role, args string) error {
		c := auth.Caller{
			Tenant: "acme", Principal: auth.User(h.staff.URL, who), Agent: "planner",
			Roles: everywhere(role),
		}
		_, err := cat.Invoke(auth.WithCaller(t.Context(), c), "f_step", []byte(args))
		return err
	}
	h.tenant(t, "acme") // created once
	commits := h.reads.Counts().Commits
	require.True(t, fault.Is(call("eve", auth.Reader, `{"text":"a"}`), fault.PermissionDenied))
	require.NoError(t, call("eve", auth.Editor, `{"text":"a","dry_run":true}`))
	require.True(t, fault.Is(call("eve", auth.Editor, `[]`), fault.InvalidParameter))
	over = true
	require.True(t, fault.Is(call("eve", auth.Editor, `{"text":"a"}`), fault.RateLimited))
	over = false
	require.Equal(t, commits, h.reads.Counts().Commits, "nothing was written")

	require.NoError(t, call("ann", auth.Editor, `{"text":"a"}`))
	require.NoError(t, call("ann", auth.Editor, `{"text":"b"}`))
	require.True(t, fault.Is(call("eve", auth.Editor, `{"text":"a"}`), fault.PermissionDenied))
	require.Equal(t, commits+1, h.reads.Counts().Commits)
}
