package repo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/table"
)

// A Log is the log of a vault or of a tenant, and the state that follows from it.
type Log[S any] struct {
	opt      LogOptions[S]
	start    S // the state of an empty log
	code     *codec
	segments *segments

	// head is what is known to be durable. It only goes forward.
	head atomic.Pointer[head[S]]
	// advancing is held while head is made anew.
	advancing sync.Mutex
	// beginning is full while an empty head takes the beginning of the log.
	beginning chan struct{}
	// base is the image that the head goes on from; nil: none.
	base atomic.Pointer[base]
	// unusable is an image in force that could not be used; 0: none.
	unusable atomic.Uint64
	// imageWanted says that an image is due, however little it would be beyond the last one.
	imageWanted atomic.Bool

	// foreseen is a control item that was read before the log was; see Vault.Foreseen.
	foreseen atomic.Pointer[foreseen]

	// controlRead is the control item that was read last.
	controlRead atomic.Pointer[controlRead]

	keys  keyring
	queue queue[S]

	folding sync.Mutex // held by the pass that runs; it guards what follows
	looked  uint64     // the commit up to which runs were looked for that are due, in vain
}

// LogOptions are what a Log is made with. Table, Bucket, Part, Fold and Now are required.
type LogOptions[S any] struct {
	Table  table.Table
	Bucket blob.Bucket // for payloads over 16 KB; its keys are the log's own
	Part   string      // the partition of the log

	// Listed is the key of an item that is made together with the log, so that the log is found by who reads that
	// key's partition, whatever else names it. The zero Key: there is none.
	Listed table.Key

	// Fold is the state after a commit. It is pure: the state before stays as it is. The commit is
	// not kept, but for what Fold takes from it; run is the seq of the first commit of its run, and
	// part the number in the run of the commit's first part. It takes nothing from the commit's key,
	// nor from the events and the ids of traits of its notes, which follow from the state.
	Fold func(before S, c *Commit, at Place) S

	// Step is the state after some notes of a commit, by their positions in it, of which the state has other notes
	// already. A draft asks for it while its commit grows; what Fold makes of the whole commit counts in the
	// end. Nil: Fold does it.
	Step func(before S, c *Commit, notes []int, at Place) S

	// Build is the state after all commits of a sequence, which goes on from a state: the same as Fold
	// makes, one after the other. Nil: Fold does it.
	Build func(from S, commits iter.Seq2[*Commit, Place]) S

	// Imaging makes images of the state, and reads them. Nil: the log is not folded, and stays in the
	// table.
	Imaging *Imaging[S]

	// ImageItems says that images which are small when they are packed are put into items of the table. Else,
	// and if they are larger, they are objects. Both are read.
	ImageItems bool

	// TailFirst says that the log is short as a rule: a start reads all that is in the table, and looks for
	// an image only if that is not all.
	TailFirst bool

	// Applied is told of each commit that becomes known, in order, once, whoever made it, and
	// before a call that made it is answered.
	Applied func(before, after S, c *Commit, at Place)

	// Untold is the commit up to which Applied needs not be told of every one, so that many can be
	// taken in at once, or an image in place of them. Nil: it is to be told of all.
	Untold func() uint64

	// Imaged is called where the state comes from an image. Of the commits before it that this process
	// did not know yet Applied is not told, as Untold allows.
	Imaged func(S)

	// Settled is called after the commits of a write have been Applied, before its calls are
	// answered.
	Settled func(ctx context.Context)

	Now func() time.Time

	MaxKeys int // idempotency keys that may be used within a day; 0: 1,000,000
}

// A Place says where in the log a commit's parts are.
type Place struct {
	Run  uint64 // the first seq of its run
	Part int    // the number of the commit's first part in the run
}

// compare orders places as the log has them.
func (p Place) compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Run, q.Run), cmp.Compare(p.Part, q.Part))
}

// A head is the state at one point of the log.
type head[S any] struct {
	state   S
	seq     uint64
	time    time.Time // of the last commit
	hash    []byte    // of the last header
	status  Status
	control Control
	weight  int64 // bytes of the log up to seq: of its runs, as they are stored
	renewed int   // how often the state was replaced by an equal one
}

// errFormat says that a run was written by a later release than ours.
var errFormat = fault.New(fault.IndexIncompatible,
	"the stored log is of a newer format than this release reads").
	Fix("run the release that wrote it, or a newer one")

// ErrNoLog says that there is no log in the partition, or that it is being erased. It is NOT_FOUND.
var ErrNoLog error = fault.New(fault.NotFound, "there is no such vault")

// NewLog makes a Log; start is the state of an empty one. Nothing is read yet.
func NewLog[S any](o LogOptions[S], start S) (*Log[S], error) {
	code, err := sharedCodec()
	if err != nil {
		return nil, err
	}
	if o.Applied == nil {
		o.Applied = func(S, S, *Commit, Place) {}
	}
	if o.Imaged == nil {
		o.Imaged = func(S) {}
	}
	if o.Settled == nil {
		o.Settled = func(context.Context) {}
	}
	if o.Build == nil {
		o.Build = func(state S, commits iter.Seq2[*Commit, Place]) S {
			for c, at := range commits {
				state = o.Fold(state, c, at)
			}
			return state
		}
	}
	o.MaxKeys = cmp.Or(o.MaxKeys, maxKeys)
	l := &Log[S]{
		opt: o, start: start, code: code, segments: newSegments(o.Bucket, code),
		beginning: make(chan struct{}, 1),
	}
	l.head.Store(&head[S]{state: start, status: Active})
	return l, nil
}

// A Snapshot is the state of a log at one version.
type Snapshot[S any] struct {
	State  S
	Seq    uint64
	Time   time.Time // of the commit Seq
	Status Status

	// Control is the newest control item that is known: of a Snapshot that was read, not older than what
	// was read of the log.
	Control Control
}

// Read is the state at the head of the log. It costs one Query. When the tail cannot be read it is
// UNAVAILABLE, never an old state (log.md §3).
func (l *Log[S]) Read(ctx context.Context) (Snapshot[S], error) {
	h, err := l.catchUp(ctx)
	if err != nil {
		return Snapshot[S]{}, err
	}
	return h.snapshot(), nil
}

// Known is the newest state that this process knows; it may be behind the log.
func (l *Log[S]) Known() Snapshot[S] { return l.head.Load().snapshot() }

func (h *head[S]) snapshot() Snapshot[S] {
	return Snapshot[S]{h.state, h.seq, h.time, h.status, h.control}
}

// catchUp brings the head to the end of the log. A long tail is taken in pieces, so that what is
// read is not all in memory at once. A Query is not one moment in time: it may miss a run and see
// the next one. Who asks again then sees both; a gap that stays is one of the log, unless what is
// missing has left the table, for the head is too far behind.
func (l *Log[S]) catchUp(ctx context.Context) (*head[S], error) {
	h, err := l.forward(ctx)
	return h, l.orErased(ctx, err)
}

// forward is catchUp, but for a log that is erased meanwhile.
func (l *Log[S]) forward(ctx context.Context) (*head[S], error) {
	if h, whole := l.begin(ctx); whole {
		return h, nil
	}
	missed := uint64(0)
	for {
		after := l.head.Load().seq
		t, err := l.tail(ctx, after)
		if err != nil {
			return nil, err
		}
		if gap, ok := t.gap(after); ok && gap != missed {
			missed = gap
			continue
		}
		switch leapt, err := l.leap(ctx, after, t); {
		case err != nil:
			return nil, err
		case leapt:
			continue
		}
		h, err := l.advance(ctx, t)
		if err != nil || t.ended {
			return h, err
		}
	}
}

// advance takes a tail into the head. Runs that it has already are passed over: several readers may
// bring the same ones.
func (l *Log[S]) advance(ctx context.Context, t *tail) (*head[S], error) {
	if len(t.runs) == 0 {
		return l.withControl(t.control), nil
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	h := *l.head.Load()
	for _, r := range t.runs {
		if r.Last <= h.seq {
			continue
		}
		next, err := l.replay(ctx, h, r)
		if err != nil {
			return nil, err
		}
		h, r.parts = next, nil
	}
	if t.control.newerThan(h.control) {
		h.control = t.control
	}
	l.head.Store(&h)
	return &h, nil
}

// withControl is the head, with the control item if that is newer.
func (l *Log[S]) withControl(c Control) *head[S] {
	h := l.head.Load()
	if !c.newerThan(h.control) {
		return h
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	next := *l.head.Load()
	if c.newerThan(next.control) {
		next.control = c
		l.head.Store(&next)
	}
	return &next
}

// replay is the head after one more run. The caller holds advancing.
func (l *Log[S]) replay(ctx context.Context, h head[S], r *run) (head[S], error) {
	if r.First != h.seq+1 || string(r.Prev) != string(h.hash) {
		return h, fault.New(fault.IndexError, "the log does not join at %s", Version(r.First)).
			OnServer("doctor")
	}
	if err := l.load(ctx, r); err != nil {
		return h, err
	}
	return l.fold(h, r)
}

// fold is the head after one more run, whose payload is loaded.
func (l *Log[S]) fold(h head[S], r *run) (head[S], error) {
	commits, err := r.commits()
	if err != nil {
		return h, damaged(r.First, err)
	}
	at := Place{Run: r.First}
	for i, c := range commits {
		after := l.opt.Fold(h.state, c, at)
		l.take(h.state, after, c, at)
		h.state, h.seq, h.time = after, c.Seq, c.Time
		h.status = cmp.Or(c.Status, h.status)
		at.Part += len(r.Commits[i].Parts)
	}
	h.pass(r)
	return h, nil
}

// pass counts a run that the head has taken.
func (h *head[S]) pass(r *run) {
	h.hash = r.hash()
	h.weight += int64(r.stored)
}

// take makes a commit known: its key, and whoever follows the log.
func (l *Log[S]) take(before, after S, c *Commit, at Place) {
	l.learn(c, at)
	l.opt.Applied(before, after, c, at)
}

// load fetches the payload of a run, if it has none yet. One that is gone, or damaged, may be in a
// segment.
func (l *Log[S]) load(ctx context.Context, r *run) error { return l.loadBy(ctx, l.code, r) }

// loadBy is the same with this codec.
func (l *Log[S]) loadBy(ctx context.Context, code *codec, r *run) error {
	if r.parts != nil || r.Size == 0 {
		return nil
	}
	if r.packed != nil {
		if err := r.unpack(code); err != nil {
			return damaged(r.First, err)
		}
		return nil
	}
	packed, err := l.payload(ctx, r)
	if err == nil {
		if r.parts, err = code.unpack(packed); err == nil {
			r.stored += len(packed)
			return nil
		}
		err = damaged(r.First, err)
	}
	if fault.Is(err, fault.IndexError) && l.opt.Imaging != nil {
		if folded, _ := l.segments.run(ctx, r.First); folded != nil &&
			bytes.Equal(folded.hash(), r.hash()) {
			r.parts = folded.parts
			return nil
		}
	}
	return err
}

// payload is the payload of a run that has it in an object, as it is stored.
func (l *Log[S]) payload(ctx context.Context, r *run) ([]byte, error) {
	packed, _, err := l.opt.Bucket.Get(ctx, r.Object, 0, -1)
	switch {
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrKey):
		return nil, damaged(r.First, err)
	case err != nil:
		return nil, notNow(ctx, "a payload of the log cannot be read",
			fmt.Errorf("read payload of run %d: %w", r.First, err))
	}
	return packed, nil
}

// damaged is the fault of a run that is not what was written.
func damaged(first uint64, err error) error {
	if errors.Is(err, ErrNoLog) {
		return err
	}
	return fault.New(fault.IndexError, "the log cannot be read at %s", Version(first)).
		OnServer("doctor --full").Because(err)
}

// part reads one part of a run, by its place. Its first byte is its kind.
func (l *Log[S]) part(ctx context.Context, at Place) ([]byte, error) {
	r, err := l.runAt(ctx, at.Run)
	if err != nil {
		return nil, err
	}
	if at.Part < 0 || at.Part >= len(r.parts) {
		return nil, fmt.Errorf("run %d has no part %d", at.Run, at.Part)
	}
	return r.parts[at.Part].data, nil
}
