package access

import (
	"context"
	"slices"
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
	accounts map[holder]*account // of those who have requests in flight
	tenants  map[string]*held
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
	*account
	passed int
	run    chan struct{} // closed when the call may run
}

// NewShares makes Shares.
func NewShares(o ShareOptions) *Shares {
	n := int64(o.Calls)
	return &Shares{
		opt:      o,
		requests: ledger{unit: requests, total: perCall * n},
		calls:    ledger{unit: calls, total: n, sure: n / 4},
		bytes:    ledger{unit: octets, total: max(minBytes, bytesPerCall*n), floor: smallBytes},
		accounts: map[holder]*account{}, tenants: map[string]*held{},
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
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(holder{c.Tenant, c.Principal})
	if !s.requests.fits(a, 1) {
		s.forget(a)
		return nil, s.full("requests", s.requests.total)
	}
	s.requests.add(a, 1)
	return &Flight{shares: s, account: a}, nil
}

// accountOf is the account of a principal. The caller has the lock.
func (s *Shares) accountOf(h holder) *account {
	a := s.accounts[h]
	if a != nil {
		return a
	}
	tenant := s.tenants[h.tenant]
	if tenant == nil {
		tenant = &held{}
		s.tenants[h.tenant] = tenant
	}
	a = &account{holder: h, tenant: tenant, local: h.principal == auth.Local}
	s.accounts[h] = a
	return a
}

// forget gives up an account, and its tenant, that holds no request. The caller has the lock.
func (s *Shares) forget(a *account) {
	if a.own[requests] == 0 {
		delete(s.accounts, a.holder)
	}
	if a.tenant[requests] == 0 {
		delete(s.tenants, a.holder.tenant)
	}
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
	*account
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
	if !s.bytes.fits(f.account, int64(n)) {
		return s.full("bytes of bodies and answers", s.bytes.total)
	}
	f.hold(int64(n))
	return nil
}

// hold adds bytes to those that the request holds. The caller has the lock.
func (f *Flight) hold(n int64) {
	f.bytes += n
	f.shares.bytes.add(f.account, n)
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
	if len(s.waiting) == 0 && s.fits(f.account) {
		s.take(f.account)
		f.runs(0)
		return nil
	}
	w := &waiter{account: f.account, run: make(chan struct{})}
	s.waiting = append(s.waiting, w)
	s.next()
	select {
	case <-w.run:
		f.runs(w.passed)
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
		f.runs(w.passed)
		return nil
	default:
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(other *waiter) bool { return other == w })
	return s.full("calls", s.calls.total)
}

// take counts a call that runs, and its answer. The caller has the lock.
func (s *Shares) take(a *account) {
	s.calls.add(a, 1)
	s.bytes.add(a, answerBytes)
}

// runs notes that the call of a request runs, which take has counted.
func (f *Flight) runs(passed int) {
	f.running = true
	f.bytes += answerBytes
	if f.shares.opt.Waited != nil {
		f.shares.opt.Waited(f.holder.tenant, passed)
	}
}

// next lets calls run, as many as there is room for: of those that fit into their share the one of the
// tenant that has the fewest, and among these of the principal that has the fewest. So while one with less waits,
// a tenant that has a quarter of all calls gets no more. The caller has the lock.
func (s *Shares) next() {
	for {
		best := -1
		for i, w := range s.waiting {
			if s.fits(w.account) && (best < 0 || before(w.account, s.waiting[best].account)) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := s.waiting[best]
		s.waiting = slices.Delete(s.waiting, best, best+1)
		for _, other := range s.waiting {
			other.passed++
		}
		s.take(w.account)
		close(w.run)
	}
}

// fits reports whether a principal may run one more call, with its answer.
func (s *Shares) fits(a *account) bool { return s.calls.fits(a, 1) && s.bytes.fits(a, answerBytes) }

// before reports whether a call of a principal runs before one of another that came earlier.
func before(a, b *account) bool {
	if x, y := a.tenant[calls], b.tenant[calls]; x != y {
		return x < y
	}
	return a.own[calls] < b.own[calls]
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
	f.shares.calls.add(f.account, -1)
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
	s.requests.add(f.account, -1)
	s.forget(f.account)
	s.next()
}
