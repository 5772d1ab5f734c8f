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

// write writes every file that is behind: what goes first, for where the file system folds case one
// file may stand in the way of another. One that cannot be written stays behind and is tried again.
// The caller holds mu.
func (c *Checkout) write(ctx context.Context) {
	if c.ended || c.opt.ReadOnly {
		clear(c.waiting)
		return
	}
	for _, goes := range []bool{true, false} {
		for path, w := range c.waiting {
			if goes == (w.after == nil) {
				c.writeOne(ctx, path, w)
			}
		}
	}
}

// writeOne writes one file. The caller holds mu.
func (c *Checkout) writeOne(ctx context.Context, path string, w *change) {
	err := c.bring(ctx, path, w)
	var found *blob.Found
	if errors.As(err, &found) {
		err = c.meet(ctx, path, w, found)
	}
	switch {
	case errors.As(err, &found):
		delete(c.waiting, path)
		c.fallsBehind(path, w)
		c.notice(path, w, found)
	case err != nil:
		c.fallsBehind(path, w)
		c.grumble(ctx, "a note could not be written to its file", err)
	default:
		delete(c.waiting, path)
		c.unsaved[path] = true
		c.agrees(path)
	}
}

// bring brings one file from what it should be to what the log says now. What else it meets is a
// *blob.Found. The caller holds mu.
func (c *Checkout) bring(ctx context.Context, path string, w *change) error {
	if w.after == nil {
		if gone, err := c.vanished(ctx, path); gone || err != nil {
			return err
		}
	}
	if _, edited := c.outside.edits[path]; edited || w.took {
		if c.holds(ctx, path, w.after) {
			return nil
		}
		return c.peek(ctx, path)
	}
	return c.exchange(ctx, path, w)
}

// peek answers what lies in the place of a file that somebody changed, as an exchange would that
// expects what was there before. Most of what was taken in is as it should be already, and to find that
// out nothing need be written. The caller holds mu.
func (c *Checkout) peek(ctx context.Context, path string) error {
	text, _, err := c.files.Get(ctx, c.key(path), 0, -1)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return &blob.Found{Absent: true}
	case errors.Is(err, blob.ErrForeign):
		return &blob.Found{Foreign: true}
	case err != nil:
		return err
	}
	return &blob.Found{Data: text}
}

// exchange is bring for a file that nobody is known to have changed.
func (c *Checkout) exchange(ctx context.Context, path string, w *change) error {
	if w.after == nil && w.before == nil {
		return nil
	}
	old, err := c.text(ctx, w.before)
	if err != nil {
		return err
	}
	return c.replace(ctx, path, w.after, old)
}

// replace puts the text of the log in the place of another, or takes that away if the log has none.
func (c *Checkout) replace(
	ctx context.Context, path string, f *index.File, old []byte,
) error {
	if f == nil {
		return c.files.Remove(ctx, c.key(path), old)
	}
	text, err := c.text(ctx, f)
	if err != nil {
		return err
	}
	key := c.key(path)
	if key != path {
		c.outside.keys[path] = key
	}
	return c.files.Exchange(ctx, key, text, old)
}

// meet deals with a file that is not what was expected. It may be as it should become already; or have
// the text that somebody had put there, which the log has taken in, and then it may be replaced. If
// that was taken away since, what others changed in the note is still there, and it comes back. Anything
// else is the *blob.Found that it met. The caller holds mu.
func (c *Checkout) meet(
	ctx context.Context, path string, w *change, found *blob.Found,
) error {
	switch {
	case w.after == nil && found.Absent:
		return nil
	case found.Absent && (w.before == nil || w.took && w.found != nil):
		return c.replace(ctx, path, w.after, nil)
	case found.Absent, found.Foreign:
		return found
	}
	digest := index.DigestOf(found.Data)
	switch {
	case w.after != nil && w.after.Digest == digest:
		return nil
	case w.found != nil && *w.found == digest, w.before != nil && w.before.Digest == digest:
		return c.replace(ctx, path, w.after, found.Data)
	}
	return found
}

// notice notes that a write met a file that somebody else changed. If that is known, it is no news:
// those who go on to write would keep the batch from closing. The caller holds mu.
func (c *Checkout) notice(path string, w *change, met *blob.Found) {
	now := edit{at: time.Now()}
	now.before, now.upTo = c.had(path)
	if !met.Absent && !met.Foreign {
		now.mark = "met"
	}
	if why := intake.Unfit(met.Data); why != "" {
		c.refuse(path, why)
		return
	}
	if met.Foreign {
		c.leave(repo.LeftFile{Path: c.key(path), Why: repo.LeftForeign})
	}
	if now.before == nil && met.Absent {
		return
	}
	if e := c.outside.edits[path]; e != nil && e.mark != "" && now.mark != "" {
		now.mark, now.to = e.mark, e.to // how the file looks is seen by who looks at it
	}
	c.differs(path, now)
	if w.took { // they changed what the log has now
		e := c.outside.edits[path]
		e.before, e.upTo = w.before, 0
		e.since, e.met, e.joins = time.Now(), time.Now(), false
	}
}

// restore writes a file that is not there. The caller holds mu.
func (c *Checkout) restore(ctx context.Context, path string) error {
	f, ok := c.at.File(path)
	if !ok || c.opt.ReadOnly {
		return nil
	}
	err := c.replace(ctx, path, f, nil)
	var found *blob.Found
	if errors.As(err, &found) {
		return nil // somebody was quicker
	}
	if err == nil {
		c.unsaved[path] = true
		c.agrees(path)
	}
	return err
}

// text is the text of a file in the log; nil for none.
func (c *Checkout) text(ctx context.Context, f *index.File) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	text, err := c.vault.Text(ctx, f.Body)
	if text == nil {
		text = []byte{}
	}
	return text, err
}
