// Package checkout keeps the notes of a vault as plain files, for people and other programs, and
// ingests outside edits of these files.
//
// The files follow the log: a write is in its file before it is answered, and files that were
// written but not synced when a process died are written again at the start. There is no manifest:
// the checkout wrote the texts of the log at its cursor (reference/log.md §4).
//
// The log follows the files: an outside edit is never overwritten. A watcher reports it, or a sweep
// finds it, and it is ingested when the file has not changed for two seconds. It is merged with the
// changes of the log since, on the base of the earlier text that is nearest to the file
// (reference/log.md §5). A text that cannot be merged is kept in a conflict copy. Edits that remove
// too much need confirmation. Files that cannot be notes are skipped, and listed.
//
// The package is divided into these parts. checkout.go has the type and the methods that the vault
// calls. sweep.go, follow.go and compare.go find outside edits and record them as pendingEdits;
// compare.go compares one file, the other two choose the files. schedule.go decides when an edit is
// ingested. gather.go, ingest.go and commit.go turn the edits that are due into commits, with
// package intake, which knows nothing of folders. removalguard.go and discard.go handle batches
// that need confirmation. write.go writes commits to the files, and lag.go records which files did
// not get them in time. spelling.go and key.go deal with file systems that fold case or decompose
// characters. reconcile.go and keep.go have the two goroutines of a Checkout.
//
// The names of files in the folder are called keys here, and the names of notes in the vault paths.
// They differ only in spelling.
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

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Cursors returns the names of the cursors behind which the log must not be trimmed.
func Cursors() []string { return []string{repo.FilesCursor, auditlog.Cursor} }

// Files is the folder of a checkout.
type Files = blob.Folder

// A Checkout is the folder of one vault, kept in sync with its log. It is a repo.Follower. It is
// safe for concurrent use.
//
// Of its mutexes, turn is locked first, then ingesting, then saving or sweeping, then mu. mu is
// held while single files are compared and written, so a writer usually waits for one file at most;
// files are synced without it, and a sweep lists the folder without it. It may be held while the
// vault is read or its control item is changed, but not while a commit is made, because the vault
// calls Guard and Settled, which lock mu.
type Checkout struct {
	vault *repo.Vault
	files Files
	log   *slog.Logger
	now   func() time.Time
	opt   Options

	// mu serializes changes of the files. It guards the fields up to ended, except saved, which
	// saving guards.
	mu        sync.Mutex
	at        *index.Index       // the state that the files must have, except for those in unwritten
	unwritten map[string]*change // commits that are not in the files yet, by path
	unsaved   map[string]bool    // paths of files that were written and not synced
	written   uint64             // the files contain the commits up to this version
	saved     uint64             // the same, synced and recorded in the cursor
	pending   pendingEdits
	running   *sweep         // the sweep of the whole folder that has begun to list it; nil: there is none
	added     auditlog.Batch // lines that commits add to the audit log
	ended     bool           // the vault is sealed, and no file may be written

	// inbox contains the commits of Applied since mu was last held, because Applied must not wait
	// for files.
	inbox inbox

	// unread contains the repo.LeftFile of notes by path, for callers that must not wait for mu.
	unread sync.Map

	away       atomic.Bool // the folder is not at its path, or cannot be read
	logLimiter logLimiter  // limits repeated log messages
	progress   progress    // of the first reading

	retaining sync.Mutex // guards the memory that is kept for the next process

	turn      chan struct{} // has room for one caller of Turn; before all other locks
	ingesting sync.Mutex    // held while edits are ingested; before all but turn
	sweeping  sync.Mutex    // held during a sweep, so that the newest result is stored last
	saving    sync.Mutex    // held during a save, or while the audit log is generated again; before mu
	awaited   atomic.Int32  // how many wait for saving; see lockSaving

	audit *auditlog.Log // guarded by saving

	isNew      bool          // no process has kept this folder before
	hasLost    bool          // the folder contains commits that the log has lost
	wake       chan struct{} // an edit was noticed
	ready      chan struct{} // closed after the first complete sweep, or when it failed
	reconciled chan struct{} // closed when outside edits are no longer ingested

	closing sync.Once
	stop    chan struct{}
	done    chan struct{}
}

var _ repo.Follower = (*Checkout)(nil)

// A change is the difference between the log and one file since the file was last written. Several
// commits to one path become one change: before stays that of the first commit, and after is that
// of the last.
type change struct {
	before   *index.File // the state that the file should have now; nil: absent
	after    *index.File
	found    *index.Digest // of an outside edit that a commit ingested; nil: none
	ingested bool          // the commit ingested the text of the file, so that before has that text

	text []byte // of after, if the commit is still in memory; nil: it is read from the log
}

// An inbox contains commits that were applied, until the files are written. It has its own mutex,
// because Applied is called while the vault is locked and must not wait for mu.
type inbox struct {
	mu      sync.Mutex
	entries []entry
}

// An entry is one commit of an inbox, with the states of the vault before and after it.
type entry struct {
	before, after *index.Index
	commit        *eventlog.Commit
}

// Open syncs the folder of a vault with its log and keeps it in sync until Close. The vault must
// not have been read yet. Open returns while outside edits are still being found; see Ready.
//
// It reads the log from the earlier of its two cursors, and writes again the files of the commits
// after the cursor of the files, which the process before may not have synced. Then it ingests the
// settings, because they determine how notes are read, and starts the background goroutines. An
// error of the settings is logged and does not prevent the start. If the log has lost versions that
// the folder has, as after a restored backup, Open succeeds, but no edit is ingested before a call
// asks for it.
func Open(ctx context.Context, v *repo.Vault, o Options) (*Checkout, error) {
	c := &Checkout{
		vault: v, files: o.Files, log: o.Log, now: o.Now, opt: o,
		unwritten: map[string]*change{}, unsaved: map[string]bool{}, pending: newPendingEdits(v.MaxNamed()),
		wake: make(chan struct{}, 1), ready: make(chan struct{}), reconciled: make(chan struct{}),
		turn: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	control, err := v.Control(ctx)
	if err != nil {
		return nil, err
	}
	c.written = control.Cursors[repo.FilesCursor].Seq
	c.isNew = c.written == 0
	c.audit = auditlog.New(v, c.files, control)
	c.added = auditlog.NewBatch(c.audit.Seq())
	c.saved = c.written
	c.pending.heldBefore(control.Held)
	c.loadLags(control.Late)
	v.Follow(c, min(c.written, c.audit.Seq())) // the commits that were durable at the start
	if _, err := v.Read(ctx); err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	c.at = v.Known()
	c.hasLost = c.at != nil && c.written > c.at.Version()
	c.loadStatCache(ctx)
	c.recoverWrites(ctx)
	if err := c.readSettings(ctx); err != nil {
		c.logSyncError(ctx, err)
	}
	go c.run()
	return c, nil
}

// Options are the options of Open. Files, Log and Now are required; the other fields may be zero. A
// Checkout does not change them. Log receives the errors of the sync, which are returned to no
// caller. Now is the time of the vault, for times that are stored.
type Options struct {
	Files Files // the folder of the notes
	Log   *slog.Logger
	Now   func() time.Time
	Who   eventlog.Who // the author of the edits that are ingested

	// Watch watches the folder. If it is nil, only sweeps find edits.
	Watch func(enter func(folder string) bool) (blob.Watch, error)

	// Away reports whether the folder is no longer at its path. If it is nil, the folder always is
	// there.
	Away func() bool

	// Memory keeps the marks and digests of files for the next process, so that it need not read
	// all files again. It may be nil.
	Memory blob.Bucket

	// ReadOnly reports that the folder cannot be written. Edits are still ingested. The vault must
	// have no other writers.
	ReadOnly bool

	// Progress is called with the number of ingested files while more than 500 are ingested at
	// once, from one goroutine at a time. It may be nil.
	Progress func(done, total int)

	pace float64 // divisor of all durations; 0: 1
}

// Applied implements repo.Follower: it records a commit, and does not wait for files. The commits
// of several writes may gather in the inbox; collect handles them in order.
func (c *Checkout) Applied(before, after *index.Index, commit *eventlog.Commit) {
	c.inbox.mu.Lock()
	defer c.inbox.mu.Unlock()
	c.inbox.entries = append(c.inbox.entries, entry{before, after, commit})
}

// Settled implements repo.Follower: it writes the files of the commits that were applied. The vault
// calls it after the locks of the commit are released and before the write is answered, so the
// caller of a tool finds its text in the file.
func (c *Checkout) Settled(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	c.publishEdits(ctx)
}

// Unread returns the reason why the file of a note is skipped, and whether it is. While the folder
// is not at its path, every note counts as skipped. It does not wait for mu, so it may report a
// state from a moment ago.
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

// collect handles the commits of the inbox: it adds their lines to the audit log, moves c.at, and
// records the files that are behind. Commits up to c.written are in the files already; the vault
// replays them at the start only for the audit log. The caller holds mu.
//
// Every function that compares a file with c.at calls collect first. Otherwise a file that was
// written by a commit could be taken for an outside edit.
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
				continue // the folder has these lines already
			}
			c.await(n, e)
		}
		c.written = e.commit.Seq
	}
	if now := c.vault.Known(); c.at != nil && now.Version() == c.at.Version() {
		c.at = now // the vault may have replaced its state by an equal one
	}
}

// await records that the file of n is behind the log. If the commit ingested the text of this file,
// the file is not expected to have the state before the commit but the state after it: the merged
// text may still differ from the file, and w.found says which text may be replaced. The caller
// holds mu.
func (c *Checkout) await(n eventlog.Note, e entry) {
	after, _ := e.after.File(n.Path)
	w, ok := c.unwritten[n.Path]
	if !ok {
		before, _ := e.before.File(n.Path)
		w = &change{before: before}
		c.unwritten[n.Path] = w
	}
	w.after, w.text = after, n.Text
	if n.Theirs != nil {
		digest := index.DigestOf(n.Theirs)
		w.found = &digest
	}
	if c.pending.read[n.Path] && e.commit.Tool == reindex {
		w.before, w.ingested = after, true
		delete(c.pending.read, n.Path)
	}
}

// Guard implements repo.Follower: it notices an outside edit of a note that is about to be written,
// so that the write is merged with it. durable is the present file in the log, nil if there is
// none. Guard returns CONFLICT if a new note is to be written to a path with a file that is not
// ingested yet, because the caller does not know that file.
func (c *Checkout) Guard(ctx context.Context, path vault.Path, durable *index.File) error {
	if isAudit(string(path)) || c.opt.ReadOnly {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect() // a commit whose outcome was unknown may be known now
	// The last write of this file failed. A new commit now would put one more text between the file
	// and the log, so the file is written first.
	if _, behind := c.unwritten[string(path)]; behind {
		if c.write(ctx); c.unwritten[string(path)] != nil {
			return fault.New(fault.StorageError, "the file of %s cannot be written now", path).
				After(time.Second)
		}
	}
	switch {
	case c.isSkipped(string(path)):
		return nil // it is listed as skipped
	case durable == nil && vault.InTrash(string(path)):
		return c.guardTrash(ctx, string(path))
	}
	if err := c.examine(ctx, string(path)); err != nil {
		return err
	}
	defer c.publishEdits(ctx)
	if durable != nil {
		return nil
	}
	at := c.inTheWayOf(string(path))
	// Before the first sweep has ended, the file may exist under another spelling that is not known
	// yet.
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
		At(at, 0).After(debounce).
		Fix("read the note when it exists, and edit it").
		Try("raven_read", fault.Args{"path": at})
}

// unreadTwin returns a file in the folder that was not read yet, and whose name differs from path
// only by case or normalization, or "". It lists the folder. The caller holds mu.
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

// guardTrash returns CONFLICT if there is a file at the path of a new file of the trash, or if it
// cannot be looked at. Such a file is not the vault's, and stays. The caller holds mu.
func (c *Checkout) guardTrash(ctx context.Context, path string) error {
	_, err := c.files.Look(ctx, c.key(path))
	if errors.Is(err, blob.ErrNotExist) {
		return nil
	}
	return fault.New(fault.Conflict, "there is a file at %s already", path).Because(err)
}

// isSkipped reports whether the file of a note is skipped. The caller holds mu.
func (c *Checkout) isSkipped(path string) bool {
	_, left := c.pending.skipped[c.key(path)]
	_, note := c.at.File(path)
	return left && note
}

// inTheWayOf returns the path of a file that prevents a new note at path, or "": a file that was
// not ingested, or an edit of the note at another spelling of path. Only what is known already
// counts; it looks at no file. The caller holds mu.
func (c *Checkout) inTheWayOf(path string) string {
	if _, left := c.pending.skipped[c.key(path)]; left {
		return path
	}
	other, folds := c.at.Folded(path)
	for _, at := range []string{path, other} {
		if e, edited := c.pending.edits[at]; edited && e.mark != "" && (at == path || folds) {
			return at
		}
	}
	return ""
}

// unreadable returns the fault for a file that cannot be read.
func unreadable(path string, err error) error {
	return fault.New(fault.FileError, "the file of %s cannot be read", path).Because(err)
}
