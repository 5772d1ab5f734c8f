package access

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

const (
	// perCall is how many requests may be in flight for each call that may run. The others send
	// their bodies, wait to run, or receive their answers.
	perCall = 4

	// queueTime is how long a request waits for its call to run.
	queueTime = 10 * time.Second

	// bytesPerCall is how many bytes of bodies and answers are allowed for each call that may run,
	// and minBytes the minimum of the total.
	bytesPerCall = tool.MaxBody
	minBytes     = 64 << 20

	// answerBytes is how many bytes a call reserves for its answer while it runs. A larger answer
	// is counted when it is complete. It is never refused, because the call may have changed
	// something.
	answerBytes = 1 << 20

	// smallBytes is how many bytes a tenant may always hold, so that its small calls are read
	// regardless of the load by others.
	smallBytes = 1 << 20
)

// Shares divide the capacity of a server among tenants, and among the principals of each: running
// calls, requests in flight, and the bytes of their bodies and answers. A nil *Shares sets no
// limits. It is safe for concurrent use.
//
// A request takes part of the capacity in this order: Begin when it is authenticated, Take for its
// body, Run before its call, Answered when the answer is complete, and End when it is sent. It
// counts as a call only while the call runs, so a slow client occupies a request but no call. See
// ledger.fits for the limits, and Shares.next for the order of waiting calls.
type Shares struct {
	opt ShareOptions

	mu       sync.Mutex
	requests ledger
	calls    ledger
	bytes    ledger
	accounts map[accountKey]*account // of principals with requests in flight
	tenants  map[string]*amounts
	waiting  []*waiter // in order of arrival
}

// ShareOptions are the options of Shares.
type ShareOptions struct {
	// Calls is how many calls may run at once. Four times as many requests may be in flight. Bodies
	// and answers may take 4 MiB for each call, and at least 64 MiB in total.
	Calls int

	// Waited is called when a call begins to run, with the number of other calls that began while
	// it waited. It must not call the Shares. Nil: not called.
	Waited func(tenant string, passed int)
}

// A waiter is a request whose call waits to run.
type waiter struct {
	*account
	passed int
	run    chan struct{} // closed when the call may run
}

// NewShares returns Shares.
func NewShares(o ShareOptions) *Shares {
	n := int64(o.Calls)
	return &Shares{
		opt:      o,
		requests: ledger{unit: requests, total: perCall * n},
		calls:    ledger{unit: calls, total: n, guaranteed: n / 4},
		bytes:    ledger{unit: octets, total: max(minBytes, bytesPerCall*n), floor: smallBytes},
		accounts: map[accountKey]*account{}, tenants: map[string]*amounts{},
	}
}

// Begin counts a request from its authentication until Flight.End. It returns UNAVAILABLE if the
// request exceeds the share of its principal or tenant.
func (s *Shares) Begin(c auth.Caller) (*Flight, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accountOf(accountKey{c.Tenant, c.Principal})
	if !s.requests.fits(a, 1) {
		s.forget(a)
		return nil, s.full("requests", s.requests.total)
	}
	s.requests.add(a, 1)
	return &Flight{shares: s, account: a}, nil
}

// accountOf returns the account of a principal, and creates it if necessary. The caller holds mu.
func (s *Shares) accountOf(h accountKey) *account {
	a := s.accounts[h]
	if a != nil {
		return a
	}
	tenant := s.tenants[h.tenant]
	if tenant == nil {
		tenant = &amounts{}
		s.tenants[h.tenant] = tenant
	}
	a = &account{accountKey: h, tenant: tenant, local: h.principal == auth.Local}
	s.accounts[h] = a
	return a
}

// forget deletes the account of a principal, and that of its tenant, if they have no requests. The
// caller holds mu.
func (s *Shares) forget(a *account) {
	if a.own[requests] == 0 {
		delete(s.accounts, a.accountKey)
	}
	if a.tenant[requests] == 0 {
		delete(s.tenants, a.accountKey.tenant)
	}
}

// full returns the UNAVAILABLE error of a holder that has its full share.
func (s *Shares) full(of string, total int64) error {
	return fault.New(fault.Unavailable, "the tenant or the caller uses its whole share of the %d %s that "+
		"the server accepts at once", total, of).With("limit", total).With("of", of).After(time.Second)
}

// A Flight is one request in flight. The methods of a nil Flight do nothing. They must not be
// called concurrently, except Answered.
type Flight struct {
	shares *Shares
	*account
	bytes   int64
	running bool
}

// Take counts n more bytes of the request body. It returns UNAVAILABLE if they exceed the share.
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
	f.reserve(int64(n))
	return nil
}

// reserve adds bytes to those that the request holds. The caller holds mu.
func (f *Flight) reserve(n int64) {
	f.bytes += n
	f.shares.bytes.add(f.account, n)
}

// Run waits until the call of the request may run. It returns UNAVAILABLE after queueTime, or if
// the context ends. Bytes for an answer of usual size are reserved with the call.
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

// enter starts a call, or returns a waiter for it. Even if others wait, the call may start if it
// fits and they do not, because they have used their own shares.
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

// leave removes a waiter, and returns UNAVAILABLE. It returns nil if the call may run after all,
// because its turn came at the same moment.
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

// take counts a running call, and the bytes for its answer. The caller holds mu.
func (s *Shares) take(a *account) {
	s.calls.add(a, 1)
	s.bytes.add(a, answerBytes)
}

// runs records that the call of the request runs; take has counted it. The caller holds mu.
func (f *Flight) runs(passed int) {
	f.running = true
	f.bytes += answerBytes
	if f.shares.opt.Waited != nil {
		f.shares.opt.Waited(f.accountKey.tenant, passed)
	}
}

// next starts waiting calls as long as there is room. Of the calls that fit into their shares, it
// chooses the one of the tenant with the fewest running calls, then of the principal with the
// fewest. So a tenant with a quarter of all calls gets no more while a smaller one waits. The
// caller holds mu.
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

// before reports whether a call of a runs before an earlier one of b.
func before(a, b *account) bool {
	if x, y := a.tenant[calls], b.tenant[calls]; x != y {
		return x < y
	}
	return a.own[calls] < b.own[calls]
}

// Answered ends the call of a request, and releases its body. The request accounts for the n bytes
// of its answer until End. Only the first Answered after Run has an effect, so it may be called
// again when a handler returns.
func (f *Flight) Answered(n int) {
	if f == nil {
		return
	}
	f.shares.mu.Lock()
	defer f.shares.mu.Unlock()
	f.answered(int64(n))
}

// answered is Answered without locking. The caller holds mu.
func (f *Flight) answered(n int64) {
	if !f.running {
		return
	}
	f.running = false
	f.shares.calls.add(f.account, -1)
	f.reserve(n - f.bytes)
	f.shares.next()
}

// End ends a request and releases all that it holds.
func (f *Flight) End() {
	if f == nil {
		return
	}
	s := f.shares
	s.mu.Lock()
	defer s.mu.Unlock()
	f.answered(0)
	f.reserve(-f.bytes)
	s.requests.add(f.account, -1)
	s.forget(f.account)
	s.next()
}

// A unit is a kind of shared resource.
type unit int

const (
	requests unit = iota // requests in flight
	calls                // running calls
	octets               // bytes of bodies and answers
	units                // number of kinds
)

// An accountKey is a principal of a tenant.
type accountKey struct{ tenant, principal string }

// An amounts contains an amount for each unit.
type amounts [units]int64

// An account contains what a principal uses while it has a request in flight. Shares.mu guards it.
// tenant is shared by all principals of the tenant, so adding to one account adds to the sum.
type account struct {
	accountKey
	own    amounts
	tenant *amounts // of all principals of the tenant, shared by their accounts
	local  bool     // the local principal, which has no limit of its own
}

// A ledger divides one unit among tenants and principals.
type ledger struct {
	unit       unit
	total      int64
	guaranteed int64 // a tenant may always hold this much while units are free; a principal a quarter of it
	floor      int64 // a tenant may always hold this much, even if none are free
	used       int64
}

// fits reports whether a principal may take n more units. Beyond sure, a tenant may hold at most as
// much as is free afterwards, and a principal at most as much as its tenant could still take. So a
// single tenant gets at most half, each of three busy tenants a quarter, and some units stay free
// for the next one. A tenant or principal that holds nothing may always take free units. The local
// principal is not limited.
func (l *ledger) fits(a *account, n int64) bool {
	free := l.total - l.used - n
	tenant, own := a.tenant[l.unit]+n, a.own[l.unit]+n
	switch {
	case tenant <= l.floor:
		return true
	case free < 0:
		return false
	case a.local:
		return true
	case tenant > n && tenant > max(l.guaranteed, free):
		return false
	}
	const part = 4
	return own == n || own <= max(l.guaranteed/part, free-tenant)
}

// add gives n units to a principal. A negative n returns them.
func (l *ledger) add(a *account, n int64) {
	l.used += n
	a.tenant[l.unit] += n
	a.own[l.unit] += n
}
