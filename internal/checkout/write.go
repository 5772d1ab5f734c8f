package checkout

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
	"github.com/rookeryhq/rookery/internal/parallel"
	"github.com/rookeryhq/rookery/internal/repo"
)

// write writes every file that is behind. It removes files first, because on a file system that
// folds case one file may block another. Then it exchanges the others, several at a time. They are
// begun in the order of their paths, in which an import stores the texts, so that each block of the
// log is unpacked once. A file that cannot be written stays behind, and a later call tries it again.
// If the folder is read-only, or the vault is being erased, it drops all changes instead. The caller
// holds mu.
//
// Files are replaced by an exchange that expects the old text, so a file that a person saved in the
// meantime is never overwritten.
func (c *Checkout) write(ctx context.Context) {
	if c.ended || c.opt.ReadOnly {
		clear(c.unwritten)
		return
	}
	paths := slices.Sorted(maps.Keys(c.unwritten))
	var texts []string
	for _, path := range paths {
		if w := c.unwritten[path]; w.after != nil {
			texts = append(texts, path)
		} else {
			c.settleWrite(ctx, path, w, c.update(ctx, path, w))
		}
	}
	done := c.exchangeAll(ctx, texts)
	for _, path := range texts {
		w := c.unwritten[path]
		err, exchanged := done[path]
		if !exchanged {
			err = c.update(ctx, path, w)
		}
		c.settleWrite(ctx, path, w, err)
	}
	for _, w := range c.unwritten {
		w.text = nil // a file that stays behind must not keep its commit in memory
	}
}

// exchangedAtOnce is the number of files that are exchanged at the same time. It is small, because
// the exchanges of a local disk need the processor more than they wait.
const exchangedAtOnce = 4

// exchangeAll makes the exchanges of those files that have no known outside edit, and returns their
// results by path: nil, or the error of exchange. It does nothing for a single file. The caller holds
// mu.
func (c *Checkout) exchangeAll(ctx context.Context, paths []string) map[string]error {
	type exchange struct {
		path, key string
		err       error
	}
	var all []*exchange
	for _, path := range paths {
		if !c.isEdited(path, c.unwritten[path]) && len(paths) > 1 {
			all = append(all, &exchange{path: path, key: c.keyToWrite(path)})
		}
	}
	_ = parallel.ForEach(exchangedAtOnce, all, func(e *exchange) error {
		w := c.unwritten[e.path]
		var old []byte
		if old, e.err = c.text(ctx, w.before); e.err == nil {
			e.err = c.put(ctx, e.key, w, old)
		}
		return nil
	})
	done := make(map[string]error, len(all))
	for _, e := range all {
		done[e.path] = e.err
	}
	return done
}

// isEdited reports whether the content of a file is not that of the log, as far as that is known:
// it has an outside edit, or the commit has just ingested its text. Such a file is only compared.
// The caller holds mu.
func (c *Checkout) isEdited(path string, w *change) bool {
	_, edited := c.pending.edits[path]
	return edited || w.ingested
}

// settleWrite records the result of writing one file, which is the error of update, and any outside
// edit that the write met. There are three outcomes. The file was written, or had the new text: it
// is unsaved, and no longer behind. It had a text that is not from the log: it stays, and is
// recorded as an edit, which the next ingest merges. It could not be written: it stays in unwritten,
// and the next call tries again. The caller holds mu.
func (c *Checkout) settleWrite(ctx context.Context, path string, w *change, err error) {
	var found *blob.Found
	if errors.As(err, &found) {
		err = c.handleFound(ctx, path, w, found)
	}
	switch {
	case errors.As(err, &found):
		delete(c.unwritten, path)
		c.markBehind(path, w)
		c.recordMet(path, w, found)
	case err != nil:
		c.markBehind(path, w)
		c.logLimited(ctx, "a note could not be written to its file", err)
	default:
		delete(c.unwritten, path)
		c.unsaved[path] = true
		c.recordEqual(path)
	}
}

// update changes one file from the state that it should have to the newest state of the log. If the
// file has any other content, the error is a *blob.Found. The caller holds mu.
//
// A file with an outside edit is only compared, never written: its content is not that of the log,
// so an exchange could not succeed. The same is true of a file whose text the commit has just
// ingested.
func (c *Checkout) update(ctx context.Context, path string, w *change) error {
	if w.after == nil {
		if gone, err := c.vanished(ctx, path); gone || err != nil {
			return err
		}
	}
	if c.isEdited(path, w) {
		if c.holds(ctx, path, w.after) {
			return nil
		}
		return c.peek(ctx, path)
	}
	return c.exchange(ctx, path, w)
}

// peek reports the content of a file with an outside edit, as the error that an exchange would
// return which expects the old content. Most ingested files already have the right content, and
// finding that out needs no write. The caller holds mu.
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

// exchange is update for a file without a known outside edit. It reads the old text from the log.
func (c *Checkout) exchange(ctx context.Context, path string, w *change) error {
	if w.after == nil && w.before == nil {
		return nil
	}
	old, err := c.text(ctx, w.before)
	if err != nil {
		return err
	}
	return c.replace(ctx, path, w, old)
}

// replace replaces the old content of a file by the new text of a change, or removes the file if
// there is none. If the content is not old, the error is a *blob.Found. A nil old means that there is
// no file.
func (c *Checkout) replace(ctx context.Context, path string, w *change, old []byte) error {
	if w.after == nil {
		return c.files.Remove(ctx, c.key(path), old)
	}
	return c.put(ctx, c.keyToWrite(path), w, old)
}

// keyToWrite is key for a file that is about to be written. The caller holds mu.
func (c *Checkout) keyToWrite(path string) string {
	key := c.key(path)
	if key != path {
		c.pending.keys[path] = key
	}
	return key
}

// put exchanges the old content of the file with a key for the new text of a change; see replace.
// It uses nothing that mu guards but the change.
func (c *Checkout) put(ctx context.Context, key string, w *change, old []byte) error {
	text := w.text
	if text == nil {
		var err error
		if text, err = c.text(ctx, w.after); err != nil {
			return err
		}
	}
	return c.files.Exchange(ctx, key, text, old)
}

// handleFound handles a file that does not have the expected content. If it already has the new
// content, there is nothing to do. If it has the text of an outside edit that the log has ingested,
// it is replaced. If it was removed after such an ingest, the note still has the changes of others,
// and the file is written again. In every other case the error is the *blob.Found. The caller holds
// mu.
func (c *Checkout) handleFound(
	ctx context.Context, path string, w *change, found *blob.Found,
) error {
	switch {
	case w.after == nil && found.Absent:
		return nil
	case found.Absent && (w.before == nil || w.ingested && w.found != nil):
		return c.replace(ctx, path, w, nil)
	case found.Absent, found.Foreign:
		return found
	}
	digest := index.DigestOf(found.Data)
	switch {
	case w.after != nil && w.after.Digest == digest:
		return nil
	case w.found != nil && *w.found == digest, w.before != nil && w.before.Digest == digest:
		return c.replace(ctx, path, w, found.Data)
	}
	return found
}

// recordMet records the outside edit that a write met. If the edit is known, it does not count as a
// new change: otherwise frequent writes would keep the batch from becoming due. A text that cannot
// be a note makes the file a skipped one instead. The caller holds mu.
func (c *Checkout) recordMet(path string, w *change, met *blob.Found) {
	now := edit{at: time.Now()}
	now.before, now.upTo = c.lastWritten(path)
	if !met.Absent && !met.Foreign {
		now.mark = "met"
	}
	if why := intake.Unfit(met.Data); why != "" {
		c.refuse(path, why)
		return
	}
	if met.Foreign {
		c.recordSkipped(repo.LeftFile{Path: c.key(path), Why: repo.LeftForeign})
	}
	if now.before == nil && met.Absent {
		return
	}
	if e := c.pending.edits[path]; e != nil && e.mark != "" && now.mark != "" {
		now.mark, now.to = e.mark, e.to // only an examination of the file knows its real mark
	}
	c.recordEdit(path, now)
	if w.ingested { // the edit changed the text that the log has now
		e := c.pending.edits[path]
		e.before, e.upTo = w.before, 0
		e.since, e.noticed, e.withRemoval = time.Now(), time.Now(), false
	}
}

// restore writes the file of a note if it is missing. It does nothing if there is no such note, or
// if the folder is read-only. A file that exists stays as it is: another process has written it
// first, or it is an outside edit. The caller holds mu.
func (c *Checkout) restore(ctx context.Context, path string) error {
	f, ok := c.at.File(path)
	if !ok || c.opt.ReadOnly {
		return nil
	}
	err := c.replace(ctx, path, &change{after: f}, nil)
	if _, ok := errors.AsType[*blob.Found](err); ok {
		return nil // another process has written the file first
	}
	if err == nil {
		c.unsaved[path] = true
		c.recordEqual(path)
	}
	return err
}

// text returns the text of a file in the log: nil for a nil f, and not nil for an empty file,
// because the conditions of a folder distinguish an empty file from none.
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
