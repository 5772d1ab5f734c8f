package limit

import (
	"context"

	"github.com/rookeryhq/rookery/internal/tool"
)

// After returns the interceptor that runs check before it counts a call. A call that check refuses
// is counted too, because the check has a cost, and refusals of mutations are stored. A call over
// the rate is RATE_LIMITED, whatever the result of check.
func (l *Limiter) After(check tool.Interceptor) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		counted := l.Intercept(next)
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			passed := false
			r, err := check(func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
				passed = true
				return counted(ctx, c)
			})(ctx, c)
			if err == nil || passed {
				return r, err
			}
			if over := l.admit(ctx, c); over != nil {
				return tool.Reply{}, over
			}
			return r, err
		}
	}
}
