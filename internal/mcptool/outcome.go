package mcptool

import (
	"sync"

	"rookery/internal/auth"
	"rookery/internal/fault"
)

// An outcome is what the calls of a request came to, as far as it is for the headers and the status of the
// answer to say. The zero value is that of no call.
type outcome struct {
	// lone says that the request is one message over HTTP. Then a refusal that a better token would
	// overcome is that of the request, with the challenge that says which token: OAuth knows no other
	// way. In a batch it is the answer of its own message only, as what the others did has to be told.
	lone bool

	mu     sync.Mutex
	left   auth.Allowance // after the call that left the least
	denied *fault.Fault
}

// spend notes what a call left of the caller's rate.
func (o *outcome) spend(left auth.Allowance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left.Limit > 0 && (o.left.Limit == 0 || left.Remaining < o.left.Remaining) {
		o.left = left
	}
}

func (o *outcome) allowance() auth.Allowance {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.left
}

// deny notes that a call was refused for want of a better token.
func (o *outcome) deny(f *fault.Fault) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lone {
		o.denied = f
	}
}

// refusal is the fault with which the request as a whole is refused; nil if it is not.
func (o *outcome) refusal() *fault.Fault {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.denied
}
