// Package checkout keeps the notes of a vault as plain files, for people and every other tool, and
// takes in what these do to the files.
//
// The files follow the log: a write is in its file before it is answered, and what was written but
// not synced when a process died is written again at the start. There is no manifest: what the
// checkout wrote is the log's text at its cursor (reference/log.md §4).
//
// The log follows the files: what somebody else changed is never overwritten. It is noticed, by a
// watcher with a sweep behind it, and taken in when nothing has changed for two seconds: merged with
// what the log did meanwhile, on the base of the earlier text that is nearest to what was found
// (reference/log.md §5). What cannot be merged is kept beside; what would take away too much waits for
// a word; what can be no note stays as it is, and is told.
package checkout

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
	"rookery/internal/watch"
)

// Names of the cursors in the control item.
const (
	filesCursor = "checkout"
	auditCursor = "audit"
)

// Cursors are the names of the cursors, behind which the log must not be trimmed.
func Cursors() []string { return []string{filesCursor, auditCursor} }

// Files are where a checkout lies: a folder.
type Files = blob.Folder

// A Checkout is the folder of one vault, kept in step with its log. It is a repo.Follower.
type Checkout struct {
	vault *repo.Vault
	files Files
	log   *slog.Logger
	now   func() time.Time
	opt   Options

	// mu orders what is done to the files.
	mu      sync.Mutex
	at      *index.Index       // what the files should be, but for what is waiting
	waiting map[string]*change // commits that are not in the files yet, by path
	unsaved map[string]bool    // paths that were written and not synced
	written uint64             // the files hold the commits up to here
	saved   uint64             // and durably up to here, as far as the cursor says
	outside outside
	audit   audit
	ended   bool // the vault is sealed, and no file is written any more

	// inbox is what Applied told since mu was last held: Applied must not wait for files.
	inbox inbox

	grumbled grumble // of what is logged as wrong

	turn     chan struct{} // has one place, for who reindexes and tells of it; before all others
	taking   sync.Mutex    // held by who takes edits in; before all others but turn
	sweeping sync.Mutex    // held by who sweeps, so that the newest result is the last
	saving   sync.Mutex    // held by who saves, or makes the audit log anew; before mu

	begins   bool          // nobody has kept this folder before
	stirred  chan struct{} // there is an edit
	ready    chan struct{} // closed when the folder was compared once
	attended chan struct{} // closed when nobody looks after it any more

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

var _ repo.Follower = (*Checkout)(nil)

// A change is what the log made of one file since it was last written.
type change struct {
	before *index.File // as the file should be now; nil: absent
	after  *index.File
	found  *index.Digest // of a text of somebody else that the log has taken in; nil: none
	took   bool          // the log has taken in what was there, so that before tells of that
}

// An inbox holds commits that were applied, until the files are written.
type inbox struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	before, after *index.Index
	commit        *repo.Commit
}

// Open brings the folder of a vault in step with its log and keeps it so until Close. The vault must
// not have been read yet.
func Open(ctx context.Context, v *repo.Vault, o Options) (*Checkout, error) {
	c := &Checkout{
		vault: v, files: o.Files, log: o.Log, now: o.Now, opt: o,
		waiting: map[string]*change{}, unsaved: map[string]bool{}, outside: newOutside(),
		stirred: make(chan struct{}, 1), ready: make(chan struct{}), attended: make(chan struct{}),
		turn: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	control, err := v.Control(ctx)
	if err != nil {
		return nil, err
	}
	c.written = control.Cursors[filesCursor].Seq
	c.begins = c.written == 0
	c.audit.cursor = control.Cursors[auditCursor]
	c.saved = c.written
	c.outside.heldBefore(control.Held)
	v.Follow(c, min(c.written, c.audit.cursor.Seq)) // what was durable at the start
	if _, err := v.Read(ctx); err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	c.at = v.Known()
	c.recall(ctx)
	c.redo(ctx)
	go c.keep()
	return c, nil
}

// Options are what a checkout is made with. Files, Log and Now are required.
type Options struct {
	Files Files // the folder of the notes
	Log   *slog.Logger
	Now   func() time.Time
	Who   repo.Who // who is said to have made the edits that are taken in

	// Watch watches the folder. Nil: it is compared with the log from time to time.
	Watch func(enter func(folder string) bool) (*watch.Tree, error)

	// Memory keeps what files looked like from one process to the next, so that they need not all be
	// read again. Nil: it is forgotten.
	Memory blob.Bucket

	// ReadOnly says that nothing can be written to the folder. Edits are taken in all the same; the
	// vault must not be written to by anybody else.
	ReadOnly bool

	// Progress is told, while more than 500 files are taken in at once, how many of them are. It is
	// called by one goroutine at a time. Nil: nobody is told.
	Progress func(done, total int)

	hurry time.Duration // so many times faster everything is here; less than 2: not at all
}

// Applied notes a commit down.
func (c *Checkout) Applied(before, after *index.Index, commit *repo.Commit) {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	c.inbox.entries = append(c.inbox.entries, entry{before, after, commit})
}

// Settled writes the files of the commits that were applied.
func (c *Checkout) Settled(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	c.tell(ctx)
}

// collect empties the inbox. The caller holds mu.
func (c *Checkout) collect() {
	c.inbox.mu.Lock()
	entries := c.inbox.entries
	c.inbox.entries = nil
	c.inbox.mu.Unlock()
	for _, e := range entries {
		c.audit.add(e.commit)
		c.at = e.after
		if e.commit.Seq <= c.written {
			continue
		}
		for _, n := range e.commit.Notes {
			if n.Erased || isAudit(n.Path) {
				continue // its lines are part of the folder's own
			}
			c.await(n, e)
		}
		c.written = e.commit.Seq
	}
}

// await notes that a file is behind the log.
func (c *Checkout) await(n repo.Note, e entry) {
	after, _ := e.after.File(n.Path)
	w, ok := c.waiting[n.Path]
	if !ok {
		before, _ := e.before.File(n.Path)
		w = &change{before: before}
		c.waiting[n.Path] = w
	}
	w.after = after
	if n.Theirs != nil {
		digest := index.DigestOf(n.Theirs)
		w.found = &digest
	}
	if c.outside.read[n.Path] && e.commit.Tool == reindex {
		w.before, w.took = after, true
		delete(c.outside.read, n.Path)
	}
}

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
		c.notice(path, w, found)
	case err != nil:
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
	now := edit{before: w.before, at: time.Now()}
	if !met.Absent && !met.Foreign {
		now.mark = "met"
	}
	if now.before == nil && met.Absent {
		return
	}
	if e := c.outside.edits[path]; e != nil && e.mark != "" && now.mark != "" {
		now.mark, now.to = e.mark, e.to // how the file looks is seen by who looks at it
	}
	c.differs(path, now)
	if w.took { // they changed what the log has now
		c.outside.edits[path].before = w.before
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

// Guard notices that somebody else changed the file of a note that is about to be written: the write
// goes into the log, and is merged with what is in the file. Where a note is to be made and there is a
// file that was not taken in yet, it is CONFLICT: the caller does not know of the note.
func (c *Checkout) Guard(ctx context.Context, path vault.Path, durable *index.File) error {
	if isAudit(string(path)) || c.opt.ReadOnly {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect() // a commit whose outcome was unknown may have come to be known since
	if _, behind := c.waiting[string(path)]; behind {
		if c.write(ctx); c.waiting[string(path)] != nil {
			return fault.New(fault.StorageError, "the file of %s cannot be written just now", path).
				After(time.Second)
		}
	}
	switch {
	case c.left(string(path)):
		return nil // it is known, and told
	case durable == nil && inTrash(string(path)):
		return c.guardTrash(ctx, string(path))
	}
	if err := c.examine(ctx, string(path)); err != nil {
		return err
	}
	defer c.tell(ctx)
	if durable != nil {
		return nil
	}
	at := c.inTheWayOf(string(path))
	if at == "" {
		return nil
	}
	return fault.New(fault.Conflict, "there is a file at %s already, which somebody made or changed "+
		"outside Rookery; it is read in when nothing has changed for two seconds", at).
		At(at, 0).After(quiet).
		Fix("read %s in a few seconds, and edit it", at).
		Fix("rookery reindex")
}

// guardTrash is CONFLICT if somebody else has a file in the trash where one of ours is to be: it is none
// of the vault's, and stays. The caller holds mu.
func (c *Checkout) guardTrash(ctx context.Context, path string) error {
	_, err := c.files.Look(ctx, c.key(path))
	if errors.Is(err, blob.ErrNotExist) {
		return nil
	}
	return fault.New(fault.Conflict, "there is a file at %s already", path).Because(err)
}

// left reports whether the file of a note is known to be none that can be taken in. The caller holds
// mu.
func (c *Checkout) left(path string) bool {
	_, left := c.outside.left[c.key(path)]
	_, note := c.at.File(path)
	return left && note
}

// inTheWayOf is what is in the folder where a note is to be made: a file that was not taken in, or an
// edit of the note that it is to be by another spelling of its name. Empty: nothing. The caller holds
// mu.
func (c *Checkout) inTheWayOf(path string) string {
	if _, left := c.outside.left[c.key(path)]; left {
		return path
	}
	other, folds := c.at.Folded(path)
	for _, at := range []string{path, other} {
		if e, edited := c.outside.edits[at]; edited && e.mark != "" && (at == path || folds) {
			return at
		}
	}
	return ""
}

func unreadable(path string, err error) error {
	return fault.New(fault.FileError, "the file of %s cannot be read", path).Because(err)
}
