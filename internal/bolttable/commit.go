package bolttable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"rookery/internal/table"
)

// The limits of one transaction bound its memory, and how long the first in it waits for the last.
const (
	maxBatch = 1024     // commits
	maxBytes = 16 << 20 // of data, though one commit is always taken
	maxSweep = 64       // expired items that it takes away
)

// A request is a Commit that waits to be written.
type request struct {
	ctx    context.Context
	ops    []table.Op
	answer chan error // buffered, so that the writer never waits for who has left
}

// size is about the memory of the request.
func (r *request) size() int {
	n := 0
	for _, op := range r.ops {
		n += len(op.Item.Data) + len(op.Old.Data)
	}
	return n
}

// Commit implements table.Table. The operations of concurrent Commits are written together, each
// judged in its turn. When ctx ends before the answer, the outcome is unknown: the Commit may be in
// the transaction that is being written.
func (t *Table) Commit(ctx context.Context, ops ...table.Op) error {
	if err := errors.Join(ctx.Err(), table.CheckOps(ops)); err != nil {
		return err
	}
	// A caller who stops waiting may change the data while it is written.
	r := &request{ctx, table.Clone(ops), make(chan error, 1)}
	if !t.queue.push(r) {
		return ErrClosed
	}
	select {
	case err := <-r.answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A queue holds the Commits that nobody writes yet. Each is of a caller who waits, so it is as long
// as there are callers.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	wake    chan struct{} // has a token when there may be something new to see
}

// push adds a request; false means that the queue is closed.
func (q *queue) push(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.signal()
	return true
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close lets nothing more in.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// take waits until something is queued and returns it, as much as one transaction takes. It is
// empty when the queue is closed and nothing will come.
func (q *queue) take() []*request {
	for {
		batch, closed := q.cut()
		if len(batch) > 0 || closed {
			return batch
		}
		<-q.wake
	}
}

func (q *queue) cut() (batch []*request, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := first(q.waiting)
	batch = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch, q.closed
}

// first is how many of the requests one transaction takes.
func first(waiting []*request) int {
	size := 0
	for n, r := range waiting {
		size += r.size()
		if n == maxBatch || n > 0 && size > maxBytes {
			return n
		}
	}
	return len(waiting)
}

// write writes what is queued until the queue is closed and empty. It never waits for company: a
// lone Commit is written at once, and company gathers by itself while a transaction is synced.
func (t *Table) write() {
	defer close(t.done)
	for batch := t.queue.take(); len(batch) > 0; batch = t.queue.take() {
		answers, err := t.commit(batch)
		for i, r := range batch {
			if err != nil {
				r.answer <- err
			} else {
				r.answer <- answers[i]
			}
		}
	}
}

// commit writes a batch in one transaction and returns an answer for each request. An error is the
// answer for all of them, refused ones too: what refused them may not have been written.
func (t *Table) commit(batch []*request) ([]error, error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	tx, err := t.db.Load().Begin(true)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	answers, changed, err := t.prepare(tx, batch)
	if err != nil || !changed {
		return answers, errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("commit a transaction: %w", err)
	}
	return answers, nil
}

// prepare applies a batch in a transaction that is still to be committed. A damaged page that it meets is
// ErrDamaged, as it is for a read: nothing is written then, and the process goes on.
func (t *Table) prepare(tx *bolt.Tx, batch []*request) (answers []error, changed bool, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			answers, changed, err = nil, false, fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	s := t.state(tx)
	if answers, changed, err = s.applyAll(batch); err != nil || !changed {
		return answers, changed, err
	}
	if err := s.sweep(maxSweep); err != nil {
		return nil, false, err
	}
	return answers, true, nil
}

// applyAll applies each request to what the ones before it left, and answers it. A request whose
// caller has left is not applied. It reports whether anything was applied.
func (s state) applyAll(batch []*request) (answers []error, changed bool, err error) {
	answers = make([]error, len(batch))
	for i, r := range batch {
		if answers[i] = r.ctx.Err(); answers[i] != nil {
			continue
		}
		conflict, err := s.apply(r.ops)
		if err != nil {
			return nil, false, fmt.Errorf("write an item: %w", err)
		}
		if conflict != nil {
			answers[i] = conflict
			continue
		}
		changed = true
	}
	return answers, changed, nil
}
