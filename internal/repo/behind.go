package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/table"
)

// A Stretch is what came behind a version of a vault, as a follower reads it that keeps no index.
type Stretch struct {
	After   uint64    // the version
	Commits []*Commit // without a gap, oldest first
	Ended   bool      // there was no more in the table

	// Control is the control item of the same Query; the zero value if the stretch has not Ended, for the Query did
	// not come so far.
	Control Control

	vault *Vault
	bytes int        // of the payloads
	item  table.Item // of Control
}

// Last returns the last commit of the stretch; After if there is none.
func (s *Stretch) Last() uint64 {
	if n := len(s.Commits); n > 0 {
		return s.Commits[n-1].Seq
	}
	return s.After
}

// Most bounds what Behind reads at once. It ends with the first piece of the log, of about 1 MB, that reaches a bound.
type Most struct {
	Commits int
	Bytes   int // of payloads, unpacked
}

// Behind reads what came behind a version, with one Query as long as that is less than 1 MB, and a read for each payload
// that is an object; what has left the table, from segments. Nothing else is read, and no index is made. A log that does
// not exist, or is being erased, is ErrNoLog; one that is not whole is INDEX_ERROR.
func (v *Vault) Behind(ctx context.Context, after uint64, most Most) (*Stretch, error) {
	s := &Stretch{After: after, vault: v}
	for !s.Ended && len(s.Commits) < most.Commits && s.bytes < most.Bytes {
		t, err := v.log.tail(ctx, s.Last())
		if err == nil {
			err = s.take(ctx, t, most)
		}
		if err != nil {
			return nil, v.log.orErased(ctx, err)
		}
	}
	return s, nil
}

// take takes a tail. What the tail lacks is looked for where the log is kept otherwise.
func (s *Stretch) take(ctx context.Context, t *tail, most Most) error {
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

// takeStored takes the next commits from segments, and from the table behind them.
func (s *Stretch) takeStored(ctx context.Context, most Most) error {
	for c, err := range s.vault.Commits(ctx, s.Last()+1) {
		if err != nil {
			return err
		}
		s.Commits, s.bytes = append(s.Commits, c), s.bytes+c.textSize()
		if len(s.Commits) >= most.Commits || s.bytes >= most.Bytes {
			break
		}
	}
	return nil
}

// BehindSince returns when the first commit behind a version was made, with one Query; ok is false if there is none in
// the table.
func (v *Vault) BehindSince(ctx context.Context, after uint64) (at time.Time, ok bool, err error) {
	r, _, err := v.log.headerFrom(ctx, after+1)
	if err != nil || r == nil {
		return at, false, v.log.orErased(ctx, err)
	}
	return r.Commits[0].Time, true, nil
}

// Skip leaves out the commits up to one.
func (s *Stretch) Skip(upTo uint64) {
	for len(s.Commits) > 0 && s.Commits[0].Seq <= upTo {
		s.Commits = s.Commits[1:]
	}
	s.After = max(s.After, upTo)
}

// add takes the next run.
func (s *Stretch) add(ctx context.Context, r *run) error {
	if err := s.vault.log.load(ctx, r); err != nil {
		return err
	}
	commits, err := r.commits()
	if err != nil {
		return damaged(r.First, err)
	}
	for _, c := range commits {
		if c.Seq > s.Last() {
			s.Commits = append(s.Commits, c)
		}
	}
	s.bytes += r.Size
	return nil
}

// Change changes the control item, as Vault.Change does. The function is given the item that came with the stretch
// first: where nobody has changed it since, that is one write.
func (s *Stretch) Change(ctx context.Context, change func(*Control) bool) error {
	if !s.Ended {
		return s.vault.Change(ctx, change)
	}
	c, err := readControl(s.item)
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
	err = s.vault.log.opt.Table.Commit(ctx, table.Replace(s.item, table.Item{Key: s.item.Key, Data: data}))
	if err == nil {
		return nil
	}
	return s.vault.Change(ctx, change) // it is another by now, or the outcome is unknown
}

// Was returns the digest of what a commit replaced at a note's path, and whether there was a file. Of commits of
// earlier releases, which do not say so, it reads the commit before.
func (v *Vault) Was(ctx context.Context, n Note) (was index.Digest, there bool, err error) {
	if n.Was != nil {
		return index.Digest(append(n.Was, make([]byte, len(was))...)[:len(was)]), len(n.Was) > 0, nil
	}
	if n.Prev == 0 {
		return was, false, nil
	}
	c, err := v.log.commit(ctx, n.Prev)
	if err != nil {
		return was, false, v.log.orErased(ctx, err)
	}
	for _, before := range c.Notes {
		if before.Path == n.Path && !before.Erased {
			return index.DigestOf(before.Text), !before.Deleted, nil
		}
	}
	return was, false, nil
}

// Gone reports whether an error says that a vault's log is not there, or is being erased.
func Gone(err error) bool { return errors.Is(err, ErrNoLog) || fault.Is(err, fault.NotFound) }
