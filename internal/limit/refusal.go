package limit

import (
	"time"

	"rookery/internal/fault"
)

// A refusal says which limit a call is over.
type refusal struct {
	scope  string // agent or principal
	kind   kind
	bucket bucket
	agents bool // it is the limit of how many agents there may be
	wait   time.Duration
}

// refusal is why a call cannot be let through, by what was seen of the table; nil if it may be. Of
// several limits it is the one that lasts longest.
func (le *lease) refusal(now time.Time) *refusal {
	a := le.account
	at := a.time(now)
	worst := refusal{kind: a.name.kind}
	if a.inHand.good(now) == 0 {
		b := a.rate.principal
		debt := a.seen.later(a.seen.Principal, at)
		worst.over(refusal{scope: "principal", bucket: b, wait: b.wait(debt)})
	}
	if le.inHand.good(now) == 0 {
		b := a.rate.agent
		debt := a.seen.later(a.seen.Agents[le.digest], at)
		worst.over(refusal{scope: "agent", bucket: b, wait: b.wait(debt)})
		worst.over(refusal{scope: "principal", agents: true, wait: a.seen.crowded(le.digest, at)})
	}
	if worst.wait == 0 {
		return nil
	}
	return &worst
}

// over takes the other's place if that lasts longer.
func (r *refusal) over(other refusal) {
	if other.wait > r.wait {
		other.kind = r.kind
		*r = other
	}
}

// fault is what the caller is told.
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

// unavailable is the fault where the table cannot be asked: without it nobody is let through.
func unavailable(err error) error {
	return fault.New(fault.Unavailable,
		"how many calls were made cannot be looked up now; this one was not begun").
		After(time.Second).Because(err)
}
