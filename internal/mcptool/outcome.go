package mcptool

import (
	"sync"

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
