package eventlog

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/table"
)

// A Stretch contains the commits after a commit of a log, for a follower that keeps no state. It is
// not safe for concurrent use.
type Stretch[S any] struct {
	After   uint64    // the seq before the first commit
	Commits []*Commit // oldest first, without gaps
	Ended   bool      // the end of the log was reached

	// Control is the control item that the same Query returned. It is the zero value if the stretch
	// has not Ended, because the Query did not reach the control item.
	Control Control

	log   *Log[S]
	bytes int        // of the payloads
	item  table.Item // the item that Control was read from
}

// Last returns the seq of the last commit of the stretch, or After if it has none.
func (s *Stretch[S]) Last() uint64 {
	if n := len(s.Commits); n > 0 {
		return s.Commits[n-1].Seq
	}
	return s.After
}

// A Most limits how much CommitsAfter reads in one call. It stops after the first piece of the log,
// of about 1 MB, that reaches one of the bounds.
type Most struct {
	// Commits and Bytes are the bounds. CommitsAfter stops when it reaches either of them.
	Commits int
	Bytes   int // of payloads, unpacked
}

// CommitsAfter reads the commits after a seq. It makes one Query for each MB of items and one read
// for each payload that is an object; commits that have left the table are read from segments. It
// reads nothing else and builds no state. It returns ErrNoLog if the log does not exist or is being
// erased, and INDEX_ERROR if the log has a gap.
func (l *Log[S]) CommitsAfter(ctx context.Context, after uint64, most Most) (*Stretch[S], error) {
	s := &Stretch[S]{After: after, log: l}
	for !s.Ended && len(s.Commits) < most.Commits && s.bytes < most.Bytes {
		t, err := l.tail(ctx, s.Last())
		if err == nil {
			err = s.take(ctx, t, most)
		}
		if err != nil {
			return nil, l.orErased(ctx, err)
		}
	}
	return s, nil
}

// take adds the runs of a tail. If the tail does not begin where the stretch ends, the commits are
// read from the segments instead.
func (s *Stretch[S]) take(ctx context.Context, t *tail, most Most) error {
	// The tail does not continue the stretch: runs have left the table, or the Query missed one.
	if _, gap := t.gap(s.Last()); gap || t.ended && len(t.runs) == 0 && t.control.Low > s.Last() {
		return s.takeStored(ctx, most)
	}
	for _, r := range t.runs {
		if err := s.add(ctx, r); err != nil {
			return err
		}
	}
	s.Ended, s.Control, s.item = t.ended, t.control, t.item
	return nil
}

// takeStored adds the next commits from segments, and from the table after them, until a bound is
// reached.
func (s *Stretch[S]) takeStored(ctx context.Context, most Most) error {
	for c, err := range s.log.Commits(ctx, s.Last()+1) {
		if err != nil {
			return err
		}
		s.Commits, s.bytes = append(s.Commits, c), s.bytes+c.TextSize()
		if len(s.Commits) >= most.Commits || s.bytes >= most.Bytes {
			break
		}
	}
	return nil
}

// FirstAfter returns the time of the first commit after a seq, with one Query. ok is false if the
// table contains no such commit. It returns ErrNoLog if the log does not exist.
func (l *Log[S]) FirstAfter(ctx context.Context, seq uint64) (at time.Time, ok bool, err error) {
	r, _, err := l.headerFrom(ctx, seq+1)
	if err != nil || r == nil {
		return at, false, l.orErased(ctx, err)
	}
	return r.Commits[0].Time, true, nil
}

// Skip drops the commits up to and including upTo from the stretch.
func (s *Stretch[S]) Skip(upTo uint64) {
	for len(s.Commits) > 0 && s.Commits[0].Seq <= upTo {
		s.Commits = s.Commits[1:]
	}
	s.After = max(s.After, upTo)
}

// add adds the commits of the next run.
func (s *Stretch[S]) add(ctx context.Context, r *Run) error {
	if err := s.log.load(ctx, r); err != nil {
		return err
	}
	commits, err := r.Decode()
	if err != nil {
		return Damaged(r.First, err)
	}
	for _, c := range commits {
		if c.Seq > s.Last() {
			s.Commits = append(s.Commits, c)
		}
	}
	s.bytes += r.Size
	return nil
}

// Change changes the control item as Log.Change does, but passes change the item that came with the
// stretch first. If that item is still current, Change costs one write and no read. If the write
// fails, the item is read again and change is called again.
func (s *Stretch[S]) Change(ctx context.Context, change func(*Control) bool) error {
	if !s.Ended {
		return s.log.Change(ctx, change)
	}
	c, err := readControl(s.item)
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
	err = s.log.opt.Table.Commit(ctx, table.Replace(s.item, table.Item{Key: s.item.Key, Data: data}))
	if err == nil {
		return nil
	}
	return s.log.Change(ctx, change) // the item has changed, or the outcome is unknown
}
