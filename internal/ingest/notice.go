package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/repo"
)

const (
	// closeAfter is the time after the first edit of a batch at which a process checks whether the
	// batch is due.
	closeAfter = 3 * time.Second

	// messageLife is the age of a noticed edit at which the message to ingest it counts as lost.
	messageLife = time.Minute
)

// A Change is an event of a file. The file may have changed again when the event arrives, so only
// its path counts; Gone is used if the file cannot be read.
type Change struct {
	Path string
	Gone bool
	At   time.Time // when it was changed; zero if unknown
}

// An Ask queues a message to ingest the noticed edits after a time. It may be called more often
// than needed.
type Ask func(ctx context.Context, after time.Duration) error

// Notice writes items for the files that are not as in the log, and asks to ingest them. Files that
// are, such as those that were written from the log, cost one read each, and one Query together. Of
// several events of a file, the newest counts. It may be repeated for the same events.
func (v Vault) Notice(ctx context.Context, changes []Change, ask Ask) error {
	newest := map[string]Change{}
	for _, c := range changes {
		if was, ok := newest[c.Path]; !ok || !c.At.Before(was.At) {
			newest[c.Path] = c
		}
	}
	var all []*fileState
	for path, c := range newest {
		all = append(all, &fileState{path: path, gone: c.Gone})
	}
	s, err := v.snapshot(ctx)
	if err != nil {
		return err
	}
	w, err := v.look(ctx, s, all)
	if err != nil {
		return err
	}
	news, err := v.differing(ctx, s.control, w.all)
	if err != nil || len(news) == 0 {
		return err
	}
	now := v.Now().UTC()
	err = forEach(news, func(s *fileState) error {
		return v.set(ctx, noticedKey(s.path), noticedItem{
			At: now, Saved: newest[s.path].At, Gone: s.gone, Head: w.idx.Version(), Cursor: w.cursor,
		})
	})
	if err != nil {
		return err
	}
	return v.recordEdits(ctx, news, ask)
}

// differing returns the files that need an item: those that are not as in the log, and those that are
// again but are in the held batch or among the skipped files, so that closing removes them there.
func (v Vault) differing(ctx context.Context, c repo.Control, all []*fileState) (news []*fileState, err error) {
	for _, s := range all {
		known := false
		if s.upToDate && c.Held.Count() > 0 {
			if known, err = v.has(ctx, heldPrefix+s.path); err != nil {
				return nil, err
			}
		}
		if s.upToDate && !known && c.Left != nil {
			if known, err = v.has(ctx, leftPrefix+s.path); err != nil {
				return nil, err
			}
		}
		if !s.upToDate || known {
			news = append(news, s)
		}
	}
	return news, nil
}

// recordEdits records in the control item that there are edits, at the first one and if a batch has many,
// and asks to ingest them. It reads the control item after the items were written, and a process
// that ingests edits looks for more after it has changed the control item, so one of them notices
// the other. Most events change nothing in it, so that a large sync does not write the control item
// for each file. A message that was lost is asked for again after a minute.
func (v Vault) recordEdits(ctx context.Context, all []*fileState, ask Ask) error {
	c, err := v.Vault.Control(ctx)
	if err != nil {
		return err
	}
	now := v.Now().UTC()
	asks := c.Noticed == nil || age(c.Noticed.At, now) >= messageLife
	if most := v.Vault.MaxNamed(); !asks && (len(all) < most || len(c.Noticed.Paths) >= most) {
		return nil
	}
	if asks { // before the control item is written: asking twice does no harm
		if err := ask(ctx, closeAfter); err != nil {
			return err
		}
	}
	return v.Vault.Change(ctx, func(c *repo.Control) bool {
		if c.Noticed == nil && !asks {
			return false // the edits were ingested meanwhile
		}
		n := repo.Noticed{At: now}
		if c.Noticed != nil {
			n.Paths, n.Count = slices.Clone(c.Noticed.Paths), c.Noticed.Count
		}
		for _, s := range all {
			if slices.Contains(n.Paths, s.path) {
				continue
			}
			if n.Count++; len(n.Paths) < v.Vault.MaxNamed() {
				n.Paths = append(n.Paths, s.path)
			}
		}
		slices.Sort(n.Paths)
		c.Noticed = &n
		return true
	})
}

// Forget removes a file from the held batch and from the skipped files: neither items nor the
// control item name it afterwards. The file itself stays. A change of it, or a sweep, finds it
// again. It is part of erasing the history of a note, whose path must not remain anywhere.
func (v Vault) Forget(ctx context.Context, path string) error {
	if err := v.remove(ctx, []string{heldPrefix + path, leftPrefix + path}); err != nil {
		return err
	}
	seen, err := v.Vault.Control(ctx)
	if err != nil || seen.Held.Count() == 0 && seen.Left == nil {
		return err
	}
	held, err := v.heldEdits(ctx)
	if err != nil {
		return err
	}
	left, err := v.skippedForControl(ctx)
	if err != nil {
		return err
	}
	return v.Vault.Change(ctx, func(c *repo.Control) bool {
		was := *c
		if c.Left = left; c.Held != nil {
			c.Held = without(c.Held, path)
		}
		if len(held) == 0 && c.Held.Count() == seen.Held.Count() {
			c.Held = nil
		}
		return c.Held != was.Held || !sameLeft(was.Left, left)
	})
}

// without returns the description of a held batch without the path of a file. h is not changed. The
// counts stay: they are not known by path.
func without(h *repo.Held, path string) *repo.Held {
	i := slices.Index(h.Paths, path)
	if i < 0 {
		return h
	}
	now := *h
	now.Paths = slices.Delete(slices.Clone(h.Paths), i, i+1)
	return &now
}
