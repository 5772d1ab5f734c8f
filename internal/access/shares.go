package access

import (
	"context"
	"sync"
	"time"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/tool"
)

const (
	// perCall is how many requests are in flight for each call that may run: the others send their bodies,
	// wait for a call to end, or take their answers.
	perCall = 4

	// queueTime is how long a request waits until its call runs.
	queueTime = 10 * time.Second

	// bytesPerCall is how many bytes bodies and answers have for each call that may run, and minBytes how many
	// they have at least.
	bytesPerCall = tool.MaxBody
	minBytes     = 64 << 20

	// answerBytes is how many bytes a call holds for its answer while it runs. A larger one is counted when it
	// is made: the call may have changed something, so it is not refused.
	answerBytes = 1 << 20

	// smallBytes is how many bytes a tenant may always hold, so that its small calls are read beside those of
	// any number of others.
	smallBytes = 1 << 20
)

// Shares divide what a server can do at once among tenants, and among the principals of each: calls that
// run, requests in flight, and the bytes of their bodies and answers. Nil sets no limits. It is safe for
// concurrent use.
//
// A request holds a call only while it runs: not while its body comes, and not while its answer is written.
// See ledger.fits for who may have how much, and next for who runs first.
type Shares struct {
	opt ShareOptions

	mu       sync.Mutex
	requests ledger
	calls    ledger
	bytes    ledger
	waiting  []*waiter // in the order in which they came
}

// ShareOptions are the options of Shares.
type ShareOptions struct {
	// Calls is how many calls run at once. Four times as many requests are in flight, and bodies and answers
	// have 4 MiB for each call, and at least 64 MiB.
	Calls int

	// Waited is told how many other calls began to run while one of a tenant waited. It must not call the
	// Shares. Nil: nothing is told.
	Waited func(tenant string, passed int)
}

// A waiter is a request whose call waits.
type waiter struct {
	holder
	passed int
	run    chan struct{} // closed when the call may run
}

// NewShares makes Shares.
func NewShares(o ShareOptions) *Shares {
	calls := int64(o.Calls)
	return &Shares{
		opt:      o,
		requests: newLedger(perCall*calls, 0, 0),
		calls:    newLedger(calls, calls/4, 0),
		bytes:    newLedger(max(minBytes, bytesPerCall*calls), 0, smallBytes),
	}
}

// Calls is how many calls run at once; 0: any number.
func (s *Shares) Calls() int {
	if s == nil {
		return 0
	}
	return s.opt.Calls
}

// Begin counts a request from its authentication until End. One that is over the share of its principal or
// tenant is UNAVAILABLE.
func (s *Shares) Begin(c auth.Caller) (*Flight, error) {
	if s == nil {
		return nil, nil
	}
	f := &Flight{shares: s, holder: holder{c.Tenant, c.Principal}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.requests.fits(f.holder, 1) {
		return nil, s.full("requests", s.requests.total)
	}
	s.requests.add(f.holder, 1)
	return f, nil
}

// full is the fault of a holder that has its share.
func (s *Shares) full(of string, total int64) error {
	return fault.New(fault.Unavailable, "the tenant or the caller has its share of the %d %s that the "+
		"server takes at once", total, of).With("limit", total).With("of", of).After(time.Second)
}

// A Flight is one request in flight. Nil holds nothing. Its methods are called by one goroutine at a time,
// except Answered, which any may call.
type Flight struct {
	shares *Shares
	holder
	bytes   int64
	running bool
}

// Take counts n bytes more of the body. It is UNAVAILABLE where they are over the share.
func (f *Flight) Take(n int) error {
	if f == nil {
		return nil
	}
	s := f.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.bytes.fits(f.holder, int64(n)) {
		return s.full("bytes of bodies and answers", s.bytes.total)
	}
	f.hold(int64(n))
	return nil
}

// hold adds bytes to those that the request holds. The caller has the lock.
func (f *Flight) hold(n int64) {
	f.bytes += n
	f.shares.bytes.add(f.holder, n)
}

// Run waits until the call of the request may run. It is UNAVAILABLE after ten seconds, and when the context
// ends.
func (f *Flight) Run(ctx context.Context) error {
	if f == nil {
		return nil
	}
	w := f.shares.enter(f)
	if w == nil {
		return nil
	}
	late := time.NewTimer(queueTime)
	defer late.Stop()
	select {
	case <-w.run:
	case <-ctx.Done():
	case <-late.C:
	}
	return f.shares.leave(f, w)
}

// enter runs a call, or has it wait. Where others wait, it may still run if they cannot.
func (s *Shares) enter(f *Flight) *waiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &waiter{holder: f.holder, run: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.next()
	select {
	case <-w.run:
		f.runs(w)
		return nil
	default:
		return w
	}
}

// leave ends the wait of a call, and reports whether it may run.
func (s *Shares) leave(f *Flight, w *waiter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.run:
		f.runs(w)
		return nil
	default:
	}
	for i, other := range s.waiting {
		if other == w {
			s.waiting = append(s.waiting[:i], s.waiting[i+1:]...)
			break
		}
	}
	return s.full("calls", s.calls.total)
}

// runs notes that the call of a request runs. next has counted it.
func (f *Flight) runs(w *waiter) {
	f.running = true
	f.bytes += answerBytes
	if f.shares.opt.Waited != nil {
		f.shares.opt.Waited(f.tenant, w.passed)
	}
}

// next lets calls run, as many as there is room for: of those that fit into their share the one of the
// tenant that has the fewest, and among these of the principal that has the fewest. So while one with less waits,
// a tenant that has a quarter of all calls gets no more. The caller has the lock.
func (s *Shares) next() {
	for {
		best := -1
		for i, w := range s.waiting {
			if s.fits(w.holder) && (best < 0 || s.before(w.holder, s.waiting[best].holder)) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := s.waiting[best]
		s.waiting = append(s.waiting[:best], s.waiting[best+1:]...)
		for _, other := range s.waiting {
			other.passed++
		}
		s.calls.add(w.holder, 1)
		s.bytes.add(w.holder, answerBytes)
		close(w.run)
	}
}

// fits reports whether a holder may run one more call, with its answer.
func (s *Shares) fits(h holder) bool { return s.calls.fits(h, 1) && s.bytes.fits(h, answerBytes) }

// before reports whether a call of a runs before one of b that came earlier.
func (s *Shares) before(a, b holder) bool {
	x, y := s.calls.tenants[a.tenant], s.calls.tenants[b.tenant]
	if x != y {
		return x < y
	}
	return s.calls.principals[a] < s.calls.principals[b]
}

// Answered ends the call of a request, whose body is not needed any more. It holds the n bytes of its answer
// until End. Only the first Answered after Run counts.
func (f *Flight) Answered(n int) {
	if f == nil {
		return
	}
	f.shares.mu.Lock()
	defer f.shares.mu.Unlock()
	f.answered(int64(n))
}

func (f *Flight) answered(n int64) {
	if !f.running {
		return
	}
	f.running = false
	f.shares.calls.add(f.holder, -1)
	f.hold(n - f.bytes)
	f.shares.next()
}

// End ends a request.
func (f *Flight) End() {
	if f == nil {
		return
	}
	s := f.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	f.answered(0)
	f.hold(-f.bytes)
	s.requests.add(f.holder, -1)
	s.next()
}

func isLocal(h holder) bool { return h.principal == auth.Local }
