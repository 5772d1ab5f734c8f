package eventlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Receipt is the result of an Update.
type Receipt struct {
	// Seq is the sequence number of the commit or, if nothing was written, that of the state that
	// the function saw.
	Seq      uint64
	Changed  bool            // whether the call changed something
	Replayed json.RawMessage // the answer of the first use of the idempotency key; nil if this is the first
}

// Update runs fn on a draft on top of the newest state, and appends the draft. It returns when the
// commit is durable. fn may run several times and must change nothing but the draft. If the call
// has an idempotency key, the answer of fn is stored with the commit.
//
// If fn returns an error, Update returns that error and nothing is written. UNAVAILABLE with
// "outcome unknown" means that the commit may exist or may still be written; repeating the call
// with the same idempotency key is safe. INDEX_BUSY means that other calls delayed this one until
// its context ended, and that nothing was written. If fn itself runs until its deadline, the error
// is UNAVAILABLE. fn must return when its context ends, because other calls wait for it.
func (l *Log[S]) Update(
	ctx context.Context, c Call, fn func(context.Context, *Draft[S]) (any, error),
) (Receipt, error) {
	w := &writer[S]{
		ctx: ctx, call: c, fn: fn, id: rand.Text(), done: make(chan struct{}),
	}
	if c.Key != "" {
		w.key = hashKey(c.Who.Principal, c.Key)
	}
	if l.queue.push(w) {
		go l.work()
	}
	select {
	case <-w.done:
		// The worker found the context of the call ended; the call gets an error that says why.
		if ended(w.err) && ctx.Err() != nil {
			return Receipt{}, w.abandon(context.Cause(ctx))
		}
		return w.receipt, w.err
	case <-ctx.Done():
		return Receipt{}, w.abandon(context.Cause(ctx))
	}
}

// ended reports whether an error is that of an ended context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A writer is one Update in the queue. The worker runs its function and delivers the result; the
// goroutine of the call waits for that, and may give up at any time. The worker may take a writer
// several times, because a run that loses a race puts its writers back.
//
// The two sides agree by means of sent. The worker sets it before the append, unless the call has
// given up; then the run is composed again without the call. A call that gives up before that
// knows that nothing was written; after that, the outcome is unknown.
type writer[S any] struct {
	ctx  context.Context
	call Call
	fn   func(context.Context, *Draft[S]) (any, error)
	id   string
	key  []byte // hash of its idempotency key; nil: none

	mu      sync.Mutex
	running bool // its function runs, so the call delays itself
	sent    bool // its commit may be in the table

	// The worker sets these before it closes done.
	receipt Receipt
	err     error
	done    chan struct{}
}

// abandon returns the error of a call whose context has ended, with the given cause. It is
// UNAVAILABLE if the outcome is unknown, or if the function of the call was running at its
// deadline; INDEX_BUSY if the call was still waiting at its deadline; and otherwise the cause.
func (w *writer[S]) abandon(cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent {
		return unknown(cause)
	}
	switch {
	case !errors.Is(cause, context.DeadlineExceeded):
	case w.running:
		return fault.New(fault.Unavailable, "the change exceeded the time limit of a call; nothing was "+
			"written").
			Fix("change less in one call").Because(cause)
	default:
		return fault.New(fault.IndexBusy, "the log was contended until the time limit of the call; nothing "+
			"was written").After(time.Second).Because(cause)
	}
	return cause
}

// run runs the function of the writer. If the context of the call ends meanwhile, run returns an
// error.
func (w *writer[S]) run(d *Draft[S]) (any, error) {
	w.runs(true)
	answer, err := w.fn(w.ctx, d)
	if ended := w.ctx.Err(); ended != nil {
		return nil, cmp.Or(err, ended) // running stays true: the function used up the time
	}
	w.runs(false)
	return answer, err
}

// runs records whether the function runs.
func (w *writer[S]) runs(now bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = now
}

// unknown returns the UNAVAILABLE error of a write that may have had an effect (log.md §2.3).
func unknown(cause error) error {
	return fault.New(fault.Unavailable,
		"outcome unknown: repeat with the same idempotency key").
		After(time.Second).Because(cause)
}

// send marks the commit of the writer as about to be sent. It returns false if the writer has given
// up.
func (w *writer[S]) send() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = w.sent || w.ctx.Err() == nil
	return w.sent
}

// unsend records that the commit of the writer was certainly not written.
func (w *writer[S]) unsend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = false
}

// finish delivers the result of the writer and ends its wait.
func (w *writer[S]) finish(r Receipt, err error) {
	w.receipt, w.err = r, err
	close(w.done)
}

// A queue contains the waiting writers of a log. One worker at a time serves it.
type queue[S any] struct {
	mu      sync.Mutex
	waiting []*writer[S]
	working bool
}

// push adds a writer, and reports whether the caller must start a worker.
func (q *queue[S]) push(w *writer[S]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	start := !q.working
	q.working = true
	return start
}

// take removes and returns up to n writers. If there are none, the worker must stop.
func (q *queue[S]) take(n int) []*writer[S] {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.waiting))
	q.working = n > 0
	taken := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return taken
}

// Queue returns the number of calls that wait in this process to be written, and whether it is
// executing a write to the log, including one whose caller has given up.
func (l *Log[S]) Queue() (waiting int, working bool) {
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	return len(l.queue.waiting), l.queue.working
}

// giveBack puts writers back at the front, in order: those whose run lost a race, and those that
// did not fit into one. The worker calls it, so the queue is served already.
func (q *queue[S]) giveBack(ws []*writer[S]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(ws, q.waiting...)
}
