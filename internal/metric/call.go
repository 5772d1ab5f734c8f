package metric

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Interceptor returns an interceptor that counts calls, their outcomes, their durations and the
// calls in flight. It must be outside of the interceptors that refuse calls, so that refusals are
// counted. It counts a panic, and does not recover it.
func (m *Metrics) Interceptor() tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (r tool.Reply, err error) {
			start, code := time.Now(), string(fault.Internal)
			m.inFlight.Inc()
			panicked := true
			defer func() {
				m.inFlight.Dec()
				if panicked {
					m.panics.Inc()
				}
				m.calls.WithLabelValues(c.Tool.Name, code).Inc()
				m.took.WithLabelValues(kindOf(c.Needs().Kind)).Observe(time.Since(start).Seconds())
			}()
			r, err = next(ctx, c)
			panicked, code = false, codeOf(err)
			if err != nil && fault.Of(err).Status() == fault.StatusRateLimited {
				m.Limited()
			}
			return r, err
		}
	}
}
