package repo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"rookery/internal/fault"
)

// A Receipt is what an Update came to.
type Receipt struct {
	Seq      uint64          // the commit's own; of one that changed nothing, the state it saw
	Changed  bool            // a commit was written
	Replayed json.RawMessage // the answer of the first use of the idempotency key, if this is not it

	// Unread are the notes that the commit changed and whose files cannot be read, by the paths of the
	// notes: the files are left as they are, and do not show the change.
	Unread []LeftFile
}

// Update runs the function on a draft that follows the log, and appends what it drafts. It returns
// when that is durable. The function may run several times; it must change nothing but the draft.
// Its answer is kept with the commit if the call has an idempotency key.
//
// A failure of the function is returned as it is, and nothing is written. UNAVAILABLE that says
// "outcome unknown" means what it says: the commit may be there, or come to be there; to repeat the
// call with the same idempotency key is safe. INDEX_BUSY means that other calls held this one up until its
// time was over, and that nothing was written. A function that outlasts its own time is UNAVAILABLE; it
// must end with its context, for others wait behind it.
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
		if ended(w.err) && ctx.Err() != nil {
			return Receipt{}, w.abandon(context.Cause(ctx))
		}
		return w.receipt, w.err
	case <-ctx.Done():
		return Receipt{}, w.abandon(context.Cause(ctx))
	}
}

// ended reports whether an error is the end of a context.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// A writer is one Update on its way through the queue.
type writer[S any] struct {
	ctx  context.Context
	call Call
	fn   func(context.Context, *Draft[S]) (any, error)
	id   string
	key  []byte // hash of its idempotency key

	mu      sync.Mutex
	running bool // its function runs: what holds it up is the call itself
	sent    bool // its commit may be in the table

	// Written by the worker before done is closed.
	receipt Receipt
	err     error
	done    chan struct{}
}

// abandon is the failure of a call whose time is up.
func (w *writer[S]) abandon(cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent {
		return unknown(cause)
	}
	switch {
	case !errors.Is(cause, context.DeadlineExceeded):
	case w.running:
		return fault.New(fault.Unavailable, "the change took longer than a call may; nothing was written").
			Fix("change less in one call").Because(cause)
	default:
		return fault.New(fault.IndexBusy, "the log was contended until the call's time was up; "+
			"nothing was written").After(time.Second).Because(cause)
	}
	return cause
}

// run runs the function of the writer, which ends with the context of its call.
func (w *writer[S]) run(d *Draft[S]) (any, error) {
	w.runs(true)
	answer, err := w.fn(w.ctx, d)
	if ended := w.ctx.Err(); ended != nil {
		return nil, cmp.Or(err, ended) // it still counts as running: it used the time up
	}
	w.runs(false)
	return answer, err
}

// runs notes whether the function runs.
func (w *writer[S]) runs(now bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = now
}

// unknown is the failure of a call that may have had its effect (log.md §2.3).
func unknown(cause error) error {
	return fault.New(fault.Unavailable,
		"outcome unknown: repeat with the same idempotency key").
		After(time.Second).Because(cause)
}

// send marks that the commit of the writer goes out; it reports false if the writer has given up.
func (w *writer[S]) send() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = w.sent || w.ctx.Err() == nil
	return w.sent
}

// unsend marks that the commit of the writer certainly did not happen.
func (w *writer[S]) unsend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = false
}

// finish ends the writer's wait.
func (w *writer[S]) finish(r Receipt, err error) {
	w.receipt, w.err = r, err
	close(w.done)
}

// A queue holds the writers of a log. One worker at a time serves it.
type queue[S any] struct {
	mu      sync.Mutex
	waiting []*writer[S]
	working bool
}

// push adds a writer and reports whether a worker must be started.
func (q *queue[S]) push(w *writer[S]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, w)
	start := !q.working
	q.working = true
	return start
}

// take takes out up to n writers. With none left the worker's work is over.
func (q *queue[S]) take(n int) []*writer[S] {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.waiting))
	q.working = n > 0
	taken := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return taken
}

// giveBack puts writers in front again.
func (q *queue[S]) giveBack(ws []*writer[S]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(ws, q.waiting...)
}
