package eventlog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Replay rebuilds the state from the first commit. If nothing was appended meanwhile, the rebuilt
// state replaces the one in use. It returns INDEX_ERROR if a header does not continue the chain
// and, with verify, if a part does not match its digest. Options.Applied is not called. The
// returned snapshot is the rebuilt one in any case.
func (l *Log[S]) Replay(ctx context.Context, verify bool) (Snapshot[S], error) {
	r := replay[S]{log: l, verify: verify, upTo: MaxSeq, head: l.empty()}
	if r.run(ctx); r.err != nil {
		return Snapshot[S]{}, l.orErased(ctx, r.err)
	}
	h := r.head
	l.advancing.Lock()
	defer l.advancing.Unlock()
	now := *l.head.Load()
	if now.seq == h.seq {
		now.state = h.state
		l.head.Store(&now)
	}
	return h.snapshot(), nil
}

// Renew replaces the state of the log by an equal one that is based on state, which is equal to
// that of a snapshot of the log: it applies the commits after the snapshot to it. It reports
// whether it replaced the state. It does not if these commits are very large, because applying them
// takes as long as writing them; if other calls write faster than it applies; if the log was
// erased; or if the head is not the expected one at the end.
func (l *Log[S]) Renew(ctx context.Context, at Snapshot[S], state S) (renewed bool, err error) {
	from := *at.head
	from.state = state
	most := from.weight + renewLarge
	for range renewRounds { // each round applies the commits that came during the one before
		if from, err = l.foldFrom(ctx, from, most-from.weight); err != nil {
			return false, err
		}
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	if from, err = l.foldFrom(ctx, from, renewLast); err != nil { // nearly nothing is left
		return false, err
	}
	now := *l.head.Load()
	if now.status == Sealed || now.seq != from.seq {
		return false, nil
	}
	now.state = from.state
	now.renewed++
	l.head.Store(&now)
	return true, nil
}

// renewRounds is how many times Renew applies new commits before it blocks writers, renewLarge how
// many bytes, as stored, it applies at most, and renewLast how many while writers are blocked. So
// the writes of many clients are applied again, but not imports.
const (
	renewRounds = 4
	renewLarge  = 1 << 20
	renewLast   = 64 << 10
)

// foldFrom applies the commits between a head and the head of the log, without calling Applied. It
// returns from unchanged if they have at least most bytes as stored.
func (l *Log[S]) foldFrom(ctx context.Context, from head[S], most int64) (head[S], error) {
	now := l.head.Load()
	if from.seq >= now.seq || now.status == Sealed || now.weight-from.weight >= most {
		return from, nil
	}
	from.control = now.control
	r := replay[S]{log: l, upTo: now.seq, head: from}
	r.fold(ctx)
	return r.head, r.err
}

// manyRead is how many bytes a replay must have read to return memory to the operating system at
// once. The texts of a whole history are garbage then, and the garbage collector would let the heap
// grow to twice that before it runs.
const manyRead = 32 << 20

// StateAt builds the state after a commit that exists, from the newest image before it and the
// commits after that image. build is as Options.Build, but must not change anything outside of the
// state. It returns INDEX_ERROR if the log is damaged, and ErrNoLog if it does not exist or was
// erased.
func (l *Log[S]) StateAt(
	ctx context.Context, seq uint64, build func(from S, commits iter.Seq2[*Commit, PartRef]) S,
) (S, error) {
	var none S
	c, err := l.Control(ctx)
	if err != nil {
		return none, err
	}
	r := replay[S]{log: l, upTo: MaxSeq, until: seq}
	r.head, _, _ = l.newestImage(ctx, c, seq)
	r.head.control = c
	last := r.head.seq
	state := build(r.head.state, func(yield func(*Commit, PartRef) bool) {
		if last >= seq {
			return
		}
		r.each(ctx, func(c *Commit, at PartRef) bool {
			last = c.Seq
			return yield(c, at) && c.Seq < seq
		})
	})
	if r.read > manyRead {
		debug.FreeOSMemory()
	}
	switch {
	case last == seq:
		return state, nil
	case r.err != nil:
		return none, l.orErased(ctx, r.err)
	}
	return none, Damaged(last+1, errors.New("the log ends before its head"))
}

// empty returns the head of an empty log.
func (l *Log[S]) empty() head[S] { return head[S]{state: l.start, status: Active} }

// begin reads the beginning of the log into an empty head: the image in use and, in bulk, the
// commits after it that Applied may skip. That is much cheaper than applying one commit after the
// other. If this reached the end of the log, whole is true and h is the head. Otherwise the caller
// must go on from the head, and gets the error of anything that could not be read.
func (l *Log[S]) begin(ctx context.Context) (h *head[S], whole bool) {
	if l.opt.SilentUpTo == nil || l.opt.SilentUpTo() == 0 || l.begun() {
		return nil, false
	}
	select {
	case l.beginning <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-l.beginning }()
	if l.begun() {
		return nil, false
	}
	r := l.fromStart(ctx)
	if r.read > manyRead {
		debug.FreeOSMemory()
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	if known := l.head.Load().control; known.newerThan(r.head.control) {
		r.head.control = known
	}
	l.head.Store(&r.head)
	return &r.head, r.whole
}

// fromStart replays the beginning of the log. With TailFirst, it looks for an image only if
// something has left the table.
func (l *Log[S]) fromStart(ctx context.Context) replay[S] {
	r := replay[S]{log: l, upTo: l.opt.SilentUpTo()}
	if l.opt.TailFirst {
		r.head, r.met, r.tailed = l.empty(), l.learn, true
		if r.run(ctx); r.whole || l.opt.Imaging == nil {
			return r
		}
		r = replay[S]{log: l, upTo: r.upTo}
	}
	r.met = l.learn
	r.head = l.imaged(ctx, r.upTo)
	r.run(ctx)
	return r
}

// begun reports whether the head includes a commit, or is known to be that of an empty log.
func (l *Log[S]) begun() bool {
	h := l.head.Load()
	return h.seq > 0 || h.control.Format > 0
}

// learn records the idempotency key of a commit.
func (l *Log[S]) learn(c *Commit, at PartRef) {
	if c.Key != nil {
		l.keys.add(keyOf(c, at), l.opt.Now())
	}
}

// A replay builds a state from the beginning of a log, or from the position of its head. It checks
// the hash chain in any case, and with verify every part too. It ends with whole or err set, or
// with neither if it stopped before the end of the log, for example at upTo.
type replay[S any] struct {
	// log, verify and upTo are set by the caller; the replay updates head.
	log    *Log[S]
	verify bool                   // compare every part with its digest
	upTo   uint64                 // runs that end after this commit are not applied
	until  uint64                 // nothing after the run of this commit is read; 0: the whole log is
	met    func(*Commit, PartRef) // called for each commit; may be nil
	head   head[S]                // the head after the runs applied so far
	tailed bool                   // only the table is read, even if there are segments
	read   int                    // bytes of payloads
	whole  bool                   // the end of the log was reached, and nothing is missing before it
	err    error                  // why the replay ended early

	emptied map[PartRef]bool // empty parts that no commit read so far erases
}

// run applies all runs that it can read.
func (r *replay[S]) run(ctx context.Context) {
	commits := func(yield func(*Commit, PartRef) bool) { r.each(ctx, yield) }
	r.head.state = r.log.opt.Build(r.head.state, commits)
}

// fold is run without Build, which has side effects on the caches.
func (r *replay[S]) fold(ctx context.Context) {
	r.each(ctx, func(c *Commit, at PartRef) bool {
		r.head.state = r.log.opt.Apply(r.head.state, c, at)
		return true
	})
}

// each yields the commits of all runs that it can read.
func (r *replay[S]) each(ctx context.Context, yield func(*Commit, PartRef) bool) {
	folded := r.head.control.Cursors[segmentsCursor].Seq
	// The segments cursor is read before the table, so that runs which leave the table meanwhile
	// are in segments.
	if r.head.control.Format == 0 && !r.tailed {
		folded, r.err = r.log.folded(ctx)
	}
	if r.err != nil {
		return
	}
	stretch := stretch{r.head.seq + 1, folded, r.verify, r.until}
	for d := range r.log.ahead(ctx, stretch) {
		if !r.next(d, yield) {
			return
		}
	}
	r.err = context.Cause(ctx)
}

// next processes the next item. It reports whether more may follow.
func (r *replay[S]) next(d decoded, yield func(*Commit, PartRef) bool) bool {
	// The control item is the last item of the log.
	if d.Run == nil && d.err == nil {
		r.head.control, r.whole = d.control, d.control.Low <= r.head.seq
		r.err = r.notErased()
		return false
	}
	if r.err = r.joins(d); r.err != nil || d.Last > r.upTo {
		return false
	}
	r.noteEmptied(d)
	return r.take(d, yield)
}

// noteEmptied records the empty parts of a run, and deletes from the record those that a commit of
// the run erases.
func (r *replay[S]) noteEmptied(d decoded) {
	if !r.verify {
		return
	}
	if r.emptied == nil {
		r.emptied = map[PartRef]bool{}
	}
	for _, p := range d.emptied() {
		r.emptied[p] = true
	}
	for _, c := range d.commits {
		for _, p := range c.ErasedParts() {
			delete(r.emptied, p)
		}
	}
}

// notErased returns an error if a part is empty that no commit erases: it may have been removed by
// tampering.
func (r *replay[S]) notErased() error {
	if len(r.emptied) == 0 {
		return nil
	}
	first := uint64(MaxSeq)
	for p := range r.emptied {
		first = min(first, p.Run)
	}
	return offChain(first, fmt.Errorf("run %d: a part is empty, and no commit erases it", first))
}

// joins returns an error if d is not the next run of the chain.
func (r *replay[S]) joins(d decoded) error {
	if d.err != nil {
		return d.err
	}
	if d.First != r.head.seq+1 || !bytes.Equal(d.Prev, r.head.hash) {
		return offChain(d.First, nil)
	}
	return nil
}

// offChain returns the INDEX_ERROR of a run that does not continue the chain, or does not match its
// header.
func offChain(first uint64, cause error) error {
	return fault.New(fault.IndexError, "the log does not match its hash chain at %s", Version(first)).
		OnServer("doctor --full").Because(cause)
}

// take yields the commits of a run, and advances the head. It returns false if yield does.
func (r *replay[S]) take(d decoded, yield func(*Commit, PartRef) bool) bool {
	at := PartRef{Run: d.First}
	for i, c := range d.commits {
		if r.met != nil {
			r.met(c, at)
		}
		if !yield(c, at) {
			return false
		}
		r.head.seq, r.head.time = c.Seq, c.Time
		r.head.status = cmp.Or(c.Status, r.head.status)
		at.Part += len(d.Commits[i].Parts)
	}
	r.head.pass(d.Run)
	r.read += d.Size
	return true
}

// A decoded is the next item of the log: a run with its commits, the control item, which is the
// last one, or an error.
type decoded struct {
	*Run
	commits []*Commit
	control Control
	err     error
}

// A stretch is a part of the log to be read.
type stretch struct {
	from   uint64 // the first commit of its first run
	folded uint64 // commits up to here are read from segments
	verify bool   // compare each part with its digest
	until  uint64 // the run of this commit is the last; 0: all runs, and the control item
}

// ahead yields all runs of a stretch, oldest first, and then the control item if it goes to the
// end. It reads and decodes up to two items in advance while the caller uses one. It ends with the
// first error, or with the context.
func (l *Log[S]) ahead(ctx context.Context, s stretch) iter.Seq[decoded] {
	return func(yield func(decoded) bool) {
		ctx, cancel := context.WithCancel(ctx)
		next := make(chan decoded, 1)
		var reading sync.WaitGroup
		reading.Go(func() {
			defer close(next)
			l.decodeAll(ctx, s, func(d decoded) bool {
				select {
				case next <- d:
					return d.err == nil
				case <-ctx.Done():
					return false
				}
			})
		})
		defer reading.Wait()
		defer cancel()
		for d := range next {
			if !yield(d) {
				return
			}
		}
	}
}

// decodeAll passes all items of a stretch to send, until there is an error or send returns false.
// It reads whole segments up to s.folded, and the table from there. If a segment is missing or
// damaged whose runs are still in the table, it goes on with the table from that run.
func (l *Log[S]) decodeAll(ctx context.Context, s stretch, send func(decoded) bool) {
	for r, err := range l.segments.from(ctx, l.code, s.from, s.folded) {
		if l.stillInTable(ctx, s.from, err) {
			break
		}
		if !send(l.decode(ctx, r, err, s.verify)) {
			return
		}
		if s.until > 0 && r.Last >= s.until {
			return
		}
		s.from = r.Last + 1
	}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(s.from), controlKey) {
		d := l.decodeItem(ctx, it, err, s.verify)
		if !send(d) || s.until > 0 && d.Run != nil && d.Last >= s.until {
			return
		}
	}
}

// decodeItem decodes an item of the table, and loads the payload of a run.
func (l *Log[S]) decodeItem(
	ctx context.Context, it table.Item, err error, verify bool,
) decoded {
	if err != nil {
		return decoded{err: Unreadable(ctx, err)}
	}
	if it.Sort == controlKey {
		c, err := liveControl(it)
		return decoded{control: c, err: err}
	}
	r, err := l.read(it)
	return l.decode(ctx, r, err, verify)
}

// decode loads the payload of a run, verifies it if verify is set, and decodes its commits.
func (l *Log[S]) decode(ctx context.Context, r *Run, err error, verify bool) decoded {
	if err == nil {
		err = l.load(ctx, r)
	}
	if err != nil {
		return decoded{err: err}
	}
	if verify {
		if err := r.verify(); err != nil {
			return decoded{err: offChain(r.First, err)}
		}
	}
	commits, err := r.Decode()
	if err != nil {
		return decoded{err: Damaged(r.First, err)}
	}
	return decoded{Run: r, commits: commits}
}
