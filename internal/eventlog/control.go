package eventlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// controlFormat is the version of the keys and items of a log as a whole.
const controlFormat = 1

// A Control is the control item of a log: the state of the log that is not in its commits. It is
// created with the log and changed only by conditional writes; its cursors only grow (log.md §1).
// Every Query of the tail returns it, so its size is part of the cost of every read.
//
// Two positions divide the commits. Those up to Low are read from segments only. Those between Low
// and the segments cursor are in segments and in the table. Later ones are only in the table. Low
// is never after the segments cursor.
type Control struct {
	Format  int               `json:"format"`
	Rev     uint64            `json:"rev"`               // counts the changes of this item
	Made    time.Time         `json:"made"`              // when the log was created
	Sealed  time.Time         `json:"sealed,omitzero"`   // when the log was sealed to be erased; zero: it is not
	Low     uint64            `json:"low,omitempty"`     // log items of commits up to here may have been removed
	Cursors map[string]Cursor `json:"cursors,omitempty"` // by consumer
	Memory  int64             `json:"memory,omitempty"`  // about how many bytes of memory the open vault takes
	Image   *Image            `json:"image,omitempty"`   // the image that a start uses
	Images  []Image           `json:"images,omitempty"`  // earlier images that still exist
	Waiting *Image            `json:"waiting,omitempty"` // next image; followers have not passed it
	Weight  int64             `json:"weight,omitempty"`  // bytes of the log that are in segments
	Passed  []Mark            `json:"passed,omitempty"`  // candidates for leaving the table, oldest first
	Swept   time.Time         `json:"swept,omitzero"`    // when orphans were last searched for
	Erasing *Erasing          `json:"erasing,omitempty"` // erasures of histories in progress
	Erased  uint64            `json:"erased,omitempty"`  // last erasing commit that a pass handled
	Anew    bool              `json:"anew,omitempty"`    // files that consumers append to must be rewritten for it
	FoldDue time.Time         `json:"fold_due,omitzero"` // when the queued request for a pass arrives
	Passing *Lease            `json:"passing,omitempty"` // of a pass that such a request started

	// Extra contains the other members of the item, by name. They belong to the users of the log,
	// which stores them unchanged; the values in the map must not be changed, only replaced.
	Extra map[string]json.RawMessage `json:"-"`
}

// A Lease records that a process is doing some work. It expires at Until, in case its holder was
// killed and did not release it.
type Lease struct {
	Holder string    `json:"holder"` // random id of the holder
	Until  time.Time `json:"until"`
}

// Held reports whether the lease is valid at a time. A nil lease is not.
func (l *Lease) Held(now time.Time) bool { return l != nil && now.Before(l.Until) }

// ownMembers are the names of the members of a control item that are fields of Control.
var ownMembers = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[Control]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names[name] = true
	}
	return names
})

// encode returns the control item as JSON: its own fields, and the members in Extra.
func (c *Control) encode() ([]byte, error) {
	data, err := json.Marshal(c)
	if err == nil && len(c.Extra) > 0 {
		var extra []byte
		extra, err = json.Marshal(c.Extra)
		data = append(append(data[:len(data)-1], ','), extra[1:]...) // one object: the item always has own members
	}
	if err != nil {
		return nil, fmt.Errorf("encode the control item: %w", err)
	}
	return data, nil
}

// A Cursor is the position of a consumer of the log. All that the consumer derives from the commits
// up to and including Seq is durable.
type Cursor struct {
	Seq   uint64 `json:"seq"`
	Size  int64  `json:"size,omitempty"`  // bytes of the file that the consumer appends to
	Month string `json:"month,omitempty"` // month of the commits in that file, if it is a file of one month
	Turn  uint64 `json:"turn,omitempty"`  // how often the consumer re-checked commits before Seq
}

// behind reports whether the cursor is before another one.
func (c Cursor) behind(to Cursor) bool {
	return c.Seq < to.Seq || c.Seq == to.Seq && c.Month < to.Month
}

// A Mark records that every cursor had passed commit Seq at time At.
type Mark struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

// Newer reports whether a later release wrote the item, in a format that this one does not know.
func (c *Control) Newer() bool { return c.Format > controlFormat }

// Folded returns the last commit that is in a segment; 0: none.
func (c *Control) Folded() uint64 { return c.Cursors[segmentsCursor].Seq }

// PassDue reports whether a compaction pass has something to do that has become due by the passing
// of time: removing items from the table that all followers named in behind have passed, searching
// for orphans, or finishing the work of an earlier pass.
func (c *Control) PassDue(behind []string, now time.Time) bool {
	return c.sweepDue(now) || c.trims(Compaction{Behind: behind}, now) || c.Waiting != nil ||
		c.Erasing != nil && c.Erasing.Upto == 0
}

// newerThan reports whether c is a later revision than d. Every control item is newer than the zero
// value.
func (c Control) newerThan(d Control) bool { return c.Rev > d.Rev || d.Format == 0 }

// liveControl decodes the control item of a log. It returns ErrNoLog if the log is being erased.
func liveControl(it table.Item) (Control, error) {
	c, err := readControl(it)
	if err == nil && !c.Sealed.IsZero() {
		err = ErrNoLog
	}
	return c, err
}

// liveControl decodes the control item of a log. It returns ErrNoLog if the log is being erased. If
// the item equals the last one, it returns the cached result: most calls read the item, and few
// change it.
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

// A controlRead is a control item and its decoded content, which must not be changed.
type controlRead struct {
	data    []byte
	control Control
}

// readControl decodes a control item. It returns errFormat if a later release wrote it.
func readControl(it table.Item) (Control, error) {
	var c Control
	if err := json.Unmarshal(it.Data, &c); err != nil {
		return c, fmt.Errorf("decode the control item: %w", err)
	}
	if c.Format > controlFormat {
		return c, errFormat
	}
	if err := json.Unmarshal(it.Data, &c.Extra); err != nil {
		return c, fmt.Errorf("decode the control item: %w", err)
	}
	maps.DeleteFunc(c.Extra, func(name string, _ json.RawMessage) bool { return ownMembers()[name] })
	return c, nil
}

// Create creates the log by writing its control item. It returns ErrLogExists if the log exists. If
// the table fails, the outcome is unknown and the error is UNAVAILABLE.
func (l *Log[S]) Create(ctx context.Context) error {
	return l.create(ctx, Control{Made: l.opt.Now().UTC()})
}

// ErrLogExists is the error of creating a log that exists.
var ErrLogExists = errors.New("the log exists")

// Control reads the current control item. It returns ErrNoLog if the log does not exist or is being
// erased.
func (l *Log[S]) Control(ctx context.Context) (Control, error) {
	c, _, err := l.controlItem(ctx)
	return c, err
}

// controlItem reads the current control item, and returns it with its decoded content.
func (l *Log[S]) controlItem(ctx context.Context) (Control, table.Item, error) {
	it, err := l.opt.Table.Get(ctx, table.Key{Part: l.opt.Part, Sort: controlKey})
	switch {
	case errors.Is(err, table.ErrNotFound):
		return Control{}, it, ErrNoLog
	case err != nil:
		return Control{}, it, Unreadable(ctx, err)
	}
	c, err := liveControl(it)
	return c, it, err
}

// Change changes the control item with a conditional write. change may be called several times,
// each time with a newer item. If it returns false, nothing is written. An error of the write is
// UNAVAILABLE; the change may have been written nevertheless. It returns ErrNoLog if the log does
// not exist or is being erased.
//
// It costs one read and one write, and both again after each conflict, until the context ends. The
// item is decoded for this call alone, so change may modify its maps and slices, except values in
// Extra.
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
		data, err := c.encode()
		if err != nil {
			return err
		}
		next := table.Item{Key: old.Key, Data: data}
		err = l.opt.Table.Commit(ctx, table.Replace(old, next))
		var conflict *table.Conflict
		if errors.As(err, &conflict) {
			continue
		}
		if err != nil {
			return fault.New(fault.Unavailable, "the state of the log cannot be written now").
				After(time.Second).Because(err)
		}
		l.withControl(c)
		return nil
	}
}

// Advance moves the cursor of a consumer forward, to a later commit or to the file of a later
// month. It never moves a cursor back, so a consumer that falls behind another process with the
// same cursor does no harm. The consumer must have made its data durable before. Its errors are
// those of Change.
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
