package eventlog

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
)

// A Histories reads the logs of vaults from their ends without building any index, so its memory
// use does not depend on the size of the vaults. It is safe for concurrent use.
type Histories struct {
	code *codec

	mu   sync.Mutex
	ends map[string]end // the known ends of logs, by partition
}

// An end is the last known commit of a log, and its time.
type end struct {
	seq uint64
	at  time.Time
}

// NewHistories returns a Histories that knows no log yet. It returns an error only if the codec
// cannot be created.
func NewHistories() (*Histories, error) {
	code, err := sharedCodec()
	return &Histories{code: code, ends: map[string]end{}}, err
}

// end returns the known end of the log in a partition; the zero end if none is known.
func (h *Histories) end(part string) end {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends[part]
}

// know records the end of a log; the zero end means that there is no such log.
func (h *Histories) know(part string, e end) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case e.seq == 0:
		delete(h.ends, part)
	case e.seq > h.ends[part].seq:
		h.ends[part] = e
	}
}

// A HistoryOf identifies the vault of a history. All fields are required.
type HistoryOf struct {
	Name string // of the vault
	Part string // the partition of its log
	// Table is the table of the tenant.
	Table  table.Table
	Bucket blob.Bucket // for payloads; that of the incarnation
}

// Of returns the history of a vault. It reads nothing. Call LastAt before Back.
func (h *Histories) Of(o HistoryOf) History {
	return &logReader{of: h, name: o.Name, log: &Log[struct{}]{
		opt:  Options[struct{}]{Table: o.Table, Bucket: o.Bucket, Part: o.Part, Imaging: &Imaging[struct{}]{}},
		code: h.code, segments: newSegments(o.Bucket, h.code),
	}}
}

// A logReader reads the log of a vault without building a state.
type logReader struct {
	of   *Histories
	name string
	log  *Log[struct{}]
}

var _ History = (*logReader)(nil)

// LastAt implements History. Beginning at the known end, it makes one Query, and about two for each
// doubling of the number of commits since then. If t is before the last commit, it makes a
// logarithmic number of Queries more.
func (r *logReader) LastAt(ctx context.Context, t time.Time) (uint64, time.Time, error) {
	e, err := r.log.end(ctx, r.of.end(r.log.opt.Part))
	err = r.log.orErased(ctx, err)
	if err == nil || errors.Is(err, ErrNoLog) {
		r.of.know(r.log.opt.Part, e)
	}
	if err == nil && t.Before(e.at) {
		e.at = t
		e.seq, err = r.log.SeqAt(ctx, e.seq, t)
		err = r.log.orErased(ctx, err)
	}
	return e.seq, e.at, r.orNone(err)
}

// Back implements History.
func (r *logReader) Back(ctx context.Context, from uint64, most int) iter.Seq2[*Commit, error] {
	return func(yield func(*Commit, error) bool) {
		for c, err := range r.log.backBy(ctx, r.log.code.reusing(), from, most) {
			if !yield(c, r.orNone(err)) {
				return
			}
		}
	}
}

// orNone maps ErrNoLog to NOT_FOUND, and returns other errors unchanged.
func (r *logReader) orNone(err error) error {
	if errors.Is(err, ErrNoLog) {
		return fault.NoVault(r.name)
	}
	return err
}

// end returns the last commit of the log, beginning at a known one. It looks ahead in steps that
// double until nothing is found, and then halves them.
func (l *Log[S]) end(ctx context.Context, known end) (end, error) {
	for step, beyond := uint64(0), false; ; {
		r, c, err := l.headerFrom(ctx, known.seq+1+step)
		switch {
		case err != nil:
			return end{}, err
		case r != nil:
			known = endOf(r)
			if beyond {
				step /= 2
			} else {
				step = max(1, 2*step)
			}
			continue
		case step > 0:
			beyond, step = true, step/2
			continue
		}
		l.know(c)
		if known.seq < c.Low {
			r, err := l.inSegment(ctx, c.Low)
			if err != nil {
				return end{}, err
			}
			known = endOf(r)
		}
		return known, nil
	}
}

// endOf returns the end of a log whose last run is r.
func endOf(r *Run) end { return end{r.Last, r.Commits[len(r.Commits)-1].Time} }

// headerFrom returns the first run in the table that begins at commit seq or later, without its
// payload. If there is none, the run is nil and the control item is returned.
func (l *Log[S]) headerFrom(ctx context.Context, seq uint64) (*Run, Control, error) {
	for it, err := range l.opt.Table.Query(ctx, l.opt.Part, runKey(seq), controlKey) {
		if err != nil {
			return nil, Control{}, Unreadable(ctx, err)
		}
		if it.Sort == controlKey {
			c, err := liveControl(it)
			return nil, c, err
		}
		r, _, err := readItem(it.Data)
		if err != nil {
			return nil, Control{}, Damaged(seq, err)
		}
		return r, Control{}, nil
	}
	return nil, Control{}, ErrNoLog
}

// know sets the control item that later reads of the log use. The log has no state.
func (l *Log[S]) know(c Control) { l.head.Store(&head[S]{control: c}) }
