package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/table"
)

// Times of an erasure (log.md §2.8). An append is sent for minutes after the Query that it builds on,
// and a PUT may arrive as late: so for a day something stands in the place of every log item, and
// objects are looked for again after an hour.
const (
	tombstoneLife = 24 * time.Hour

	// SweepAgain is how long after an erasure the second one is due, which finds what came late.
	SweepAgain = time.Hour
)

// Erased counts what an erasure destroyed.
type Erased struct {
	Items   int    `json:"items"`   // of the table
	Objects int    `json:"objects"` // of the bucket
	Files   int    `json:"files"`   // that people saw
	Bytes   int64  `json:"bytes"`   // of all these
	Expires []Rest `json:"expires"` // what is still there, and until when
}

// A Rest is something that holds no text and goes by itself.
type Rest struct {
	What  string    `json:"what"`
	Until time.Time `json:"until"`
}

// Add counts more. Of what expires the last one of a kind is told.
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

// Erase destroys the vault: it is sealed, so that no write comes after, and then every item and object
// of this incarnation goes, and what this process knows of it. From then on it is NOT_FOUND to
// everybody, whatever they hold. A call that a crash ended is repeated; a repetition after SweepAgain
// destroys what came late. The files of a checkout are not the vault's own to erase, and must have been
// cleared before, for the log says which they are: between Seal and Erase.
func (v *Vault) Erase(ctx context.Context, c Call) (Erased, error) {
	gone, err := v.log.Erase(ctx, c)
	if c.DryRun {
		return gone, err
	}
	v.dropAll()
	return gone, errors.Join(err, v.searcher.forget(ctx), v.memories.forget(ctx))
}

// Seal ends the vault's log, if there is one: a commit to which every append loses, and which no other
// follows. To seal twice does no harm.
func (v *Vault) Seal(ctx context.Context, c Call) error { return v.log.Seal(ctx, c) }

// Seal ends the log, if there is one: see Vault.Seal.
func (l *Log[S]) Seal(ctx context.Context, c Call) error {
	c.Key, c.IfVersion, c.DryRun, c.Revives = "", 0, false, true
	_, err := l.Update(ctx, c, func(_ context.Context, d *Draft[S]) (any, error) {
		d.SetStatus(Sealed)
		return nil, nil
	})
	switch {
	case errors.Is(err, ErrNoLog): // it is sealed already, or gone
		return nil
	case fault.Is(err, fault.IndexError):
		return l.bar(ctx) // what cannot be read can be erased all the same
	}
	return err
}

// Erase destroys the log as Vault.Erase does a vault's: it is sealed, and then every item of its partition and
// every object of its bucket goes. In a dry run they are only counted.
func (l *Log[S]) Erase(ctx context.Context, c Call) (Erased, error) {
	if c.DryRun {
		return l.sweepErased(ctx, false)
	}
	if !l.sealed(ctx) {
		if err := l.Seal(ctx, c); err != nil {
			return Erased{}, err
		}
	}
	return l.sweepErased(ctx, true)
}

// Sealed reports whether the vault's log is known to be sealed. It reads the end of the log in the table, and no state.
func (v *Vault) Sealed(ctx context.Context) bool { return v.log.sealed(ctx) }

// sealed reports whether the control item, or the last run that is in the table, says that the log is sealed: no commit
// follows that one. Where it cannot be told from these, the log is not known to be sealed.
func (l *Log[S]) sealed(ctx context.Context) bool {
	c, err := l.Control(ctx)
	if err != nil {
		return errors.Is(err, ErrNoLog)
	}
	from := max(c.Low, c.Cursors[segmentsCursor].Seq) + 1
	var last table.Item
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(from), runKey(maxSeq)) {
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

// bar seals a log that cannot be read: a tombstone stands where the next run would be.
func (l *Log[S]) bar(ctx context.Context) error {
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
		for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(from), runKey(maxSeq)) {
			if err != nil {
				return unreadable(ctx, err)
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

// nextRuns are the commits that the run behind an item may begin with; none if that is a tombstone.
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

// isTombstone reports whether the data of a log item is that of a tombstone: a header without bytes, and
// nothing behind it. Who reads one is told that there is no log.
func isTombstone(data []byte) bool { return len(data) == 1 && data[0] == 0 }

// tombstone is what stands in the place of a log item, so that no append succeeds there.
func (l *Log[S]) tombstone(sort string) table.Item {
	return table.Item{
		Key: table.Key{Part: l.opt.Part, Sort: sort}, Data: []byte{0},
		Expires: l.opt.Now().Add(tombstoneLife),
	}
}

// lastSort is behind every key of a partition.
const lastSort = "\U0010FFFF"

// sweepErased destroys what a sealed log has, or only counts it. What this process folds is waited for.
func (l *Log[S]) sweepErased(ctx context.Context, destroy bool) (Erased, error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	if !destroy {
		return l.countErased(ctx)
	}
	if err := l.sealControl(ctx); err != nil {
		return Erased{}, err
	}
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

// sealControl replaces the control item by one that says only that the log is sealed. It goes after a
// day, when no append can arrive any more.
func (l *Log[S]) sealControl(ctx context.Context) error {
	for {
		key := table.Key{Part: l.opt.Part, Sort: controlKey}
		old, err := l.opt.Table.Get(ctx, key)
		if errors.Is(err, table.ErrNotFound) {
			return nil
		}
		if err != nil {
			return unreadable(ctx, err)
		}
		c, err := readControl(old)
		if err != nil {
			return err
		}
		if !c.Sealed.IsZero() {
			return nil
		}
		now := l.opt.Now()
		data, err := json.Marshal(Control{
			Format: controlFormat, Rev: c.Rev + 1, Made: c.Made, Sealed: now.UTC(),
		})
		if err != nil {
			return fmt.Errorf("encode the control item: %w", err)
		}
		next := table.Item{Key: key, Data: data, Expires: now.Add(tombstoneLife)}
		var conflict *table.Conflict
		err = l.opt.Table.Commit(ctx, table.Replace(old, next))
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

// buryItems puts tombstones in the place of log items, and removes the others.
func (l *Log[S]) buryItems(ctx context.Context) (Erased, error) {
	var done Erased
	var ops []table.Op
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, "", lastSort) {
		if err != nil {
			return done, unreadable(ctx, err)
		}
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

// count counts an item.
func (e *Erased) count(it table.Item) {
	e.Items++
	e.Bytes += int64(len(it.Part) + len(it.Sort) + len(it.Data))
}

// countErased is what an erasure would destroy.
func (l *Log[S]) countErased(ctx context.Context) (Erased, error) {
	var all Erased
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, "", lastSort) {
		if err != nil {
			return all, unreadable(ctx, err)
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

// bury forgets the state of a sealed log. Who holds the log reads nothing in it any more.
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

// orErased is the error of a read, or ErrNoLog if what it did not find was erased meanwhile.
func (l *Log[S]) orErased(ctx context.Context, err error) error {
	if !fault.Is(err, fault.IndexError) {
		return err
	}
	if _, gone := l.Control(ctx); errors.Is(gone, ErrNoLog) {
		return ErrNoLog
	}
	return err
}

// orNone is the error of a vault, NOT_FOUND if there is none, or it is in the trash. Of one that is gone nothing is
// kept.
func (v *Vault) orNone(err error) error {
	if errors.Is(err, errTrashed) {
		return fault.NoVault(v.Name)
	}
	if !errors.Is(err, ErrNoLog) {
		return err
	}
	if h := v.log.head.Load(); h.seq > 0 {
		if h.status != Sealed {
			v.log.bury()
		}
		v.dropAll()
	}
	return fault.NoVault(v.Name)
}

// dropAll forgets the texts and the past states of the vault.
func (v *Vault) dropAll() {
	v.texts.dropAll(v.part)
	v.texts.changes.dropAll(v.texts.tenant, v.part)
	v.pasts.dropAll(v)
}
