package metric

import (
	"context"
	"time"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// Interceptor counts calls: how they ended, how long they took, and how many run. It is meant to be
// the outermost, so that what the others refuse is counted too. A panic passes through, counted.
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
