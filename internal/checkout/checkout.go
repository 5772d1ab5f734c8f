// Package checkout keeps the notes of a vault as plain files, for people and every other tool, and
// takes in what these do to the files.
//
// The files follow the log: a write is in its file before it is answered, and what was written but
// not synced when a process died is written again at the start. There is no manifest: what the
// checkout wrote is the log's text at its cursor (reference/log.md §4).
//
// The log follows the files: what somebody else changed is never overwritten. It is noticed, by a
// watcher with a sweep behind it, and taken in when the file has not changed for two seconds: merged with
// what the log did meanwhile, on the base of the earlier text that is nearest to what was found
// (reference/log.md §5). What cannot be merged is kept beside; what would take away too much waits for
// a word; what can be no note stays as it is, and is told.
package checkout

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"rookery/internal/auditlog"
	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// Cursors are the names of the cursors, behind which the log must not be trimmed.
func Cursors() []string { return []string{repo.FilesCursor, auditlog.Cursor} }

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
	added   auditlog.Batch // what commits add to the audit log
	ended   bool           // the vault is sealed, and no file is written any more

	// inbox is what Applied told since mu was last held: Applied must not wait for files.
	inbox inbox

	// unread are the repo.LeftFile of notes, by path, for who must not wait for mu.
	unread sync.Map

	away     atomic.Bool // the folder is not where it is served, or cannot be read
	grumbled grumble     // of what is logged as wrong
	progress progress    // of the first reading

	retaining sync.Mutex // of what is kept for the next process

	turn     chan struct{} // has one place, for who reindexes and tells of it; before all others
	taking   sync.Mutex    // held by who takes edits in; before all others but turn
	sweeping sync.Mutex    // held by who sweeps, so that the newest result is the last
	saving   sync.Mutex    // held by who saves, or makes the audit log anew; before mu

	audit *auditlog.Log // guarded by saving

	begins   bool          // nobody has kept this folder before
	beyond   bool          // the folder has commits that the log has lost
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
		waiting: map[string]*change{}, unsaved: map[string]bool{}, outside: newOutside(v.MaxNamed()),
		stirred: make(chan struct{}, 1), ready: make(chan struct{}), attended: make(chan struct{}),
		turn: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	control, err := v.Control(ctx)
	if err != nil {
		return nil, err
	}
	c.written = control.Cursors[repo.FilesCursor].Seq
	c.begins = c.written == 0
	c.audit = auditlog.New(v, c.files, control)
	c.added = auditlog.NewBatch(c.audit.Seq())
	c.saved = c.written
	c.outside.heldBefore(control.Held)
	c.recallLags(control.Late)
	v.Follow(c, min(c.written, c.audit.Seq())) // what was durable at the start
	if _, err := v.Read(ctx); err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	c.at = v.Known()
	c.beyond = c.at != nil && c.written > c.at.Version()
	c.recall(ctx)
	c.redo(ctx)
	if err := c.readSettings(ctx); err != nil {
		c.complain(ctx, err)
	}
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
	Watch func(enter func(folder string) bool) (blob.Watch, error)

	// Away reports whether the folder is no longer where it is served: the path leads elsewhere, or nowhere. Nil: it
	// always is.
	Away func() bool

	// Memory keeps what files looked like from one process to the next, so that they need not all be
	// read again. Nil: it is forgotten.
	Memory blob.Bucket

	// ReadOnly says that nothing can be written to the folder. Edits are taken in all the same; the
	// vault must not be written to by anybody else.
	ReadOnly bool

	// Progress is told, while more than 500 files are taken in at once, how many of them are. It is
	// called by one goroutine at a time. Nil: nobody is told.
	Progress func(done, total int)

	pace float64 // how many times as fast everything that takes a time is; 0: 1
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

// Unread returns why the file of a note is left as it is, and whether it is.
func (c *Checkout) Unread(path string) (repo.LeftFile, bool) {
	if c.away.Load() {
		return repo.LeftFile{Path: path, Why: repo.LeftAway}, true
	}
	f, left := c.unread.Load(path)
	if !left {
		return repo.LeftFile{}, false
	}
	return f.(repo.LeftFile), true
}

// collect empties the inbox. The caller holds mu.
func (c *Checkout) collect() {
	c.inbox.mu.Lock()
	entries := c.inbox.entries
	c.inbox.entries = nil
	c.inbox.mu.Unlock()
	for _, e := range entries {
		c.added.Add(e.commit)
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
	if now := c.vault.Known(); c.at != nil && now.Version() == c.at.Version() {
		c.at = now // the vault may have replaced its state by an equal one
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
			return fault.New(fault.StorageError, "the file of %s cannot be written now", path).
				After(time.Second)
		}
	}
	switch {
	case c.left(string(path)):
		return nil // it is known, and told
	case durable == nil && vault.InTrash(string(path)):
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
	if at == "" && c.first() {
		var err error
		if at, err = c.unreadTwin(ctx, string(path)); err != nil {
			return err
		}
	}
	if at == "" {
		return nil
	}
	return fault.New(fault.Conflict, "there is a file at %s already, which was created or changed outside "+
		"Rookery; it becomes a note within a few seconds", at).
		At(at, 0).After(quiet).
		Fix("read the note when it exists, and edit it").
		Try("raven_read", fault.Args{"path": at})
}

// unreadTwin returns a file in the folder that is not read yet, and whose name differs from a path by
// case or normalization only; empty: there is none. The caller holds mu.
func (c *Checkout) unreadTwin(ctx context.Context, path string) (string, error) {
	names, err := c.spellings(ctx, path)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := vault.CleanPath(name)
		if _, known := c.at.File(at); !known {
			return at, nil
		}
	}
	return "", nil
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
