package repo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"rookery/internal/fault"
	"rookery/internal/table"
)

// Sort keys of a log (log.md §1). The control item sorts last, so that every Query of a tail
// returns it.
const (
	runPrefix  = "log/"
	controlKey = "log/~"
)

// runDigits is how many digits the key of a run has, and maxSeq the last number that they can say.
const (
	runDigits = 12
	maxSeq    = 999_999_999_999
)

// runKey is the sort key of the run that begins with this commit.
func runKey(seq uint64) string { return fmt.Sprintf("%s%0*d", runPrefix, runDigits, seq) }

// RunAt is the first commit of the run with a sort key; ok is false of any other key.
func RunAt(sort string) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(sort, runPrefix)
	if !ok || len(digits) != runDigits {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil && seq > 0
}

// A tail is what a Query found behind a version, and the control item that was read after it.
type tail struct {
	runs    []*run
	size    int  // bytes of their items
	memory  int  // bytes of the payloads in them, unpacked
	ended   bool // the control item was reached: there is no more
	control Control
	item    table.Item // of control
}

// longTail is at how many bytes a tail ends: who has so much to read asks first whether there is an image
// beyond it (log.md §3). Up to there it is one Query, however many runs it has (DESIGN §8), unless what is
// packed in them takes mostUnpacked in memory: then it is read in pieces.
const (
	longTail     = 1 << 20
	mostUnpacked = 32 << 20
)

// tail reads what comes after this commit. It costs one Query; the payloads that are objects are
// not loaded yet.
func (l *Log[S]) tail(ctx context.Context, after uint64) (*tail, error) {
	t := &tail{}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(after+1), controlKey) {
		if err != nil {
			return nil, unreadable(ctx, err)
		}
		if it.Sort == controlKey {
			c, err := l.liveControl(it)
			if err != nil {
				return nil, err
			}
			t.control, t.item, t.ended = c, it, true
			return t, nil
		}
		r, err := l.read(it)
		if err != nil {
			return nil, err
		}
		t.add(r, len(it.Data))
		if t.size >= longTail || t.memory >= mostUnpacked {
			return t, nil
		}
	}
	return nil, ErrNoLog
}

// add takes the next run, whose item has so many bytes.
func (t *tail) add(r *run, size int) {
	t.runs, t.size = append(t.runs, r), t.size+size
	if r.Object == "" {
		t.memory += r.Size
	}
}

// gap is the first commit after this one that the tail lacks, if it has later ones.
func (t *tail) gap(after uint64) (missing uint64, ok bool) {
	for _, r := range t.runs {
		if r.First > after+1 {
			return after + 1, true
		}
		after = max(after, r.Last)
	}
	return 0, false
}

// read decodes the item of a run, with its payload if that is in it.
func (l *Log[S]) read(it table.Item) (*run, error) { return l.code.read(it) }

// read is the same with this codec.
func (c *codec) read(it table.Item) (*run, error) {
	r, inline, err := readPlaced(it)
	if err != nil {
		return nil, err
	}
	if r.Object == "" && r.Size > 0 {
		if r.parts, err = c.unpack(inline); err != nil {
			return nil, damaged(r.First, err)
		}
	}
	return r, nil
}

// readPlaced decodes the item of a run, but not its payload.
func readPlaced(it table.Item) (r *run, inline []byte, err error) {
	r, inline, err = readItem(it.Data)
	if err == nil && it.Sort != runKey(r.First) {
		err = fmt.Errorf("the run of another place")
	}
	switch {
	case errors.Is(err, errFormat):
		return nil, nil, fmt.Errorf("run at %s: %w", it.Sort, err)
	case err != nil:
		first, _ := RunAt(it.Sort)
		return nil, nil, damaged(first, err)
	}
	return r, inline, nil
}

// unreadable is the fault of a tail that cannot be read: just now, or because the table is damaged. Where the context
// has ended the table may be well: then it is the end of the context.
func unreadable(ctx context.Context, err error) error {
	if errors.Is(err, table.ErrDamaged) {
		return fault.New(fault.IndexError, "the database is damaged").
			OnServer("doctor").Because(fmt.Errorf("read the tail: %w", err))
	}
	return notNow(ctx, "the newest state cannot be read just now", fmt.Errorf("read the tail: %w", err))
}

// notNow is the fault of a store that does not answer, or the end of the context if that has ended.
func notNow(ctx context.Context, message string, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return fault.New(fault.Unavailable, "%s", message).After(time.Second).Because(err)
}
