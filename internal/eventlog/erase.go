package eventlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Times of an erasure (log.md §2.8). An append may be sent for minutes after the Query that it is
// based on, and may arrive late. Therefore tombstones replace the log items for a day, and objects
// are deleted once more after an hour.
const (
	tombstoneLife = 24 * time.Hour

	// SweepAgain is when after an erasure a second one is due, which deletes late writes.
	SweepAgain = time.Hour
)

// An Erased counts the items, objects and files that an erasure destroyed.
type Erased struct {
	Items   int    `json:"items"`   // items of the table
	Objects int    `json:"objects"` // objects of the bucket
	Files   int    `json:"files"`   // files of the checkout
	Bytes   int64  `json:"bytes"`   // total size of these
	Expires []Rest `json:"expires"` // data that remains, and until when
}

// A Rest is something that remains after an erasure. It contains no text, and expires.
type Rest struct {
	What  string    `json:"what"`
	Until time.Time `json:"until"`
}

// Add adds the counts of another erasure. Of the Expires entries with the same What, the latest is
// kept.
func (e *Erased) Add(more Erased) {
	e.Items += more.Items
	e.Objects += more.Objects
	e.Files += more.Files
	e.Bytes += more.Bytes
	for _, r := range more.Expires {
		i := slices.IndexFunc(e.Expires, func(old Rest) bool { return old.What == r.What })
		if i < 0 {
			e.Expires = append(e.Expires, r)
		} else if r.Until.After(e.Expires[i].Until) {
			e.Expires[i] = r
		}
	}
}

// Seal ends the log, if it exists, with a commit after which no append succeeds. Sealing twice does
// no harm. It ignores the idempotency key, the version and the dry run of the call.
func (l *Log[S]) Seal(ctx context.Context, c Call) error {
	// Sealing must succeed in any status and must not depend on an idempotency key.
	c.Key, c.IfVersion, c.DryRun, c.AllowInactive = "", 0, false, true
	_, err := l.Update(ctx, c, func(_ context.Context, d *Draft[S]) (any, error) {
		d.SetStatus(Sealed)
		return nil, nil
	})
	switch {
	case errors.Is(err, ErrNoLog): // already sealed, or erased
		return nil
	case fault.Is(err, fault.IndexError):
		return l.sealUnreadable(ctx) // a damaged log can be erased too
	}
	return err
}

// The steps of an erasure, each of which may be repeated: a commit with the status Sealed, after
// which every append loses; a control item that contains only that the log is sealed, from which
// readers learn that it is gone; tombstones in place of the log items, so that a late append
// conflicts; the removal of all other items; and the deletion of all objects with their earlier
// versions. Tombstones and the control item expire after a day. Whatever a suspended process writes
// after its object was deleted is deleted by the repetition after SweepAgain.

// Erase destroys the log: it seals the log, so that no write follows, and then deletes every item
// of its partition and every object of its bucket, and the state in memory. From then on every
// operation returns ErrNoLog. A call that a crash interrupted must be repeated; a repetition after
// SweepAgain deletes late writes. In a dry run the items and objects are only counted. If Erase
// fails, the counts are those of the work that was done.
func (l *Log[S]) Erase(ctx context.Context, c Call) (Erased, error) {
	if c.DryRun {
		return l.sweepErased(ctx, false)
	}
	if !l.IsSealed(ctx) {
		if err := l.Seal(ctx, c); err != nil {
			return Erased{}, err
		}
	}
	return l.sweepErased(ctx, true)
}

// IsSealed reports whether the log is sealed according to the control item or the last run in the
// table. It returns false if neither shows it, or if they cannot be read.
func (l *Log[S]) IsSealed(ctx context.Context) bool {
	c, err := l.Control(ctx)
	if err != nil {
		return errors.Is(err, ErrNoLog)
	}
	from := max(c.Low, c.Cursors[segmentsCursor].Seq) + 1
	var last table.Item
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(from), runKey(MaxSeq)) {
		if err != nil {
			return false
		}
		last = it
	}
	r, _, err := readItem(last.Data)
	if err != nil {
		return errors.Is(err, ErrNoLog)
	}
	return r.Commits[len(r.Commits)-1].Status == Sealed
}

// sealUnreadable seals a log that cannot be read: it puts a tombstone where the next run would be.
func (l *Log[S]) sealUnreadable(ctx context.Context) error {
	c, err := l.Control(ctx)
	if errors.Is(err, ErrNoLog) {
		return nil
	}
	if err != nil {
		return err
	}
	from := max(c.Low, c.Cursors[segmentsCursor].Seq) + 1
	for {
		next := []uint64{from}
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(from), runKey(MaxSeq)) {
			if err != nil {
				return Unreadable(ctx, err)
			}
			next = nextRuns(it)
		}
		var ops []table.Op
		for _, seq := range next {
			ops = append(ops, table.Create(l.tombstone(runKey(seq))))
		}
		if len(ops) == 0 {
			return nil
		}
		var conflict *table.Conflict
		if err := l.opt.Table.Commit(ctx, ops...); !errors.As(err, &conflict) {
			return err
		}
	}
}

// nextRuns returns the commits with which the run after an item may begin; nil if the item is a
// tombstone. If the item cannot be decoded, the length of its run is unknown and all possible ones
// are returned.
func nextRuns(it table.Item) []uint64 {
	r, _, err := readItem(it.Data)
	if err == nil {
		return []uint64{r.Last + 1}
	}
	if errors.Is(err, ErrNoLog) {
		return nil
	}
	first, _ := RunAt(it.Sort)
	var all []uint64
	for n := range uint64(maxRun) {
		all = append(all, first+n+1)
	}
	return all
}

// isTombstone reports whether the data of a log item is that of a tombstone: an empty header and
// nothing else. Readers of a tombstone get ErrNoLog.
func isTombstone(data []byte) bool { return len(data) == 1 && data[0] == 0 }

// tombstone returns an item that replaces a log item, so that no append succeeds with its key.
func (l *Log[S]) tombstone(sort string) table.Item {
	return table.Item{
		Key: table.Key{Part: l.opt.Part, Sort: sort}, Data: []byte{0},
		Expires: l.opt.Now().Add(tombstoneLife),
	}
}

// lastSort sorts after every key of a partition.
const lastSort = "\U0010FFFF"

// sweepErased destroys all that a sealed log has, or only counts it if destroy is false. It waits
// for a compaction pass of this process to end.
func (l *Log[S]) sweepErased(ctx context.Context, destroy bool) (Erased, error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	if !destroy {
		return l.countErased(ctx)
	}
	if err := l.sealControl(ctx); err != nil {
		return Erased{}, err
	}
	// From here on, readers in this process find the log sealed.
	l.bury()
	done, err := l.buryItems(ctx)
	if err != nil {
		return done, err
	}
	gone, err := blob.Erase(ctx, l.opt.Bucket, "")
	done.Objects, done.Bytes = gone.Objects, done.Bytes+gone.Bytes
	if err != nil {
		return done, fmt.Errorf("erase the objects of a log: %w", err)
	}
	done.Expires = []Rest{{"tombstones", l.opt.Now().Add(tombstoneLife).UTC().Truncate(time.Millisecond)}}
	return done, nil
}

// sealControl replaces the control item by one that contains only that the log is sealed. It
// expires after a day, when no append can arrive any more.
func (l *Log[S]) sealControl(ctx context.Context) error {
	for {
		key := table.Key{Part: l.opt.Part, Sort: controlKey}
		old, err := l.opt.Table.Get(ctx, key)
		if errors.Is(err, table.ErrNotFound) {
			return nil
		}
		if err != nil {
			return Unreadable(ctx, err)
		}
		c, err := readControl(old)
		if err != nil {
			return err
		}
		if !c.Sealed.IsZero() {
			return nil
		}
		now := l.opt.Now()
		sealed := Control{Format: controlFormat, Rev: c.Rev + 1, Made: c.Made, Sealed: now.UTC()}
		data, err := sealed.encode()
		if err != nil {
			return err
		}
		next := table.Item{Key: key, Data: data, Expires: now.Add(tombstoneLife)}
		var conflict *table.Conflict
		err = l.opt.Table.Commit(ctx, table.Replace(old, next))
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

// buryItems replaces log items by tombstones, and removes all other items except the control item.
func (l *Log[S]) buryItems(ctx context.Context) (Erased, error) {
	var done Erased
	var ops []table.Op
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, "", lastSort) {
		if err != nil {
			return done, Unreadable(ctx, err)
		}
		// The control item has been replaced by sealControl.
		if it.Sort == controlKey || isTombstone(it.Data) {
			continue
		}
		if done.count(it); strings.HasPrefix(it.Sort, runPrefix) {
			ops = append(ops, table.Set(l.tombstone(it.Sort)))
		} else {
			ops = append(ops, table.Remove(it.Key))
		}
		if len(ops) == table.MaxOps {
			if err := l.remove(ctx, ops); err != nil {
				return done, err
			}
			ops = nil
		}
	}
	return done, l.remove(ctx, ops)
}

// count adds an item.
func (e *Erased) count(it table.Item) {
	e.Items++
	e.Bytes += int64(len(it.Part) + len(it.Sort) + len(it.Data))
}

// countErased returns the counts of a dry run.
func (l *Log[S]) countErased(ctx context.Context) (Erased, error) {
	var all Erased
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, "", lastSort) {
		if err != nil {
			return all, Unreadable(ctx, err)
		}
		if it.Sort != controlKey && !isTombstone(it.Data) {
			all.count(it)
		}
	}
	for o, err := range l.opt.Bucket.List(ctx, "") {
		if err != nil {
			return all, fmt.Errorf("list the objects of a log: %w", err)
		}
		all.Objects++
		all.Bytes += o.Size
	}
	return all, nil
}

// bury drops the state of a sealed log from memory. Later reads of the log find it sealed.
func (l *Log[S]) bury() {
	l.advancing.Lock()
	defer l.advancing.Unlock()
	h := *l.head.Load()
	h.state, h.status, h.control = l.start, Sealed, Control{}
	l.head.Store(&h)
	l.base.Store(nil)
	l.keys.begin(nil)
	l.segments.forget()
}

// Forget drops the state of a log that no longer exists from memory, if there is one, and reports
// whether there was. Later reads of the log find it sealed.
func (l *Log[S]) Forget() bool {
	h := l.head.Load()
	if h.seq > 0 && h.status != Sealed {
		l.bury()
	}
	return h.seq > 0
}

// orErased returns err or, if err is INDEX_ERROR because the log was erased meanwhile, ErrNoLog.
func (l *Log[S]) orErased(ctx context.Context, err error) error {
	if !fault.Is(err, fault.IndexError) {
		return err
	}
	if _, gone := l.Control(ctx); errors.Is(gone, ErrNoLog) {
		return ErrNoLog
	}
	return err
}
