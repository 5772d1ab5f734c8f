package repo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rookery/internal/fault"
	"rookery/internal/table"
)

// Cursors of the consumers that every vault has.
const (
	FilesCursor = "checkout" // the files of its notes
	AuditCursor = "audit"    // its audit log
)

// controlFormat is the version of a log as a whole: of its keys and items.
const controlFormat = 1

// A Control is the control item of a log: what is known of the log beside its commits. It is made
// with the log and changed only by Replace; its cursors only grow (log.md §1).
type Control struct {
	Format    int               `json:"format"`
	Rev       uint64            `json:"rev"` // counts the changes of this item
	Made      time.Time         `json:"made"`
	Sealed    time.Time         `json:"sealed,omitzero"` // the log is being erased since then
	Low       uint64            `json:"low,omitempty"`   // log items up to here may be gone
	Cursors   map[string]Cursor `json:"cursors,omitempty"`
	Memory    int64             `json:"memory,omitempty"`  // about how many bytes the vault takes when it is open
	Image     *Image            `json:"image,omitempty"`   // in force
	Images    []Image           `json:"images,omitempty"`  // earlier ones that are still there
	Waiting   *Image            `json:"waiting,omitempty"` // it is there, and followers have not passed it yet
	Weight    int64             `json:"weight,omitempty"`  // bytes of the log that segments hold
	Passed    []Mark            `json:"passed,omitempty"`  // log items that may leave the table, oldest first
	Swept     time.Time         `json:"swept,omitzero"`    // when leftovers were looked for last
	Sweep     *Sweep            `json:"sweep,omitempty"`   // the result of the last one
	Noticed   *Noticed          `json:"noticed,omitempty"`
	Held      *Held             `json:"held,omitempty"`      // a batch of changes from outside that waits for a word
	Left      *Left             `json:"left,omitempty"`      // files that cannot be taken in
	Unwatched Unwatched         `json:"unwatched,omitempty"` // why changes of files may not be noticed at once
	Late      *Late             `json:"late,omitempty"`      // files that are, or were, behind the log
	Lease     *Lease            `json:"lease,omitempty"`     // of a reindex that is running
	Erasing   *Erasing          `json:"erasing,omitempty"`
	Erased    uint64            `json:"erased,omitempty"`  // the last commit that erased a history, of those done
	Anew      bool              `json:"anew,omitempty"`    // the audit log has lines of it, and is to be made anew
	FoldDue   time.Time         `json:"fold_due,omitzero"` // a message that asks for a pass comes then; see Fold
	Passing   *Lease            `json:"passing,omitempty"` // of a pass that such a message has begun
}

// A Cursor says how far a consumer of the log has come. What it made of the commits up to Seq is
// durable.
type Cursor struct {
	Seq   uint64 `json:"seq"`
	Size  int64  `json:"size,omitempty"`  // of the file that the consumer appends to
	Month string `json:"month,omitempty"` // of the commits in that file, if it has those of one month
	Turn  uint64 `json:"turn,omitempty"`  // how often the consumer looked again at what it had passed
}

// behind reports whether a cursor has not come as far as another.
func (c Cursor) behind(to Cursor) bool {
	return c.Seq < to.Seq || c.Seq == to.Seq && c.Month < to.Month
}

// A Mark says that every cursor had passed a commit at a time.
type Mark struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

// A Sweep is what a comparison of the checkout with the log found that nobody takes in: what lies in
// the place of a note and cannot be one, and files that cannot be written.
type Sweep struct {
	At      time.Time `json:"at"`
	Version uint64    `json:"version"`
	Edited  []string  `json:"edited,omitempty"`  // notes in whose place something else lies; at most 100
	Missing []string  `json:"missing,omitempty"` // notes whose file is gone; at most 100
	Count   int       `json:"count,omitempty"`   // of all that were edited
	Missed  int       `json:"missed,omitempty"`  // of all that are missing

	// Listed is when the last comparison of all objects of a bucket began; zero: there was none. Version is then the
	// last one whose files were compared.
	Listed time.Time `json:"listed,omitzero"`
}

// Folded returns the last commit that a segment holds.
func (c *Control) Folded() uint64 { return c.Cursors[segmentsCursor].Seq }

// PassDue reports whether a pass has something to do that only time has made due: to let items leave the table that these
// followers and the log's own have passed, to look for leftovers, or to finish what an earlier pass began.
func (c *Control) PassDue(behind []string, now time.Time) bool {
	return c.sweepDue(now) || c.trims(Folding{Behind: behind}, now) || c.Waiting != nil ||
		c.Erasing != nil && c.Erasing.Upto == 0
}

func (c Control) newerThan(d Control) bool { return c.Rev > d.Rev || d.Format == 0 }

// liveControl is readControl of a log that is not being erased; of one that is, it is ErrNoLog.
func liveControl(it table.Item) (Control, error) {
	c, err := readControl(it)
	if err == nil && !c.Sealed.IsZero() {
		err = ErrNoLog
	}
	return c, err
}

// liveControl reads the control item of a log that is not being erased. It decodes no item that equals the one before:
// most calls read it, and few change it.
func (l *Log[S]) liveControl(it table.Item) (Control, error) {
	if last := l.controlRead.Load(); last != nil && bytes.Equal(last.data, it.Data) {
		return last.control, nil
	}
	c, err := liveControl(it)
	if err == nil {
		l.controlRead.Store(&controlRead{it.Data, c})
	}
	return c, err
}

// A controlRead is a control item that was read, and what it says, which is not to be changed.
type controlRead struct {
	data    []byte
	control Control
}

func readControl(it table.Item) (Control, error) {
	var c Control
	if err := json.Unmarshal(it.Data, &c); err != nil {
		return c, fmt.Errorf("decode the control item: %w", err)
	}
	if c.Format > controlFormat {
		return c, errFormat
	}
	return c, nil
}

// Create makes the log: its control item. A log that is there already is ErrLogExists.
func (l *Log[S]) Create(ctx context.Context) error {
	return l.create(ctx, Control{Made: l.opt.Now().UTC()})
}

// ErrLogExists says that a log was to be made where there is one.
var ErrLogExists = errors.New("the log exists")

// Control is the control item as it is now.
func (l *Log[S]) Control(ctx context.Context) (Control, error) {
	c, _, err := l.controlItem(ctx)
	return c, err
}

func (l *Log[S]) controlItem(ctx context.Context) (Control, table.Item, error) {
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: controlKey})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return Control{}, it, ErrNoLog
	case err != nil:
		return Control{}, it, unreadable(ctx, err)
	}
	c, err := liveControl(it)
	return c, it, err
}

// Change changes the control item. The function may run again, on a newer item; if it returns false
// nothing is written: no progress, no write.
func (l *Log[S]) Change(ctx context.Context, change func(*Control) bool) error {
	for {
		c, old, err := l.controlItem(ctx)
		if err != nil {
			return err
		}
		if !change(&c) {
			return nil
		}
		c.Rev++
		data, err := json.Marshal(c)
		if err != nil {
			return fmt.Errorf("encode the control item: %w", err)
		}
		next := table.Item{Key: old.Key, Data: data}
		err = l.opt.Table.Commit(ctx, table.Replace(old, next))
		var conflict *table.Conflict
		if errors.As(err, &conflict) {
			continue
		}
		if err != nil {
			return fault.New(fault.Unavailable, "the state of the log cannot be written just now").
				After(time.Second).Because(err)
		}
		l.withControl(c)
		return nil
	}
}

// Advance moves a cursor forward, never back: to a later commit, or to the file of a later month.
func (l *Log[S]) Advance(ctx context.Context, consumer string, to Cursor) error {
	return l.Change(ctx, func(c *Control) bool {
		if !c.Cursors[consumer].behind(to) {
			return false
		}
		if c.Cursors == nil {
			c.Cursors = map[string]Cursor{}
		}
		c.Cursors[consumer] = to
		return true
	})
}
