package checkout

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/index"
)

// recoverWrites writes the files again that a process that died may not have synced. A file can
// have the text at the cursor, or a later one, or a damaged write, or an outside edit, which stays.
// A file also stays if its removal outside ended its note, because it was put back since. Open
// calls it before the background goroutines start.
func (c *Checkout) recoverWrites(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	steps, removed, last := c.steps(), c.removals(), c.written
	c.collect()
	c.markAllBehind(last)
	for path, w := range c.unwritten {
		if w.after == nil && removed.isFinal(path, c.at) {
			w.before, w.ingested = nil, true // the file was removed already
			continue
		}
		if err := c.recoverFile(ctx, path, steps[path]); err != nil {
			c.log.ErrorContext(ctx, "a file could not be compared with the log",
				slog.String("vault", c.vault.Name), slog.Any("cause", err))
		}
	}
	c.write(ctx)
}

// steps returns by path the files of the commits after the cursor, in order; nil represents a
// removal. The text of a file that a dead process wrote is one of these. The caller holds mu.
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

// recoverFile sets w.before to the text that a file has if that is one of the steps, so that the
// write that follows expects it. It repairs a file with a damaged write of one of them. Any other
// content is an outside edit: w stays, and the write notices it. The caller holds mu.
func (c *Checkout) recoverFile(ctx context.Context, path string, steps []*index.File) error {
	w := c.unwritten[path]
	found, _, err := c.files.Get(ctx, path, 0, -1)
	if errors.Is(err, blob.ErrNotExist) {
		c.recoverAbsent(path, steps)
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
		if isPartialWrite(found, text) {
			return c.repair(ctx, path, w, found)
		}
	}
	return nil
}

// recoverAbsent is recoverFile for a missing file: if one of the steps removed it, the dead process
// did that. Otherwise it was removed outside. The caller holds mu.
func (c *Checkout) recoverAbsent(path string, steps []*index.File) {
	w := c.unwritten[path]
	if !slices.Contains(steps, nil) {
		return
	}
	w.before = nil
	if w.after == nil {
		delete(c.unwritten, path)
		c.unsaved[path] = true
		c.markCurrent(path)
	}
}

// isPartialWrite reports whether found can be the result of a write of text that a power failure
// interrupted: blocks of a file reach the disk in any order, with NUL in place of the others. It
// returns false for the whole text, and true for an empty file.
func isPartialWrite(found, text []byte) bool {
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

// repair replaces a damaged text by that of the log. The caller holds mu.
func (c *Checkout) repair(ctx context.Context, path string, w *change, found []byte) error {
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
		delete(c.unwritten, path)
		c.unsaved[path] = true
		c.markCurrent(path)
	}
	return err
}
