package limit

import (
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A refusal describes the limit that a call exceeds.
type refusal struct {
	scope  string // "agent" or "principal"
	kind   kind
	bucket bucket
	agents bool          // the limit is MaxAgents, not the bucket
	wait   time.Duration // time until the call may be repeated
}

// refusal returns why a call cannot be allowed, based on the last known item; nil if it may be
// possible. If the call exceeds several limits, it is the one that lasts longest, so that its wait
// is long enough for all.
func (le *lease) refusal(now time.Time) *refusal {
	a := le.account
	at := a.time(now)
	worst := refusal{kind: a.name.kind}
	if a.leased.valid(now) == 0 {
		b := a.rate.principal
		debt := a.seen.remaining(a.seen.Principal, at)
		worst.extend(refusal{scope: "principal", bucket: b, wait: b.wait(debt)})
	}
	if le.leased.valid(now) == 0 {
		b := a.rate.agent
		debt := a.seen.remaining(a.seen.Agents[le.digest], at)
		worst.extend(refusal{scope: "agent", bucket: b, wait: b.wait(debt)})
		worst.extend(refusal{scope: "principal", agents: true, wait: a.seen.waitForAgent(le.digest, at)})
	}
	if worst.wait == 0 {
		return nil
	}
	return &worst
}

// extend replaces the refusal by the other one if that lasts longer.
func (r *refusal) extend(other refusal) {
	if other.wait > r.wait {
		other.kind = r.kind
		*r = other
	}
}

// fault returns the RATE_LIMITED error.
func (r *refusal) fault() error {
	if r.agents {
		return fault.New(fault.RateLimited,
			"at most %d agents of a principal may make %s at a time", MaxAgents, r.kind).
			With("limit", MaxAgents).With("window_seconds", int(Window.Seconds())).
			With("scope", r.scope).With("kind", string(r.kind)).After(r.wait)
	}
	whose := "an agent"
	if r.scope == "principal" {
		whose = "all agents of a principal together"
	}
	return fault.New(fault.RateLimited, "at most %d %s a minute for %s, %d of them at once",
		r.bucket.perMinute, r.kind, whose, r.bucket.calls).
		With("limit", r.bucket.perMinute).With("window_seconds", int(Window.Seconds())).
		With("scope", r.scope).With("kind", string(r.kind)).After(r.wait)
}

// unavailable returns the UNAVAILABLE error of a table that failed. No calls are allowed then.
func unavailable(err error) error {
	return fault.New(fault.Unavailable,
		"how many calls were made cannot be looked up now; this one was not begun").
		After(time.Second).Because(err)
}
