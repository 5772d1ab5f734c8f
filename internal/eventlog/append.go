package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

const (
	maxRun     = 64        // commits in one run
	maxRunSize = 8 << 20   // payload bytes at which a run is closed
	maxHeader  = 80 << 10  // the same for the header, which is part of the item
	oneHeader  = 280 << 10 // most bytes that one commit may add to a header
	inItem     = 16 << 10  // most bytes of packed payload that are stored in the item itself

	// appendLife is how long after its Query an append may still be sent. Log items may leave the
	// table later, and AWS accepts a signed request for 15 minutes (log.md §2.4).
	appendLife = 5 * time.Minute
)

// errAgain reports that a run was certainly not written and that its calls must be drafted again:
// another run took its number, it became too old to be sent, or one of its calls gave up.
var errAgain = errors.New("the run was not written")

// work serves the queue until it is empty. Only one worker runs at a time, so a process has at most
// one append in flight per log (log.md §2.1). Update starts it in a goroutine of its own, because
// the calls that it serves may give up at different times. After a lost race it waits for a random
// time, so that several processes do not lose to each other again and again. A worker that wins
// after a lost race waits once too: otherwise it would append again while the others still wait.
func (l *Log[S]) work() {
	lost := 0
	for {
		batch := l.queue.take(maxRun)
		if len(batch) == 0 {
			return
		}
		if !l.round(batch) {
			lost++
			pause(lost)
			continue
		}
		if lost > 0 {
			pause(0)
		}
		lost = 0
	}
}

// maxPause is the longest wait after a lost race.
const maxPause = 250 * time.Millisecond

// pause sleeps for a random time: up to 5 ms, doubled for each lost race or failed write in a row,
// at most maxPause.
func pause(lost int) {
	time.Sleep(rand.N(min(maxPause, 5*time.Millisecond<<min(lost, 10))))
}

// round appends one run for the batch. It returns false if the run must be retried: the writers are
// back in the queue then. All other outcomes, including errors, are delivered to the writers.
//
// The clock is read before the Query of catchUp, because an append may be sent only until
// appendLife after that Query. Later, another run with the same number may have been compacted and
// have left the table, and the append would succeed although its number is taken.
func (l *Log[S]) round(batch []*writer[S]) bool {
	ctx, cancel := whileAnyWaits(batch)
	defer cancel()
	start := l.opt.Now()
	// The batch is drafted on the newest state. If another process appends first, append returns
	// errAgain and everything is repeated.
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

// whileAnyWaits returns a context that is cancelled when every writer of the batch has given up. As
// long as one caller waits, the work goes on, also for the calls that have given up. The returned
// function must be called; it ends the goroutine that watches the writers.
func whileAnyWaits[S any](batch []*writer[S]) (context.Context, context.CancelFunc) {
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

// finishAll ends the wait of all writers with an error.
func finishAll[S any](ws []*writer[S], err error) {
	for _, w := range ws {
		w.finish(Receipt{}, err)
	}
}

// append writes the run of the batch m, which is based on a Query that began at start. It returns
// errAgain if the run must be drafted again.
func (l *Log[S]) append(ctx context.Context, m *batch[S], start time.Time) (*Run, error) {
	r, err := NewRun(m.commits(), m.head.hash)
	if err != nil {
		return nil, err
	}
	// A large payload is written as an object before the item that refers to it. If the append is
	// lost, the object is an orphan and is deleted by sweepLeftovers.
	packed, size := l.code.pack(r.Parts)
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
	return r, l.appendUntilKnown(ctx, r, it, start)
}

// notWritten returns the error of a write that certainly had no effect.
func notWritten(err error) error {
	return fault.New(fault.StorageError, "the storage does not accept writes now; nothing was written").
		After(time.Second).Because(err)
}

// appendUntilKnown sends the item until it is known whether it exists, as ours or as another run
// with the same number (log.md §2.2), but not later than start + appendLife. It returns nil if the
// item is ours, errAgain if nothing was written, and the error of unknown if the outcome is not
// known.
//
// Repeating the write is safe: every attempt creates the same item under the same key, so at most
// one attempt of all processes succeeds, and the conflict of the others contains the item that did.
// A write that is too large for the table is not repeated.
func (l *Log[S]) appendUntilKnown(ctx context.Context, r *Run, it table.Item, start time.Time) error {
	var conflict *table.Conflict
	// The table must not send the write later, even after retries of its own.
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
			// An earlier attempt may have succeeded although it returned an error.
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

// ours reports whether the stored item is the run r that this process sent. It compares the ids of
// their first calls, which are random. An item that cannot be decoded is not ours.
func (l *Log[S]) ours(r *Run, it table.Item) bool {
	found, _, err := readItem(it.Data)
	return err == nil && found.Commits[0].Call == r.Commits[0].Call
}

// install makes the run that was just appended the new head. It uses the states that the drafts
// computed, except in two cases. If a reader has already taken the run from the table, it does
// nothing. If the state was replaced by an equal one meanwhile (see Log.Renew), a small run is
// applied again, while a large one brings the old state back.
func (l *Log[S]) install(ctx context.Context, m *batch[S], r *Run) {
	l.advancing.Lock()
	switch h := *l.head.Load(); {
	case h.seq != m.head.seq:
	case h.renewed != m.head.renewed && r.Size < renewLarge/4: // applying an import again takes as long as writing it
		if next, err := l.fold(h, r); err == nil { // else the next reader finds the run in the table
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
