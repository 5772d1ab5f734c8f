package access

import (
	"sync"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// Flights let no principal have more than so many requests in flight, from its authentication to the end
// of its answer: one that sends its bodies slowly leaves room for the others. Nil lets everybody have as
// many as they like. It is safe for concurrent use.
type Flights struct {
	most int

	mu sync.Mutex
	of map[pilot]int
}

// A pilot is a principal of a tenant.
type pilot struct{ tenant, principal string }

// NewFlights makes Flights of at most so many requests.
func NewFlights(most int) *Flights { return &Flights{most: most, of: map[pilot]int{}} }

// Begin counts one more request of a caller, until end is called. One too many is UNAVAILABLE, and not
// counted. The local principal, who is everybody, has no such bound.
func (f *Flights) Begin(c auth.Caller) (end func(), err error) {
	if f == nil || c.Principal == auth.Local {
		return func() {}, nil
	}
	p := pilot{c.Tenant, c.Principal}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[p] >= f.most {
		return nil, fault.New(fault.Unavailable,
			"the caller has %d requests in flight, as many as one may have", f.most).
			With("limit", f.most).After(time.Second)
	}
	f.of[p]++
	return func() { f.end(p) }, nil
}

func (f *Flights) end(p pilot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[p]--; f.of[p] == 0 {
		delete(f.of, p)
	}
}
