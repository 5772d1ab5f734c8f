package checkout

import (
	"context"
	"errors"
	"time"

	"rookery/internal/blob"
	"rookery/internal/index"
	"rookery/internal/intake"
	"rookery/internal/repo"
)

// atRest is how long a file must not have changed for what was read of it to be remembered: a change
// within the same tick of the file system's clock would not show in how the file looks.
const atRest = 2 * time.Second

// expected is the file as it should be in the folder now; nil: none. The caller holds mu.
func (c *Checkout) expected(path string) *index.File {
	if w, behind := c.waiting[path]; behind {
		return w.before
	}
	f, _ := c.at.File(path)
	return f
}

// examine compares a file with what it should be, and notes what it finds. The caller holds mu, and
// has written what was behind.
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

// A look is how a file looks now.
type look struct {
	blob.Object
	gone bool
	to   string // it is gone by this name, and has this one
}

// look looks at a file without reading it. What is no plain file, or cannot be looked at, is told and
// counts as gone: no note can be there. The caller holds mu.
func (c *Checkout) look(ctx context.Context, path string) (look, error) {
	key := c.key(path)
	if e := c.outside.edits[path]; e != nil && e.to != "" {
		names, err := c.spelled(ctx, path, e.to)
		if err != nil || !names[path] {
			return look{gone: true, to: e.to}, err
		}
	}
	o, err := c.files.Look(ctx, key)
	if errors.Is(err, blob.ErrNotExist) && c.obstructed(ctx, key) {
		err = blob.ErrForeign
	}
	switch {
	case errors.Is(err, blob.ErrNotExist):
		c.mayStay(key)
		return look{gone: true}, nil
	case errors.Is(err, blob.ErrForeign):
		c.leave(repo.LeftFile{Path: key, Why: repo.LeftForeign})
		return look{gone: true}, nil
	case err != nil:
		return look{}, unreadable(path, err)
	}
	return look{Object: o}, nil
}

// obstructed reports whether something lies where no file is: a folder with the name of a note.
func (c *Checkout) obstructed(ctx context.Context, key string) bool {
	var found *blob.Found
	return errors.As(c.files.Remove(ctx, key, nil), &found) && found.Foreign
}

// compare compares what is in the folder with what should be there. The caller holds mu.
func (c *Checkout) compare(ctx context.Context, path string, o look) error {
	want := c.expected(path)
	if o.gone {
		if want == nil {
			c.drop(path) // what else lies there stays told
			c.catchesUp(path)
			return nil
		}
		before, upTo := c.had(path)
		c.differs(path, edit{before: before, upTo: upTo, at: c.goneAt(ctx, path), to: o.to})
		return nil
	}
	if want == nil && c.readLater(path, o) {
		c.differsNow(path, o)
		return nil
	}
	now, err := c.digest(ctx, path, o)
	switch {
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return nil // it changed meanwhile: whoever changed it is told of
	case err != nil:
		return unreadable(path, err)
	case want != nil && now.digest == want.Digest:
		c.agrees(path)
		return nil
	case now.why != "":
		c.refuse(path, now.why)
		return nil
	case c.refused(path, o):
		return nil
	}
	c.differsNow(path, o)
	return nil
}

// differsNow notes that a file is not what it should be, and how it looks. The caller holds mu.
func (c *Checkout) differsNow(path string, o look) {
	c.mayStay(c.key(path))
	before, upTo := c.had(path)
	c.differs(path, edit{before: before, upTo: upTo, mark: o.Mark, at: changedAt(o.Changed)})
}

// readLater reports whether a file that the log does not have needs not be read to be compared: in the first sweep,
// where all of a folder may be new, each is read when it is taken in, and not twice. The caller holds mu.
func (c *Checkout) readLater(path string, o look) bool {
	_, known := c.outside.seen[path]
	return c.first() && !known && o.Mark != "" && o.Size <= repo.MaxNote
}

// refused reports whether the vault would not take a file, which is as it was then. The caller holds mu.
func (c *Checkout) refused(path string, o look) bool {
	f, left := c.outside.left[c.key(path)]
	s, seen := c.outside.seen[path]
	return left && seen && s.mark == o.Mark && (f.Why == repo.LeftQuota || f.Why == repo.LeftTwin)
}

// refuse leaves the file of a note that cannot be taken in. The caller holds mu.
func (c *Checkout) refuse(path string, why repo.Reason) {
	c.drop(path)
	c.lagOf(path)
	c.leave(repo.LeftFile{Path: c.key(path), Why: why})
}

// changedAt is when something was changed, as far as its file system tells, and not later than now. It is
// told by the clock that nobody sets: a batch must not wait for an hour because the other one was set back
// by one.
func changedAt(told time.Time) time.Time {
	now := time.Now()
	if age := now.Sub(told); !told.IsZero() && age > 0 {
		return now.Add(-age)
	}
	return now
}

// digest is that of what is in a file; it is not read again while it looks as it did. The caller holds
// mu.
func (c *Checkout) digest(ctx context.Context, path string, o look) (sight, error) {
	if s, ok := c.outside.seen[path]; ok && o.Mark != "" && s.mark == o.Mark {
		return s, nil
	}
	if o.Size > repo.MaxNote { // it may be larger than the memory, too
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

// remember notes what was read of a file that looked like this. The caller holds mu.
func (c *Checkout) remember(path string, s sight, o blob.Object) {
	if o.Mark == "" || time.Since(o.Changed) < atRest {
		delete(c.outside.seen, path)
		return
	}
	c.outside.seen[path], c.outside.learned = s, true
}

// holds reports whether a file has a text of the log, as far as that is known without reading it. The caller holds mu.
func (c *Checkout) holds(ctx context.Context, path string, f *index.File) bool {
	s, ok := c.outside.seen[path]
	if !ok || f == nil || s.digest != f.Digest {
		return false
	}
	o, err := c.files.Look(ctx, c.key(path))
	return err == nil && !o.Foreign && o.Mark == s.mark
}

// A place says what a file in the folder is to the vault.
type place = intake.Place

const (
	notOurs  = intake.NotOurs
	ours     = intake.Ours
	misnamed = intake.Misnamed
)

// placeOf is the path that a file in the folder has in the vault; see intake.PlaceOf. The caller holds mu.
func (c *Checkout) placeOf(key string) (path string, p place) { return intake.PlaceOf(c.at, key) }

// hidden reports whether a file, or a folder that it is in, has a name that begins with a dot.
func hidden(key string) bool { return intake.Hidden(key) }
