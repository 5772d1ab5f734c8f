package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// Sort keys of a log (log.md §1). The control item sorts last, so that a Query of the tail returns
// it after the runs.
const (
	runPrefix  = "log/"
	controlKey = "log/~"
)

// runDigits is the number of digits in the key of a run, and MaxSeq the largest number that they
// can represent.
const (
	runDigits = 12
	MaxSeq    = 999_999_999_999
)

// runKey returns the sort key of the run that begins with a commit.
func runKey(seq uint64) string { return fmt.Sprintf("%s%0*d", runPrefix, runDigits, seq) }

// RunAt returns the first commit of the run with a sort key; ok is false for other keys.
func RunAt(sort string) (seq uint64, ok bool) {
	digits, ok := strings.CutPrefix(sort, runPrefix)
	if !ok || len(digits) != runDigits {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil && seq > 0
}

// A tail is the part of the log after a commit that one Query returned.
type tail struct {
	runs    []*Run
	size    int        // bytes of the items
	memory  int        // bytes of the payloads in the items, unpacked
	ended   bool       // the control item was reached: there are no more runs
	control Control    // valid only if ended
	item    table.Item // the item of control
}

// longTail is the number of item bytes at which a tail ends: before reading more, the caller checks
// whether there is an image after it (log.md §3). A shorter tail costs one Query, however many runs
// it has (DESIGN §8), unless its payloads take mostUnpacked bytes of memory when unpacked; then it
// is read in several pieces.
const (
	longTail     = 1 << 20
	mostUnpacked = 32 << 20
)

// tail reads the runs after a commit, and the control item if it reaches the end. It makes one
// Query. Payload objects are not loaded. It returns ErrNoLog if the log does not exist or is being
// erased.
func (l *Log[S]) tail(ctx context.Context, after uint64) (*tail, error) {
	t := &tail{}
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(after+1), controlKey) {
		if err != nil {
			return nil, Unreadable(ctx, err)
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

// add adds the next run, whose item has size bytes.
func (t *tail) add(r *Run, size int) {
	t.runs, t.size = append(t.runs, r), t.size+size
	if r.Object == "" {
		t.memory += r.Size
	}
}

// gap returns the first commit after `after` that is missing from the tail, if it contains later
// ones.
func (t *tail) gap(after uint64) (missing uint64, ok bool) {
	for _, r := range t.runs {
		if r.First > after+1 {
			return after + 1, true
		}
		after = max(after, r.Last)
	}
	return 0, false
}

// read decodes the item of a run, and unpacks its payload unless that is an object.
func (l *Log[S]) read(it table.Item) (*Run, error) { return l.code.read(it) }

// read is Log.read with this codec.
func (c *codec) read(it table.Item) (*Run, error) {
	r, inline, err := readPlaced(it)
	if err != nil {
		return nil, err
	}
	if r.Object == "" && r.Size > 0 {
		if r.Parts, err = c.unpack(inline); err != nil {
			return nil, Damaged(r.First, err)
		}
	}
	return r, nil
}

// readPlaced decodes the item of a run, but not its payload. It returns an error if the item has
// the key of another run.
func readPlaced(it table.Item) (r *Run, inline []byte, err error) {
	r, inline, err = readItem(it.Data)
	if err == nil && it.Sort != runKey(r.First) {
		err = fmt.Errorf("the run of another place")
	}
	switch {
	case errors.Is(err, errFormat):
		return nil, nil, fmt.Errorf("run at %s: %w", it.Sort, err)
	case err != nil:
		first, _ := RunAt(it.Sort)
		return nil, nil, Damaged(first, err)
	}
	return r, inline, nil
}

// Unreadable returns the error of a table that cannot be read: INDEX_ERROR if it is damaged, the
// cause of the context if that has ended, and UNAVAILABLE otherwise.
func Unreadable(ctx context.Context, err error) error {
	if errors.Is(err, table.ErrDamaged) {
		return fault.New(fault.IndexError, "the database is damaged").
			OnServer("doctor").Because(fmt.Errorf("read the tail: %w", err))
	}
	return notNow(ctx, "the newest state cannot be read now", fmt.Errorf("read the tail: %w", err))
}

// notNow returns UNAVAILABLE with a message or, if the context has ended, its cause.
func notNow(ctx context.Context, message string, err error) error {
	if ended := context.Cause(ctx); ended != nil {
		return ended
	}
	return fault.New(fault.Unavailable, "%s", message).After(time.Second).Because(err)
}
