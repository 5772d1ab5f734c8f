package eventlog

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

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// A Log is the log of a vault or of a tenant, and the state that is derived from it. It is safe for
// concurrent use.
//
// The head is immutable and is replaced as a whole, so readers load it without a lock. Only the
// holder of advancing replaces it, with a head that is not older. Applied is called under the same
// lock, so that it gets the commits of all readers and writers once and in order. A compaction pass
// holds folding and takes advancing after it, never the other way round.
type Log[S any] struct {
	opt      Options[S]
	start    S // the state of an empty log
	code     *codec
	segments *segments

	// head is the newest state that is known to be durable. It only moves forward.
	head atomic.Pointer[head[S]]
	// advancing is held while head is replaced.
	advancing sync.Mutex
	// beginning is full while a caller reads the beginning of the log into an empty head.
	beginning chan struct{}
	// base is the image that the head was read from; nil: none.
	base atomic.Pointer[OpenImage]
	// unusable is the seq of the image in use, if it could not be read; 0: none.
	unusable atomic.Uint64
	// imageWanted makes the next image due after any commit, however small the image would be.
	imageWanted atomic.Bool

	// foreseen is a control item that was read before the log; see Foresee.
	foreseen atomic.Pointer[foreseen]

	// controlRead is the control item that was read last; nil: none.
	controlRead atomic.Pointer[controlRead]

	keys  keyring
	queue queue[S]

	folding     sync.Mutex   // held by the running compaction pass; guards looked
	passWaiters atomic.Int32 // callers of lockPasses that wait
	urgent      urgency      // of passes that a caller waits for
	looked      uint64       // the commit up to which no segment was due
}

// Options are the options of a Log. Table, Bucket, Part, Apply and Now are required.
type Options[S any] struct {
	Table  table.Table
	Bucket blob.Bucket // for payloads over 16 KB, segments and images; the log owns all keys
	Part   string      // the partition of the log in the table

	// Listed is the key of an item that is created together with the log, so that readers of that
	// key's partition find the log. The zero Key: no item.
	Listed table.Key

	// Apply returns the state after a commit. It must be pure: it must not change the state before.
	// at is the place of the commit's first part. Apply may keep values from the commit, but not
	// the commit itself. It must not use the commit's key, nor the events of its notes. The ids of
	// traits and nodes in a note may be set after a Draft has called Apply, to those that the state
	// then has: with them, Apply must return an equal state.
	Apply func(before S, c *Commit, at PartRef) S

	// Step returns the state after some notes of a commit, given by their indices, if the other
	// notes are in the state already. A Draft calls it while its commit grows; the state that
	// counts in the end is the one that Apply returns for the whole commit. It may set Parsed of these
	// notes. Nil: Apply is used.
	Step func(before S, c *Commit, notes []int, at PartRef) S

	// Adopt sets the ids of traits and nodes in a note to those in a state that includes the note. A
	// Draft calls it for the notes that steps have applied, before it applies the whole commit, so
	// that the notes keep the ids that the function of the call saw. Required with Step.
	Adopt func(after S, n *Note)

	// Build returns the state after all commits of a sequence, beginning with a state. The result
	// must be equal to that of calling Apply for one commit after the other. Nil: Apply is used.
	Build func(from S, commits iter.Seq2[*Commit, PartRef]) S

	// Imaging encodes and decodes images of the state. Nil: the log is not compacted, and stays in
	// the table.
	Imaging *Imaging[S]

	// ImageItems says that images which are small when packed are written as items of the table.
	// Other images are objects. Both kinds are always read.
	ImageItems bool

	// TailFirst says that the log is usually short: a start reads everything in the table, and
	// looks for an image only if that is not the whole log.
	TailFirst bool

	// Applied is called once for each commit that becomes known, in order, whoever wrote it. It is
	// called before the call that made the commit returns.
	Applied func(before, after S, c *Commit, at PartRef)

	// SilentUpTo returns the seq up to which Applied may be skipped, so that many commits can be
	// replayed in bulk or an image be used in their place. Nil: never skip.
	SilentUpTo func() uint64

	// Imaged is called when the state was read from an image. Applied was not called for the
	// commits before it that were unknown to this process, as SilentUpTo allows.
	Imaged func(S, *OpenImage)

	// Settled is called after the commits of a write have been Applied, before its calls return.
	Settled func(ctx context.Context)

	Now func() time.Time

	MaxKeys int // most idempotency keys within a day; 0: 1,000,000
}

// A PartRef is the position of a part in the log.
type PartRef struct {
	Run  uint64 // the seq of the first commit of its run
	Part int    // the number of the part in the run, from 0
}

// Compare orders positions as in the log. It returns -1, 0 or +1.
func (p PartRef) Compare(q PartRef) int {
	return cmp.Or(cmp.Compare(p.Run, q.Run), cmp.Compare(p.Part, q.Part))
}

// A head is the state of a log after some commit. It is immutable.
type head[S any] struct {
	state   S
	seq     uint64
	time    time.Time // of the last commit
	hash    []byte    // of the last run's header
	status  Status
	control Control
	weight  int64 // bytes of the runs up to seq, as they are stored
	renewed int   // how often the state was replaced by an equal one
}

// errFormat is the error of a run, image or segment that a later release wrote.
var errFormat = fault.New(fault.IndexIncompatible,
	"the stored log is of a newer format than this release reads").
	Fix("run the release that wrote it, or a newer one")

// ErrNoLog is the error of a log that does not exist or is being erased. It is NOT_FOUND.
var ErrNoLog error = fault.New(fault.NotFound, "there is no such vault")

// New returns a Log; start is the state of an empty one. It reads nothing. It returns an error
// only if the codec cannot be created.
func New[S any](o Options[S], start S) (*Log[S], error) {
	code, err := sharedCodec()
	if err != nil {
		return nil, err
	}
	if o.Applied == nil {
		o.Applied = func(S, S, *Commit, PartRef) {}
	}
	if o.Imaged == nil {
		o.Imaged = func(S, *OpenImage) {}
	}
	if o.Settled == nil {
		o.Settled = func(context.Context) {}
	}
	if o.Build == nil {
		o.Build = func(state S, commits iter.Seq2[*Commit, PartRef]) S {
			for c, at := range commits {
				state = o.Apply(state, c, at)
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

// A Snapshot is the state of a log after some commit.
type Snapshot[S any] struct {
	// State is the state after commit Seq. Callers must not change it.
	State  S
	Seq    uint64    // the last commit
	Time   time.Time // of commit Seq
	Status Status

	// Control is the newest known control item. In a Snapshot returned by Read, it is not older
	// than the commits that were read.
	Control Control

	head *head[S]
}

// Weight returns how many bytes the log has up to commit Seq, as it is stored.
func (s Snapshot[S]) Weight() int64 { return s.head.weight }

// Read returns the state at the end of the log. It costs one Query. If the tail cannot be read it
// returns UNAVAILABLE, never an old state (log.md §3). It returns ErrNoLog if the log does not
// exist. For a log that is being erased it returns ErrNoLog or a Snapshot with status Sealed.
func (l *Log[S]) Read(ctx context.Context) (Snapshot[S], error) {
	h, err := l.catchUp(ctx)
	if err != nil {
		return Snapshot[S]{}, err
	}
	return h.snapshot(), nil
}

// Now returns the current time of the clock that dates commits.
func (l *Log[S]) Now() time.Time { return l.opt.Now() }

// Known returns the newest state in memory, without I/O. It may be behind the log.
func (l *Log[S]) Known() Snapshot[S] { return l.head.Load().snapshot() }

// snapshot returns the head as a Snapshot.
func (h *head[S]) snapshot() Snapshot[S] {
	return Snapshot[S]{h.state, h.seq, h.time, h.status, h.control, h}
}

// catchUp moves the head to the end of the log: to a state that includes every commit that was
// acknowledged before the call. It reads a long tail in pieces, to bound memory. A Query is not
// atomic: it may miss a run and return the next one. Such a gap is read again. If it persists, runs
// are missing, unless they have left the table because the head is far behind; skipAhead handles
// that. It returns ErrNoLog if the log was erased meanwhile.
func (l *Log[S]) catchUp(ctx context.Context) (*head[S], error) {
	h, err := l.forward(ctx)
	return h, l.orErased(ctx, err)
}

// forward is catchUp for a log that is not erased meanwhile.
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
		// The first time a gap is seen, the tail is simply read again.
		if gap, ok := t.gap(after); ok && gap != missed {
			missed = gap
			continue
		}
		switch leapt, err := l.skipAhead(ctx, after, t); {
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

// advance applies a tail to the head. It skips runs that are applied already, because several
// readers may read the same ones. It returns the new head.
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
		h, r.Parts = next, nil
	}
	if t.control.newerThan(h.control) {
		h.control = t.control
	}
	l.head.Store(&h)
	return &h, nil
}

// withControl returns the head, with c as its control item if c is newer.
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

// replay returns the head after one more run. It returns INDEX_ERROR if the run does not continue
// the chain. The caller holds advancing.
func (l *Log[S]) replay(ctx context.Context, h head[S], r *Run) (head[S], error) {
	if r.First != h.seq+1 || string(r.Prev) != string(h.hash) {
		return h, fault.New(fault.IndexError, "the chain of the log is broken at %s", Version(r.First)).
			OnServer("doctor")
	}
	if err := l.load(ctx, r); err != nil {
		return h, err
	}
	return l.fold(h, r)
}

// fold returns the head after one more run, whose payload is loaded. It calls Applied for its
// commits.
func (l *Log[S]) fold(h head[S], r *Run) (head[S], error) {
	commits, err := r.Decode()
	if err != nil {
		return h, Damaged(r.First, err)
	}
	at := PartRef{Run: r.First}
	for i, c := range commits {
		after := l.opt.Apply(h.state, c, at)
		l.take(h.state, after, c, at)
		h.state, h.seq, h.time = after, c.Seq, c.Time
		h.status = cmp.Or(c.Status, h.status)
		at.Part += len(r.Commits[i].Parts)
	}
	h.pass(r)
	return h, nil
}

// pass records in the head that it includes a run.
func (h *head[S]) pass(r *Run) {
	h.hash = r.hash()
	h.weight += int64(r.stored)
}

// take makes a commit known: it records the idempotency key and calls Applied.
func (l *Log[S]) take(before, after S, c *Commit, at PartRef) {
	l.learn(c, at)
	l.opt.Applied(before, after, c, at)
}

// load reads and unpacks the payload of a run, if that was not done yet. If the payload is missing
// or damaged, load looks for it in a segment. Its errors are UNAVAILABLE, INDEX_ERROR, and that of
// an ended context.
func (l *Log[S]) load(ctx context.Context, r *Run) error { return l.loadBy(ctx, l.code, r) }

// loadBy is load with this codec.
func (l *Log[S]) loadBy(ctx context.Context, code *codec, r *Run) error {
	if r.Parts != nil || r.Size == 0 {
		return nil
	}
	if r.packed != nil {
		if err := r.unpack(code); err != nil {
			return Damaged(r.First, err)
		}
		return nil
	}
	packed, err := l.payload(ctx, r)
	if err == nil {
		if r.Parts, err = code.unpack(packed); err == nil {
			r.stored += len(packed)
			return nil
		}
		err = Damaged(r.First, err)
	}
	if fault.Is(err, fault.IndexError) && l.opt.Imaging != nil {
		// Runs that were compacted within the last hour are in the table and in a segment. The copy
		// must have the same header.
		if folded, _ := l.segments.run(ctx, r.First); folded != nil &&
			bytes.Equal(folded.hash(), r.hash()) {
			r.Parts = folded.Parts
			return nil
		}
	}
	return err
}

// payload returns the packed payload of a run whose payload is an object.
func (l *Log[S]) payload(ctx context.Context, r *Run) ([]byte, error) {
	packed, _, err := l.opt.Bucket.Get(ctx, r.Object, 0, -1)
	switch {
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrKey):
		return nil, Damaged(r.First, err)
	case err != nil:
		return nil, notNow(ctx, "a payload of the log cannot be read",
			fmt.Errorf("read payload of run %d: %w", r.First, err))
	}
	return packed, nil
}

// Damaged returns the INDEX_ERROR of a run that is missing or not as it was written. It returns
// ErrNoLog unchanged.
func Damaged(first uint64, err error) error {
	if errors.Is(err, ErrNoLog) {
		return err
	}
	return fault.New(fault.IndexError, "the log cannot be read at %s", Version(first)).
		OnServer("doctor --full").Because(err)
}

// Part returns the part at a position. Its errors are those of RunAt; there is another one if the
// run has no such part. The caller must not change the data of the part.
func (l *Log[S]) Part(ctx context.Context, at PartRef) (Part, error) {
	r, err := l.RunAt(ctx, at.Run)
	if err != nil {
		return Part{}, err
	}
	return r.Part(at)
}

// Part returns the part of the run at a position. It returns an error if there is none.
func (r *Run) Part(at PartRef) (Part, error) {
	if at.Part < 0 || at.Part >= len(r.Parts) {
		return Part{}, fmt.Errorf("run %d has no part %d", at.Run, at.Part)
	}
	return r.Parts[at.Part], nil
}
