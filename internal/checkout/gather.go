package checkout

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// A found is what lies in the folder where somebody changed something.
type found struct {
	path     string
	text     []byte // nil: the file is gone
	digest   index.Digest
	before   *index.File // what the file had been; nil: there was none
	upTo     uint64      // the file had nothing of the log that is newer than this version; 0: than before
	late     lag         // of the file
	saved    time.Time   // when somebody changed it first, by the vault's clock
	at       time.Time   // when it was seen to change last
	modified time.Time
	from     *found // the file that was moved here
	moved    bool   // away, to another path
	to       string // this file has only another spelling of its name now
	was      []byte // the text that they began with, as far as that can be told
	exact    bool   // it is one of the earlier texts
	reverts  bool   // it is older than what they had seen, and so takes that back
	kept     bool   // it was held before
}

func (f *found) gone() bool { return f.text == nil }

// takesAway reports whether taking the edit in takes something away, so that it counts for the guard.
// To move a note does not.
func (f *found) takesAway() bool {
	return f.before != nil && !inTrash(f.path) && (f.reverts || f.gone() && !f.moved)
}

func inTrash(path string) bool { return strings.HasPrefix(path, vault.Trash) }

// gather reads the files of all edits, and finds out what somebody did to them.
func (c *Checkout) gather(ctx context.Context, t Taking) (*batch, error) {
	b := &batch{Checkout: c, whole: t.part == nil || t.part.held, unasked: t.unasked}
	if err := c.respell(ctx); err != nil {
		return nil, err
	}
	b.choose(t.part)
	for _, path := range b.paths {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := c.read(ctx, path, t)
		if err != nil {
			return nil, err
		}
		if f != nil && (!t.unasked || !c.unfinished(f)) {
			b.found = append(b.found, f)
		}
	}
	if err := b.rooted(ctx); err != nil {
		return nil, err
	}
	b.pair()
	if err := b.lookBack(ctx); err != nil {
		return nil, err
	}
	if t.part != nil {
		b.defers()
	}
	b.resume()
	return b, nil
}

// choose chooses the edits that the batch is of: all, or those of a plan.
func (b *batch) choose(part *plan) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &b.outside
	b.total = b.at.Totals().Notes
	if b.whole {
		o.less = false
	}
	for path, e := range o.edits {
		if part == nil || part.held && e.held {
			b.paths = append(b.paths, path)
		}
	}
	if part != nil {
		b.paths = append(b.paths, part.paths...)
	}
	slices.Sort(b.paths)
}

// resume holds again what waited for a word when the last process ended: what takes something away,
// however little of it is left. A discard may have ended on its way, and the rest would be taken in.
func (b *batch) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &b.outside
	if !o.resumes || !b.whole {
		return
	}
	o.resumes = false
	for _, f := range b.found {
		e := o.edits[f.path]
		if e != nil && (f.takesAway() || o.held != nil && slices.Contains(o.held.Paths, f.path)) {
			f.kept, e.held = true, true
		}
	}
}

// rooted is an error if files are gone because the folder itself is, or cannot be read: that says
// nothing of its files.
func (b *batch) rooted(ctx context.Context) error {
	if !slices.ContainsFunc(b.found, (*found).gone) {
		return nil
	}
	for _, err := range b.files.Walk(ctx, "", func(string) bool { return false }) {
		if err != nil {
			return unlisted(err)
		}
		break
	}
	return nil
}

// unfinished reports whether a file was emptied a moment ago: most likely by an editor that is about to
// write it, and is slow.
func (c *Checkout) unfinished(f *found) bool {
	return f.text != nil && len(f.text) == 0 && f.before != nil && f.before.Size > 0 &&
		time.Since(f.at) < c.span(emptied)
}

// read reads the file of an edit; nil if there is nothing to take in after all.
func (c *Checkout) read(ctx context.Context, path string, t Taking) (*found, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	err := c.examine(ctx, path)
	if ctx.Err() != nil { // a read that was ended says nothing of the file
		return nil, ctx.Err()
	}
	if fault.Is(err, fault.FileError) { // the others need not wait for it
		c.refuse(path, repo.LeftUnread)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := c.outside.edits[path]
	if e == nil || t.part != nil && !e.held && !c.rests(e) { // it has changed again
		return nil, nil
	}
	f := &found{
		path: path, before: e.before, upTo: e.upTo, at: e.at, kept: e.held, to: e.to,
		saved: c.now().Add(-time.Since(e.first)),
	}
	if l := cmp.Or(c.outside.lags[path], c.outside.unnamed); l != nil {
		f.late = *l
	}
	c.outside.read[path] = true
	if e.mark == "" {
		return f, nil
	}
	text, o, err := c.content(ctx, path)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errTorn) && t.unasked:
		return nil, nil // it is tried again
	case errors.Is(err, errTorn):
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return nil, nil // it changed just now, and will be looked at again
	case err != nil:
		c.refuse(path, repo.LeftUnread)
		return nil, nil
	}
	if why := unfit(text); why != "" {
		c.refuse(path, why)
		return nil, nil
	}
	f.text, f.digest, f.modified = text, index.DigestOf(text), o.Modified
	return f, nil
}

// errTorn says that a file changed each time while it was read.
var errTorn = errors.New("the file changes while it is read")

// steadyReads is how often a file that changes while it is read is read again at once.
const steadyReads = 5

// content returns the text of a file, and how the file looked when it was read. If the file changed
// during each of several reads the error is errTorn, and the text that of the last. The caller holds mu.
func (c *Checkout) content(ctx context.Context, path string) ([]byte, blob.Object, error) {
	key := c.key(path)
	o, err := c.files.Look(ctx, key)
	if err != nil {
		return nil, o, err
	}
	var text []byte
	for range steadyReads {
		if text, _, err = c.files.Get(ctx, key, 0, -1); err != nil {
			return nil, o, err
		}
		after, err := c.files.Look(ctx, key)
		if err != nil {
			return nil, o, err
		}
		if after.Mark == o.Mark {
			return text, o, nil
		}
		o = after
	}
	return text, o, errTorn
}

// pair finds the files that were moved: gone in one place, and there in another with the same text or,
// but for case, the same name.
func (b *batch) pair() {
	gone := map[index.Digest][]*found{}
	names := map[string]*found{}
	for _, f := range b.found {
		if f.gone() && f.before != nil && !inTrash(f.path) {
			gone[f.before.Digest] = append(gone[f.before.Digest], f)
			names[f.to] = f
		}
	}
	for _, f := range b.found {
		if f.gone() || f.before != nil || inTrash(f.path) {
			continue
		}
		from := names[f.path]
		if from == nil {
			from = likeliest(gone[f.digest], f.path)
		}
		if from != nil && !from.moved {
			f.from, from.moved = from, true
		}
	}
}

// likeliest is the file of some with the same text that was moved to a path: one with the same name in
// another folder, else the first.
func likeliest(from []*found, path string) *found {
	var first *found
	for _, f := range from {
		switch {
		case f.moved:
		case name(f.path) == name(path):
			return f
		case first == nil:
			first = f
		}
	}
	return first
}

func name(path string) string { return path[len(vault.Path(path).Dir()):] }
