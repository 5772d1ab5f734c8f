package checkout

import (
	"context"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/repo"
)

// atRest is the time for which a file must be unchanged before its content is remembered. A change
// within the same tick of the file system's clock would not change the mark of the file.
const atRest = 2 * time.Second

// expected returns the file as it should be in the folder now; nil if there should be none. This is
// the state before any commit that is not written yet. The caller holds mu.
func (c *Checkout) expected(path string) *index.File {
	if w, behind := c.unwritten[path]; behind {
		return w.before
	}
	f, _ := c.at.File(path)
	return f
}

// examine compares a file with the state that it should have, and records any difference as an
// edit. It is the only way in which edits are found, whether a sweep, the watcher or a writer leads
// to it. It reads the file only if its mark has changed since it was last read. It returns
// FILE_ERROR if the file cannot be read. The caller holds mu, and has written the files that were
// behind.
func (c *Checkout) examine(ctx context.Context, path string) error {
	if c.ended || isAudit(path) {
		return nil
	}
	if other, ok := c.at.Folded(path); ok && other != path {
		return c.examineTwins(ctx, path, other)
	}
	o, err := c.look(ctx, path)
	if err != nil {
		return err
	}
	return c.compare(ctx, path, o)
}

// A fileLook is how a file looks now, without its content.
type fileLook struct {
	blob.Object
	gone bool
	to   string // the file is gone at its name, and has this one
}

// look looks at a file without reading it. A file that is not a regular file is recorded as skipped
// and counts as gone, because no note can be there. The caller holds mu.
func (c *Checkout) look(ctx context.Context, path string) (fileLook, error) {
	key := c.key(path)
	if e := c.pending.edits[path]; e != nil && e.to != "" {
		names, err := c.whichExist(ctx, path, e.to)
		if err != nil || !names[path] {
			return fileLook{gone: true, to: e.to}, err
		}
	}
	o, err := c.files.Look(ctx, key)
	if errors.Is(err, blob.ErrNotExist) && c.obstructed(ctx, key) {
		err = blob.ErrForeign
	}
	switch {
	case errors.Is(err, blob.ErrNotExist):
		c.forgetSkipped(key)
		return fileLook{gone: true}, nil
	case errors.Is(err, blob.ErrForeign):
		c.recordSkipped(repo.LeftFile{Path: key, Why: repo.LeftForeign})
		return fileLook{gone: true}, nil
	case err != nil:
		return fileLook{}, unreadable(path, err)
	}
	return fileLook{Object: o}, nil
}

// obstructed reports whether a name is occupied by something other than a file, such as a folder
// with the name of a note. A Look does not find such a thing. Remove with nil expects that there is
// no file, so it changes nothing, and its error describes the file that it met.
func (c *Checkout) obstructed(ctx context.Context, key string) bool {
	var found *blob.Found
	return errors.As(c.files.Remove(ctx, key, nil), &found) && found.Foreign
}

// compare compares a file, which looks like o, with the state that it should have, and records any
// difference. The caller holds mu.
func (c *Checkout) compare(ctx context.Context, path string, o fileLook) error {
	want := c.expected(path)
	if o.gone {
		if want == nil {
			c.drop(path) // a skipped file at this name stays recorded
			c.markCurrent(path)
			return nil
		}
		before, upTo := c.lastWritten(path)
		c.recordEdit(path, edit{before: before, upTo: upTo, at: c.goneAt(ctx, path), to: o.to})
		return nil
	}
	if want == nil && c.readLater(path, o) {
		c.recordDifference(path, o)
		return nil
	}
	now, err := c.digest(ctx, path, o)
	switch {
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return nil // it changed meanwhile, and that change is reported on its own
	case err != nil:
		return unreadable(path, err)
	case want != nil && now.digest == want.Digest:
		c.recordEqual(path)
		return nil
	case now.why != "":
		c.refuse(path, now.why)
		return nil
	case c.refused(path, o):
		return nil
	}
	c.recordDifference(path, o)
	return nil
}

// recordDifference records that a file, which looks like o, is not as in the log. The caller holds
// mu.
func (c *Checkout) recordDifference(path string, o fileLook) {
	c.forgetSkipped(c.key(path))
	before, upTo := c.lastWritten(path)
	c.recordEdit(path, edit{
		before: before, upTo: upTo, mark: o.Mark, size: o.Size, at: changedAt(o.Changed),
	})
}

// readLater reports whether a file that the log does not have can be recorded as an edit without
// reading it. This is so in the first sweep, when all files of a folder may be new: each is read
// when it is ingested, and need not be read twice. The caller holds mu.
func (c *Checkout) readLater(path string, o fileLook) bool {
	_, known := c.pending.seen[path]
	return c.first() && !known && o.Mark != "" && o.Size <= repo.MaxNote
}

// refused reports whether the vault refused a file that has not changed since. The caller holds mu.
func (c *Checkout) refused(path string, o fileLook) bool {
	f, left := c.pending.skipped[c.key(path)]
	s, seen := c.pending.seen[path]
	return left && seen && s.mark == o.Mark && (f.Why == repo.LeftQuota || f.Why == repo.LeftTwin)
}

// refuse records the file of a note as skipped, and drops its edit. The caller holds mu.
func (c *Checkout) refuse(path string, why repo.Reason) {
	c.drop(path)
	c.lagOf(path)
	c.recordSkipped(repo.LeftFile{Path: c.key(path), Why: why})
}

// changedAt returns when a file changed, according to its file system, but not later than now; if
// the file system does not say, it returns now. The result has a monotonic clock reading: if the
// system clock is set back by an hour, a batch must not wait for an hour.
func changedAt(told time.Time) time.Time {
	now := time.Now()
	if age := now.Sub(told); !told.IsZero() && age > 0 {
		return now.Add(-age)
	}
	return now
}

// digest returns the content of a file as a sight. It does not read the file while its mark is
// unchanged, or if it is larger than a note may be: such a sight has only the reason LeftSize. The
// caller holds mu.
func (c *Checkout) digest(ctx context.Context, path string, o fileLook) (sight, error) {
	if s, ok := c.pending.seen[path]; ok && o.Mark != "" && s.mark == o.Mark {
		return s, nil
	}
	if o.Size > repo.MaxNote { // it may even be larger than the memory
		return sight{why: repo.LeftSize}, nil
	}
	text, _, err := c.files.Get(ctx, c.key(path), 0, -1)
	if err != nil {
		return sight{}, err
	}
	s := sight{o.Mark, index.DigestOf(text), intake.Unfit(text)}
	c.remember(path, s, o.Object)
	return s, nil
}

// remember stores the content that was read from a file. It forgets the content if the file changed
// less than atRest ago. The caller holds mu.
func (c *Checkout) remember(path string, s sight, o blob.Object) {
	if o.Mark == "" || time.Since(o.Changed) < atRest {
		delete(c.pending.seen, path)
		return
	}
	c.pending.seen[path], c.pending.seenDirty = s, true
}

// holds reports whether a file has the text of f, as far as that is known without reading it: its
// content is remembered, and its mark has not changed. False means that it must be read. The caller
// holds mu.
func (c *Checkout) holds(ctx context.Context, path string, f *index.File) bool {
	s, ok := c.pending.seen[path]
	if !ok || f == nil || s.digest != f.Digest {
		return false
	}
	o, err := c.files.Look(ctx, c.key(path))
	return err == nil && !o.Foreign && o.Mark == s.mark
}

// A place says how a file in the folder relates to the vault.
type place = intake.Place

// The places of a file: it can never be part of the vault; it is one of its files, or can become
// one; it would be one, but for its name.
const (
	notOurs  = intake.NotOurs
	ours     = intake.Ours
	misnamed = intake.Misnamed
)

// placeOf returns the path that a file in the folder has in the vault; see intake.PlaceOf. The
// caller holds mu.
func (c *Checkout) placeOf(key string) (path string, p place) { return intake.PlaceOf(c.at, key) }

// hidden reports whether a file, or a folder that contains it, has a name that begins with a dot.
func hidden(key string) bool { return intake.Hidden(key) }
