package checkout

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"

	"rookery/internal/blob"
	"rookery/internal/index"
)

// redo writes again what a process that died may not have synced. What is there is known: the text
// at the cursor, or a later one; else a torn write; else somebody's edit, which stays. So does a file
// whose removal by somebody was the end of its note: it is there because they put it back.
func (c *Checkout) redo(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	steps, removed, last := c.steps(), c.removals(), c.written
	c.collect()
	c.comeLate(last)
	for path, w := range c.waiting {
		if w.after == nil && removed.ends(path, c.at) {
			w.before, w.took = nil, true // there was no file any more
			continue
		}
		if err := c.heal(ctx, path, steps[path]); err != nil {
			c.log.ErrorContext(ctx, "a file could not be compared with the log",
				slog.String("vault", c.vault.Name), slog.Any("cause", err))
		}
	}
	c.write(ctx)
}

// steps are, by path, the files that the commits behind the cursor made one after the other; nil
// where one took the file away.
func (c *Checkout) steps() map[string][]*index.File {
	all := map[string][]*index.File{}
	for _, e := range c.inbox.entries {
		if e.commit.Seq <= c.written {
			continue
		}
		for _, n := range e.commit.Notes {
			f, _ := e.after.File(n.Path)
			all[n.Path] = append(all[n.Path], f)
		}
	}
	return all
}

// heal makes what is in a file the text that the next exchange expects, if the file is one of the
// steps, or torn. The caller holds mu.
func (c *Checkout) heal(ctx context.Context, path string, steps []*index.File) error {
	w := c.waiting[path]
	found, _, err := c.files.Get(ctx, path, 0, -1)
	if errors.Is(err, blob.ErrNotExist) {
		c.healAbsent(path, steps)
		return nil
	}
	if err != nil {
		return err
	}
	steps = slices.DeleteFunc(steps, func(f *index.File) bool { return f == nil })
	for _, f := range steps {
		if f.Digest == index.DigestOf(found) {
			w.before = f
			return nil
		}
	}
	for _, f := range steps {
		text, err := c.text(ctx, f)
		if err != nil {
			return err
		}
		if torn(found, text) {
			return c.mend(ctx, path, w, found)
		}
	}
	return nil
}

// healAbsent is heal where there is no file: it was removed already, for good or until it was made
// anew. The caller holds mu.
func (c *Checkout) healAbsent(path string, steps []*index.File) {
	w := c.waiting[path]
	if !slices.Contains(steps, nil) {
		return
	}
	w.before = nil
	if w.after == nil {
		delete(c.waiting, path)
		c.unsaved[path] = true
		c.catchesUp(path)
	}
}

// torn reports whether found is what a write of text leaves when the power goes: any part of it, for
// its blocks come to the disk in any order, with NUL for what did not come.
func torn(found, text []byte) bool {
	if bytes.Equal(found, text) {
		return false
	}
	found = bytes.TrimRight(found, "\x00")
	if len(found) > len(text) {
		return false
	}
	for i, b := range found {
		if b != 0 && b != text[i] {
			return false
		}
	}
	return true
}

// mend puts the log's text in the place of a torn one.
func (c *Checkout) mend(ctx context.Context, path string, w *change, found []byte) error {
	text, err := c.text(ctx, w.after)
	if err != nil {
		return err
	}
	if w.after == nil {
		err = c.files.Remove(ctx, path, found)
	} else {
		err = c.files.Exchange(ctx, path, text, found)
	}
	if err == nil {
		delete(c.waiting, path)
		c.unsaved[path] = true
		c.catchesUp(path)
	}
	return err
}
