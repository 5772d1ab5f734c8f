package limit

import (
	"context"

	"rookery/internal/tool"
)

// Behind is the tool.Interceptor that first checks who may make a call, and then counts it. A call that the
// check refuses is counted too: it costs the check, and the refusal of a mutation is kept. One over the rate
// is RATE_LIMITED, whatever the check said of it.
func (l *Limiter) Behind(check tool.Interceptor) tool.Interceptor {
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
