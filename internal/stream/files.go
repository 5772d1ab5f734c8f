package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Bounds of one call of Bring. The rest is left to another call.
const (
	mostCommits = 2000
	mostBytes   = 8 << 20
)

// Files are the files of a vault in a bucket, which other programs read and write, too.
type Files interface {
	Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error)
	Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error]

	Take(ctx context.Context, key string, t blob.Tag) error // see blob.Taker
}

// FilesOf returns the files in a bucket. It returns an error if the bucket does not keep versions.
func FilesOf(b blob.Bucket) (Files, error) {
	files, ok := b.(blob.Taker)
	if !ok {
		return nil, errors.New("the bucket of the notes keeps no versions")
	}
	return files, nil
}

// A Followed is a vault whose files are written from its log.
type Followed struct {
	Vault *repo.Vault
	Files Files // by path of a note
	Now   func() time.Time

	// Fold queues a message for a pass, which compacts the log, after a time.
	QueuePass func(ctx context.Context, after time.Duration) error
}

// Sync writes the files of the commits after the cursor, and moves the cursor. first is the first
// commit that is known to be new; 0 if that is unknown. more reports that there are more commits,
// for another call. Bring does not write a file with an outside edit. It does nothing for a vault
// that is gone or is being erased.
func (f Followed) Sync(ctx context.Context, first uint64) (more bool, err error) {
	w, err := f.pending(ctx, first)
	if repo.Gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for {
		if err := f.write(ctx, w.Stretch); err != nil {
			return false, err
		}
		at, err := f.pass(ctx, w)
		if repo.Gone(err) {
			return false, nil
		}
		if err != nil || at == w.seen || len(w.Commits) == 0 {
			return !w.Ended, err
		}
		// Another call has moved the cursor meanwhile. The call that knew of fewer commits may have
		// written a file after the other one had read it, so this call, which now knows of all
		// commits, checks the files of the whole stretch again.
		w.seen, w.again = at, true
		if w.Stretch, err = f.pendingInVault(ctx, w.After); err != nil {
			return false, err
		}
	}
}

// A work is a stretch whose files a call writes.
type work struct {
	*repo.Stretch
	seen  eventlog.Cursor // the cursor before any file was read
	again bool            // the files are checked again
}

// pending reads the commits after the cursor. If the doorbell is for the next commit, that takes
// one Query.
func (f Followed) pending(ctx context.Context, first uint64) (w work, err error) {
	if first == 0 {
		control, err := f.Vault.Control(ctx)
		if err != nil {
			return w, err
		}
		w.seen = control.Cursors[repo.FilesCursor]
		w.Stretch, err = f.pendingInVault(ctx, w.seen.Seq)
		return w, err
	}
	if w.Stretch, err = f.pendingInVault(ctx, first-1); err != nil {
		return w, err
	}
	control := w.Control
	if !w.Ended {
		if control, err = f.Vault.Control(ctx); err != nil {
			return w, err
		}
	}
	w.seen = control.Cursors[repo.FilesCursor]
	switch {
	case w.seen.Seq < w.After:
		w.Stretch, err = f.pendingInVault(ctx, w.seen.Seq)
	case w.seen.Seq > w.After:
		w.Skip(w.seen.Seq)
	}
	return w, err
}

// pendingInVault reads the commits after a version, from the table and from segments.
func (f Followed) pendingInVault(ctx context.Context, after uint64) (*repo.Stretch, error) {
	return f.Vault.CommitsAfter(ctx, after, eventlog.Most{Commits: mostCommits, Bytes: mostBytes})
}

// pass queues a message for a pass if one is due, and moves the cursor after a stretch. It returns
// w.seen if no other call has moved the cursor since, and otherwise the new cursor. A call that
// checked files again changes the cursor too, so that other calls notice.
func (f Followed) pass(ctx context.Context, w work) (at eventlog.Cursor, err error) {
	folds, err := f.requestPass(ctx, w.Stretch)
	if err != nil {
		return at, err
	}
	err = w.Change(ctx, func(c *repo.Control) bool {
		was := c.Cursors[repo.FilesCursor]
		if was.Seq >= w.Last() && !w.again {
			at = was
			return false
		}
		next := eventlog.Cursor{Seq: max(was.Seq, w.Last()), Turn: was.Turn}
		if w.again {
			next.Turn++
		}
		if at = w.seen; was != w.seen {
			at = next
		}
		if c.Cursors == nil {
			c.Cursors = map[string]eventlog.Cursor{}
		}
		c.Cursors[repo.FilesCursor] = next
		if !folds.IsZero() {
			c.FoldDue = folds
		}
		if c.Sweep == nil {
			c.Sweep = &repo.Sweep{At: f.Now().UTC(), Version: w.Last()}
		}
		return true
	})
	return at, err
}

// A change is the effect of a stretch on one file.
type change struct {
	path   string
	text   []byte // nil: the file is removed
	known  map[index.Digest]bool
	absent bool // the absence of the file is a known state, too
}

// knows reports whether the present state of a file came from the log, so that it may be
// overwritten.
func (c *change) knows(text []byte, there bool) bool {
	if !there {
		return c.absent
	}
	return c.known[index.DigestOf(text)]
}

// is reports whether a file has its new state already.
func (c *change) is(text []byte, there bool) bool {
	return there == (c.text != nil) && string(text) == string(c.text)
}

// write writes the files of a stretch: first it removes files, then it writes the others, sorted by
// path.
func (f Followed) write(ctx context.Context, s *repo.Stretch) error {
	all, err := f.changes(ctx, s)
	if err != nil {
		return err
	}
	gone := func(c *change) bool { return c.text == nil }
	for _, goes := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(all), func(c *change) bool { return gone(c) != goes })
		if err := ForEach(mostFiles, some, func(c *change) error { return f.writeFile(ctx, c) }); err != nil {
			return err
		}
	}
	return nil
}

// changes returns the effects of a stretch on files, sorted by path.
func (f Followed) changes(ctx context.Context, s *repo.Stretch) ([]*change, error) {
	byPath := map[string]*change{}
	for _, commit := range s.Commits {
		for _, n := range commit.Notes {
			if n.Erased || vault.Path(n.Path).Kind() == vault.KindAudit {
				continue
			}
			c := byPath[n.Path]
			if c == nil {
				var err error
				if c, err = f.begin(ctx, n); err != nil {
					return nil, err
				}
				byPath[n.Path] = c
			}
			c.add(n)
		}
	}
	all := make([]*change, 0, len(byPath))
	for _, c := range byPath {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *change) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// begin returns the known state of a file before the first commit of a stretch that changes it.
func (f Followed) begin(ctx context.Context, n eventlog.Note) (*change, error) {
	was, there, err := f.Vault.Was(ctx, n)
	if err != nil {
		return nil, err
	}
	c := &change{path: n.Path, known: map[index.Digest]bool{}, absent: !there}
	if there {
		c.known[was] = true
	}
	return c, nil
}

// add adds the effect of one more commit on the file.
func (c *change) add(n eventlog.Note) {
	c.text = nil
	if n.Deleted {
		c.absent = true
	} else {
		c.text = append([]byte{}, n.Text...)
		c.known[index.DigestOf(n.Text)] = true
	}
	if n.Theirs != nil {
		c.known[index.DigestOf(n.Theirs)] = true
	}
}

// attempts is how often bring tries to write a file that other processes change at the same time.
const attempts = 100

// writeFile writes one file, unless it has an outside edit. It returns UNAVAILABLE if other calls
// keep writing the file.
func (f Followed) writeFile(ctx context.Context, c *change) error {
	for range attempts {
		text, tag, err := f.Files.Get(ctx, c.path, 0, repo.MaxNote+1) // no text of the log is longer
		there := err == nil
		if err != nil && !errors.Is(err, blob.ErrNotExist) {
			return fmt.Errorf("read a file: %w", err)
		}
		if c.is(text, there) || !c.knows(text, there) {
			return nil
		}
		err = Replace(ctx, f.Files, c.path, FileState{tag, there}, c.text)
		if !errors.Is(err, blob.ErrCondition) {
			return err
		}
	}
	return fault.New(fault.Unavailable, "a file is written by several processes at once").Fix("bring the vault again")
}

// A FileState is the state of a file when it was read.
type FileState struct {
	Tag   blob.Tag
	There bool
}

// Replace writes a file, or removes it if text is nil, if its state is still was. Otherwise it
// returns blob.ErrCondition.
func Replace(ctx context.Context, files Files, path string, was FileState, text []byte) (err error) {
	cond := blob.IfAbsent
	if was.There {
		cond = blob.IfTag(was.Tag)
	}
	switch {
	case text != nil:
		_, err = files.Put(ctx, path, text, cond)
	case was.There:
		err = files.Take(ctx, path, was.Tag)
	}
	if err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	return nil
}
