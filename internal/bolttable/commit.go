package bolttable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/rookeryhq/rookery/internal/table"
)

// Limits of one transaction. They bound its memory, and the time that its first commit waits for
// the last.
const (
	maxBatch = 1024     // commits
	maxBytes = 16 << 20 // bytes of data; a single commit may exceed it
	maxSweep = 64       // expired items that it deletes
)

// A request is a Commit that waits to be written. Its ops are a copy, which the caller does not
// change. The writer skips it if ctx has ended before its transaction began.
type request struct {
	ctx    context.Context
	ops    []table.Op
	answer chan error // buffered, so that the writer never waits for a caller that has left
}

// size returns the approximate memory of the request in bytes.
func (r *request) size() int {
	n := 0
	for _, op := range r.ops {
		n += len(op.Item.Data) + len(op.Old.Data)
	}
	return n
}

// Commit implements table.Table. Concurrent Commits are written in one transaction, each checked
// against the result of those before it. If ctx ends first, the outcome is unknown: the Commit may
// be part of the transaction that is being written.
func (t *Table) Commit(ctx context.Context, ops ...table.Op) error {
	if err := errors.Join(ctx.Err(), table.CheckOps(ops)); err != nil {
		return err
	}
	// A caller that stops waiting may change the data while it is written.
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

// A queue contains the Commits that are not being written yet. A caller waits for each of them, so
// its length is bounded by the number of callers. wake has room for one token, so a signal that no
// one waits for is kept, and several become one.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	wake    chan struct{} // has a token if the queue may have changed
}

// push adds a request. It returns false if the queue is closed.
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

// signal wakes take.
func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// close closes the queue for new requests.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// take waits for requests and returns the ones that fit into one transaction. It returns none if
// the queue is closed and empty.
func (q *queue) take() []*request {
	for {
		batch, closed := q.cut()
		if len(batch) > 0 || closed {
			return batch
		}
		<-q.wake
	}
}

// cut removes and returns the requests for one transaction without waiting.
func (q *queue) cut() (batch []*request, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := fitCount(q.waiting)
	batch = slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return batch, q.closed
}

// fitCount returns how many of the requests fit into one transaction: at least one, even if it exceeds
// maxBytes by itself.
func fitCount(waiting []*request) int {
	size := 0
	for n, r := range waiting {
		size += r.size()
		if n == maxBatch || n > 0 && size > maxBytes {
			return n
		}
	}
	return len(waiting)
}

// write writes the queued requests until the queue is closed and empty. It does not delay a commit
// to form a batch: batches form by themselves while a transaction is synced.
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

// commit writes a batch in one transaction and returns the result of each request: nil, a
// *table.Conflict, or the error of its context. An error applies to all of them, including those
// with a conflict, because the change that caused the conflict may not have been written. If no
// request changes anything, nothing is written or synced.
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

// prepare applies a batch within a transaction that is not committed yet. If it finds a damaged
// page it returns ErrDamaged, as a read does, and nothing is written.
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

// applyAll applies the requests in order and returns the result of each. Requests whose context has
// ended are skipped. changed reports whether any request was applied. An error means that the
// database cannot be read or written, and applies to all.
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
