// Package checkout keeps the notes of a vault as plain files, for people and every other tool.
//
// The files follow the log: a write is in its file before it is answered, and what was written but
// not synced when a process died is written again at the start. There is no manifest: what the
// checkout wrote is the log's text at its cursor (reference/log.md §4). A file that somebody else
// changed is never overwritten: it is left as it is, reported, and a write to that note is refused.
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
)

// Names of the cursors in the control item.
const (
	filesCursor = "checkout"
	auditCursor = "audit"
)

// Cursors are the names of the cursors, behind which the log must not be trimmed.
func Cursors() []string { return []string{filesCursor, auditCursor} }

// Files are where a checkout lies: a folder.
type Files interface {
	blob.Bucket
	blob.Exchanger
}

// A Checkout is the folder of one vault, kept in step with its log. It is a repo.Follower.
type Checkout struct {
	vault *repo.Vault
	files Files
	log   *slog.Logger
	now   func() time.Time

	// mu orders what is done to the files.
	mu      sync.Mutex
	waiting map[string]*change // commits that are not in the files yet, by path
	unsaved map[string]bool    // paths that were written and not synced
	written uint64             // the files hold the commits up to here
	saved   uint64             // and durably up to here, as far as the cursor says
	edited  map[string]bool    // paths whose file somebody else changed
	noticed noticing           // of these, what the last sweep does not know
	audit   audit
	ended   bool // the vault is sealed, and no file is written any more

	// inbox is what Applied told since mu was last held: Applied must not wait for files.
	inbox inbox

	sweeping sync.Mutex // held by who sweeps, so that the newest result is the last
	saving   sync.Mutex // held by who saves, or makes the audit log anew; before mu

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

var _ repo.Follower = (*Checkout)(nil)

// A change is what the log made of one file since it was last written.
type change struct {
	before *index.File // as the file should be now; nil: absent
	after  *index.File
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
		vault: v, files: o.Files, log: o.Log, now: o.Now,
		waiting: map[string]*change{}, unsaved: map[string]bool{}, edited: map[string]bool{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	control, err := v.Control(ctx)
	if err != nil {
		return nil, err
	}
	c.written = control.Cursors[filesCursor].Seq
	c.audit.cursor = control.Cursors[auditCursor]
	c.noticed = recall(control.Noticed)
	c.saved = c.written
	v.Follow(c, min(c.written, c.audit.cursor.Seq)) // what was durable at the start
	if _, err := v.Read(ctx); err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	c.redo(ctx)
	go c.keep()
	return c, nil
}

// Options are what a checkout is made with. All are required.
type Options struct {
	Files Files // the folder of the notes
	Log   *slog.Logger
	Now   func() time.Time
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
		if e.commit.Seq <= c.written {
			continue
		}
		for _, n := range e.commit.Notes {
			if n.Erased || isAudit(n.Path) {
				continue // its lines are part of the folder's own
			}
			c.await(n.Path, e)
		}
		c.written = e.commit.Seq
	}
}

// await notes that a file is behind the log.
func (c *Checkout) await(path string, e entry) {
	after, _ := e.after.File(path)
	if w, ok := c.waiting[path]; ok {
		w.after = after
		return
	}
	before, _ := e.before.File(path)
	c.waiting[path] = &change{before, after}
}

// write writes every file that is behind. One that cannot be written stays behind and is tried
// again. The caller holds mu.
func (c *Checkout) write(ctx context.Context) {
	if c.ended {
		clear(c.waiting)
		return
	}
	for path, w := range c.waiting {
		err := c.exchange(ctx, path, w)
		var found *blob.Found
		switch {
		case errors.As(err, &found):
			c.notice(path)
		case err != nil:
			c.log.ErrorContext(ctx, "a note could not be written to its file",
				slog.String("vault", c.vault.Name), slog.Any("cause", err))
			continue
		default:
			c.unsaved[path] = true
			c.agrees(path)
		}
		delete(c.waiting, path)
	}
}

// exchange brings one file from what it should be to what the log says now.
func (c *Checkout) exchange(ctx context.Context, path string, w *change) error {
	old, err := c.text(ctx, w.before)
	if err != nil {
		return err
	}
	if w.after == nil {
		if w.before == nil {
			return nil
		}
		return c.files.Remove(ctx, path, old)
	}
	text, err := c.text(ctx, w.after)
	if err != nil {
		return err
	}
	return c.files.Exchange(ctx, path, text, old)
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

// left notes that somebody else changed a file. The caller holds mu.
func (c *Checkout) left(path string) {
	if c.edited[path] {
		return
	}
	c.edited[path] = true
	c.log.Warn("a file was changed outside; it is left as it is",
		slog.String("vault", c.vault.Name), slog.Int("edited", len(c.edited)))
}

// Guard is CONFLICT if the file is not what the log says: somebody else changed it.
func (c *Checkout) Guard(ctx context.Context, path vault.Path, durable *index.File) error {
	if isAudit(string(path)) {
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
	same, err := c.same(ctx, string(path), durable)
	if err != nil {
		return err
	}
	defer c.tell(ctx)
	if same {
		c.agrees(string(path))
		return nil
	}
	c.notice(string(path))
	return fault.New(fault.Conflict, "the file of %s was changed outside Rookery; it is left as it is",
		path).At(string(path), 0).
		Fix("put the file back as it was, or move it away and run raven_reindex")
}

// same reports whether a file is as the log says. Where the log has none, nothing must be there.
func (c *Checkout) same(ctx context.Context, path string, f *index.File) (bool, error) {
	if f == nil {
		return c.free(ctx, path)
	}
	found, _, err := c.files.Get(ctx, path, 0, -1)
	switch {
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return false, nil
	case err != nil:
		return false, unreadable(path, err)
	}
	return f.Digest == index.DigestOf(found), nil
}

// free reports whether there is nothing at a path: no file, and nothing else either.
func (c *Checkout) free(ctx context.Context, path string) (bool, error) {
	err := c.files.Remove(ctx, path, nil)
	var found *blob.Found
	switch {
	case errors.As(err, &found):
		return false, nil
	case err != nil:
		return false, unreadable(path, err)
	}
	return true, nil
}

func unreadable(path string, err error) error {
	return fault.New(fault.FileError, "the file of %s cannot be read", path).Because(err)
}
