package mcptool

import (
	"context"
	"time"

	"rookery/internal/fault"
)

// patience is how long after it was read a request may begin calls. With the deadline of the last one it
// is less than the minute after which a server gives up a connection, so that every call is answered.
const patience = 30 * time.Second

// A turn lets the calls of one HTTP request run one after another: however many messages it has, it is one
// call in flight, as the server counts them that it is mounted in. The zero value lets all run at once.
type turn struct {
	taken chan struct{}   // has room for one; nil: for all
	over  <-chan struct{} // is closed when no further call may begin
}

// newTurn makes the turn of the calls of a request, none of which begins once the context has ended.
func newTurn(ctx context.Context) turn { return turn{make(chan struct{}, 1), ctx.Done()} }

// take waits until no other call runs, and lets none run until end is called. UNAVAILABLE says that it took
// too long, or that nobody waits for the call any more: then it must not run.
func (t turn) take(ctx context.Context) (end func(), err error) {
	if t.taken == nil {
		return func() {}, nil
	}
	select {
	case t.taken <- struct{}{}:
	case <-ctx.Done():
		return nil, missed()
	case <-t.over:
		return nil, missed()
	}
	end = func() { <-t.taken }
	select {
	case <-t.over: // and its turn has come, both at once
		end()
		return nil, missed()
	default:
		return end, nil
	}
}

func missed() *fault.Fault {
	return fault.New(fault.Unavailable,
		"the call was not run: those before it in the request took too long").
		Fix("send it again, in a request of its own")
}
