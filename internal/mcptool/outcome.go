package mcptool

import (
	"context"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
)

// An outcome collects the results of a request's calls that affect the headers and the status of
// the response. The zero value is that of a request without calls. It is safe for concurrent use.
type outcome struct {
	// lone says that the request is a single message. Then a refusal for lack of permission, which
	// a better token would avoid, applies to the whole HTTP request and gets a challenge, as OAuth
	// requires. In a batch it is only the answer of its own message, because the results of the
	// other messages must be returned.
	lone bool

	mu     sync.Mutex
	left   auth.Allowance // after the call that left the least
	denied *fault.Fault
}

// spend records how much of the caller's rate limit a call has left. Of several calls, the one that
// left the least counts. A call without a rate limit is ignored.
func (o *outcome) spend(left auth.Allowance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left.Limit > 0 && (o.left.Limit == 0 || left.Remaining < o.left.Remaining) {
		o.left = left
	}
}

// allowance returns the smallest remainder of the caller's rate limit.
func (o *outcome) allowance() auth.Allowance {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left
}

// deny records that a call was refused for lack of a better token. In a batch it does nothing; see
// lone.
func (o *outcome) deny(f *fault.Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lone {
		o.denied = f
	}
}

// refusal returns the fault with which the whole request is refused, or nil.
func (o *outcome) refusal() *fault.Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.denied
}

// turnTimeout is the time after reading a request within which its calls may begin. Together with
// the deadline of the last call it is shorter than the minute after which a server closes a
// connection, so that every call gets an answer.
const turnTimeout = 30 * time.Second

// A turn makes the calls of one HTTP request run one after another: however many messages it has,
// it counts as one call in flight in the HTTP server. The zero value does not limit them. The order
// of the calls is that in which the SDK begins them.
type turn struct {
	taken chan struct{}   // has room for one token; nil: no limit
	over  <-chan struct{} // closed when no further call may begin
}

// newTurn returns a turn for the calls of a request. No call begins after ctx has ended, and a call
// that waits then is refused.
func newTurn(ctx context.Context) turn { return turn{make(chan struct{}, 1), ctx.Done()} }

// take waits until no other call is running. The caller must call end when its call has ended.
// UNAVAILABLE means that it took too long or that ctx ended; the call must not run then. A call
// that has begun is not interrupted by turnTimeout.
func (t turn) take(ctx context.Context) (end func(), err error) {
	if t.taken == nil {
		return func() {}, nil
	}
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, turnTimeoutFault()
	case <-t.over:
		return nil, turnTimeoutFault()
	}
	end = func() { <-t.taken }
	select {
	case <-t.over: // both were ready at the same time
		end()
		return nil, turnTimeoutFault()
	default:
		return end, nil
	}
}

// turnTimeoutFault returns the fault of a call that did not get its turn.
func turnTimeoutFault() *fault.Fault {
	return fault.New(fault.Unavailable,
		"the call was not run: those before it in the request took too long").
		Fix("send it again, in a request of its own")
}
