package repo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"

	"rookery/internal/fault"
	"rookery/internal/table"
)

// Replay folds the whole log anew from its first commit on. If nothing was appended meanwhile, what
// it makes is the state that is used from then on. A header that does not join the one before is
// INDEX_ERROR, and with verify a part that is not what its header says.
func (l *Log[S]) Replay(ctx context.Context, verify bool) (Snapshot[S], error) {
	r := replay[S]{log: l, verify: verify, upTo: maxSeq, head: l.empty()}
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

// renew replaces the state of the log by an equal one that goes on from another head: from, behind which
// the commits up to the head of the log are folded again. It reports whether it did. It does nothing where these are
// very large, for to fold them takes as long as to write them; where others write faster than they are folded; where
// the log was erased; and where its head is not known to go on from there.
func (l *Log[S]) renew(ctx context.Context, from head[S]) (renewed bool, err error) {
	most := from.weight + renewLarge
	for range renewRounds { // each has what came during the one before
		if from, err = l.foldFrom(ctx, from, most-from.weight); err != nil {
			return false, err
		}
	}
	l.advancing.Lock()
	defer l.advancing.Unlock()
	if from, err = l.foldFrom(ctx, from, largeRun); err != nil { // next to nothing
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

// renewRounds is how often renew folds what came meanwhile before it keeps others from writing, and renewLarge
// how many bytes, as they are stored, it folds at most. So the writes of many clients are folded again, and imports
// are not.
const (
	renewRounds = 4
	renewLarge  = 1 << 20
)

// foldFrom folds the commits between a head and the head of the log, of which nobody is told, if they have fewer
// than some bytes as they are stored.
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

// manyRead is how many bytes a replay must have read for it to give back at once what it used: the
// texts of a whole history are garbage then, and the collector would let as much again come together
// before it looks.
const manyRead = 32 << 20

// empty is the head of an empty log.
func (l *Log[S]) empty() head[S] { return head[S]{state: l.start, status: Active} }

// begin takes the beginning of the log, of which nobody needs to be told, into an empty head: the image
// in force, and what comes behind it as a whole, which is much cheaper than one commit after the other.
// If that was all of the log, it is the head. Else who called goes on from there, and meets what could
// not be taken.
func (l *Log[S]) begin(ctx context.Context) (h *head[S], whole bool) {
	if l.opt.Untold == nil || l.opt.Untold() == 0 || l.begun() {
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

// fromStart is a replay of the beginning of the log. Of a log that is short as a rule the image is not
// asked for, unless something has left the table.
func (l *Log[S]) fromStart(ctx context.Context) replay[S] {
	r := replay[S]{log: l, upTo: l.opt.Untold()}
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

// begun reports whether the head has taken something, or knows that there is nothing.
func (l *Log[S]) begun() bool {
	h := l.head.Load()
	return h.seq > 0 || h.control.Format > 0
}

// learn makes the idempotency key of a commit known.
func (l *Log[S]) learn(c *Commit, at Place) {
	if c.Key != nil {
		l.keys.add(keyOf(c, at), l.opt.Now())
	}
}

// A replay makes a state from the beginning of a log, or from where its head is.
type replay[S any] struct {
	log    *Log[S]
	verify bool
	upTo   uint64               // runs that go beyond this commit are not taken
	met    func(*Commit, Place) // if not nil, told of each commit
	head   head[S]              // after what was taken
	tailed bool                 // only the table is read, whatever segments hold
	read   int                  // bytes of payloads
	whole  bool                 // that was all: nothing left the table before it was read
	err    error                // why not all was taken

	emptied map[Place]bool // parts that are empty, and that no commit erases so far
}

// run takes all runs that it can.
func (r *replay[S]) run(ctx context.Context) {
	commits := func(yield func(*Commit, Place) bool) { r.each(ctx, yield) }
	r.head.state = r.log.opt.Build(r.head.state, commits)
}

// fold is run without Build, which may tell others of the commits.
func (r *replay[S]) fold(ctx context.Context) {
	r.each(ctx, func(c *Commit, at Place) bool {
		r.head.state = r.log.opt.Fold(r.head.state, c, at)
		return true
	})
}

// each yields the commits of all runs that it can take.
func (r *replay[S]) each(ctx context.Context, yield func(*Commit, Place) bool) {
	folded := r.head.control.Cursors[segmentsCursor].Seq
	if r.head.control.Format == 0 && !r.tailed {
		folded, r.err = r.log.folded(ctx)
	}
	if r.err != nil {
		return
	}
	stretch := stretch{r.head.seq + 1, folded, r.verify}
	for d := range r.log.ahead(ctx, stretch) {
		if !r.next(d, yield) {
			return
		}
	}
	r.err = context.Cause(ctx)
}

// next takes what comes next. It reports whether something may follow.
func (r *replay[S]) next(d decoded, yield func(*Commit, Place) bool) bool {
	if d.run == nil && d.err == nil {
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

// noteEmptied notes the parts of a run that are empty, and takes those off that a commit in it erases.
func (r *replay[S]) noteEmptied(d decoded) {
	if !r.verify {
		return
	}
	if r.emptied == nil {
		r.emptied = map[Place]bool{}
	}
	for _, p := range d.emptied() {
		r.emptied[p] = true
	}
	for _, c := range d.commits {
		for _, p := range c.erases() {
			delete(r.emptied, p)
		}
	}
}

// notErased is a fault if a part is empty that no commit erases: somebody wants to hide what it said.
func (r *replay[S]) notErased() error {
	if len(r.emptied) == 0 {
		return nil
	}
	first := uint64(maxSeq)
	for p := range r.emptied {
		first = min(first, p.Run)
	}
	return offChain(first, fmt.Errorf("run %d: a part is empty, and no commit erases it", first))
}

// joins is why a run is not the next one.
func (r *replay[S]) joins(d decoded) error {
	if d.err != nil {
		return d.err
	}
	if d.First != r.head.seq+1 || !bytes.Equal(d.Prev, r.head.hash) {
		return offChain(d.First, nil)
	}
	return nil
}

// offChain is the fault of a run that does not join the one before, or is not what its header says.
func offChain(first uint64, cause error) error {
	return fault.New(fault.IndexError, "the log is not what its chain says at %s", Version(first)).
		OnServer("doctor --full").Because(cause)
}

// take takes a run.
func (r *replay[S]) take(d decoded, yield func(*Commit, Place) bool) bool {
	at := Place{Run: d.First}
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
	r.head.pass(d.run)
	r.read += d.Size
	return true
}

// A decoded is an item of the log: a run together with its commits, or the control item, which is
// the last one; or why it cannot be had.
type decoded struct {
	*run
	commits []*Commit
	control Control
	err     error
}

// A stretch is a part of the log that is read: to its end.
type stretch struct {
	from   uint64 // the commit that its first run begins with
	folded uint64 // up to here it is read from segments
	verify bool   // each part is to be compared with its digest
}

// ahead yields all runs of a stretch, oldest first, and the control item. While one is used the next two
// are read and decoded; no more are in memory. It ends with the first error, or with the context.
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

// decodeAll sends everything until there is an error, or nobody wants more.
func (l *Log[S]) decodeAll(ctx context.Context, s stretch, send func(decoded) bool) {
	for r, err := range l.segments.from(ctx, l.code, s.from, s.folded) {
		if l.stillInTable(ctx, s.from, err) {
			break
		}
		if !send(l.decode(ctx, r, err, s.verify)) {
			return
		}
		s.from = r.Last + 1
	}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(s.from), controlKey) {
		if !send(l.decodeItem(ctx, it, err, s.verify)) {
			return
		}
	}
}

// decodeItem reads an item, and the payload of a run.
func (l *Log[S]) decodeItem(
	ctx context.Context, it table.Item, err error, verify bool,
) decoded {
	if err != nil {
		return decoded{err: unreadable(ctx, err)}
	}
	if it.Sort == controlKey {
		c, err := liveControl(it)
		return decoded{control: c, err: err}
	}
	r, err := l.read(it)
	return l.decode(ctx, r, err, verify)
}

// decode reads what a run holds.
func (l *Log[S]) decode(ctx context.Context, r *run, err error, verify bool) decoded {
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
	commits, err := r.commits()
	if err != nil {
		return decoded{err: damaged(r.First, err)}
	}
	return decoded{run: r, commits: commits}
}
