package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/table"
)

const (
	maxRun     = 64        // commits in one run
	maxRunSize = 8 << 20   // bytes of payload at which a run is closed
	maxHeader  = 80 << 10  // likewise of its header, which is part of an item
	oneHeader  = 280 << 10 // bytes that one commit may add to a header
	inItem     = 16 << 10  // bytes of packed payload that go into the item

	// appendLife is how long an append may be sent after the Query that it builds on: a log item may
	// leave the table, and AWS honours a signed request for a quarter of an hour (log.md §2.4).
	appendLife = 5 * time.Minute
)

// errAgain says that a run certainly was not written, and that what it holds is to be drafted
// again: another's has its number, it became too old to be sent, or one of its calls gave up.
var errAgain = errors.New("the run was not written")

// work serves the queue until it is empty. There is one worker, so a process has one append in
// flight per log (log.md §2.1).
func (l *Log[S]) work() {
	lost := 0
	for {
		batch := l.queue.take(maxRun)
		if len(batch) == 0 {
			return
		}
		if l.round(batch) {
			lost = 0
			continue
		}
		lost++
		pause(lost)
	}
}

// pause waits after lost races and failed writes, longer the more there were in a row.
func pause(lost int) {
	most := min(time.Second, 5*time.Millisecond<<min(lost, 10))
	time.Sleep(rand.N(most))
}

// round makes one run of the batch. It reports false if that has to be done again: the writers are
// then back in the queue.
func (l *Log[S]) round(batch []*writer[S]) bool {
	ctx, cancel := patience(batch)
	defer cancel()
	start := l.opt.Now()
	h, err := l.catchUp(ctx)
	if err != nil {
		finishAll(batch, err)
		return true
	}
	m := l.compose(ctx, h, batch)
	l.queue.giveBack(m.rest)
	if len(m.drafts) == 0 {
		m.settle(nil)
		return true
	}
	r, err := l.append(ctx, m, start)
	switch {
	case errors.Is(err, errAgain):
		for _, w := range m.batch {
			w.unsend()
		}
		l.queue.giveBack(m.batch)
		return false
	case err != nil:
		m.settle(err)
		return true
	}
	l.install(ctx, m, r)
	m.settle(nil)
	return true
}

// patience is a context that ends when the last writer of the batch has given up.
func patience[S any](batch []*writer[S]) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for _, w := range batch {
			select {
			case <-w.ctx.Done():
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

func finishAll[S any](ws []*writer[S], err error) {
	for _, w := range ws {
		w.finish(Receipt{}, err)
	}
}

// append writes the run of a batch, which builds on a Query that began at start.
func (l *Log[S]) append(ctx context.Context, m *batch[S], start time.Time) (*run, error) {
	r, err := newRun(m.commits(), m.head.hash)
	if err != nil {
		return nil, err
	}
	packed, size := l.code.pack(r.parts)
	r.Size = size
	if len(packed) > inItem {
		r.stored = len(packed)
		r.Object = fmt.Sprintf("payload/%012d-%s.zst", r.First, r.Commits[0].Call)
		if _, err := l.opt.Bucket.Put(ctx, r.Object, packed, blob.Always); err != nil {
			return nil, notWritten(err)
		}
	}
	m.seal(r, l.opt.Now())
	data, err := r.item(packed)
	if err != nil {
		return nil, err
	}
	if !m.send() {
		return nil, errAgain
	}
	r.stored += len(data)
	it := table.Item{Key: table.Key{Part: l.opt.Part, Sort: runKey(r.First)}, Data: data}
	return r, l.insist(ctx, r, it, start)
}

// notWritten is the failure of a write that certainly had no effect.
func notWritten(err error) error {
	return fault.New(fault.StorageError, "the storage does not take writes just now; "+
		"nothing was written").After(time.Second).Because(err)
}

// insist sends the same bytes until the item is known to exist, as ours or another's (log.md §2.2), and never later
// than an append may be sent.
func (l *Log[S]) insist(ctx context.Context, r *run, it table.Item, start time.Time) error {
	var conflict *table.Conflict
	ctx = table.SendBefore(ctx, start.Add(appendLife))
	if l.opt.Now().Sub(start) > appendLife {
		return errAgain
	}
	for tries := 1; ; tries++ {
		err := l.opt.Table.Commit(ctx, table.Create(it))
		switch {
		case err == nil:
			return nil
		case errors.As(err, &conflict):
			if l.ours(r, conflict.Item) {
				return nil
			}
			return errAgain
		case errors.Is(err, table.ErrLimit):
			return fmt.Errorf("append a run: %w", err)
		}
		pause(tries)
		if ctx.Err() != nil || l.opt.Now().Sub(start) > appendLife {
			return unknown(err)
		}
	}
}

// ours reports whether an item is the run that we sent, by the id of its first call.
func (l *Log[S]) ours(r *run, it table.Item) bool {
	found, _, err := readItem(it.Data)
	return err == nil && found.Commits[0].Call == r.Commits[0].Call
}

// install makes the run known that was just appended. What its calls left behind is not worked out
// again, unless a reader has taken the run from the table in the meantime, or the state that they began
// with was replaced and the run is small: a large one brings the old state back.
func (l *Log[S]) install(ctx context.Context, m *batch[S], r *run) {
	l.advancing.Lock()
	switch h := *l.head.Load(); {
	case h.seq != m.head.seq:
	case h.renewed != m.head.renewed && r.Size < renewLarge/4: // an import would take as long as it took to write
		if next, err := l.fold(h, r); err == nil { // else the next reader meets it in the table
			l.head.Store(&next)
		}
	default:
		for _, d := range m.drafts {
			after := d.State()
			l.take(h.state, after, &d.commit, d.at)
			h.state, h.seq, h.time = after, d.commit.Seq, d.commit.Time
			h.status = cmp.Or(d.commit.Status, h.status)
		}
		h.pass(r)
		l.head.Store(&h)
	}
	l.advancing.Unlock()
	l.opt.Settled(context.WithoutCancel(ctx))
}
