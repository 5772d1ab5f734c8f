package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// Bounds of one call of Bring. A vault that has more is brought on by another one.
const (
	mostCommits = 2000
	mostBytes   = 8 << 20
)

// Files are the files of a vault in a bucket, where others read and write them too.
type Files interface {
	Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error)
	Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error)
	List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error]

	Take(ctx context.Context, key string, t blob.Tag) error // see blob.Taker
}

// FilesOf returns the files in a bucket, which must keep versions.
func FilesOf(b blob.Bucket) (Files, error) {
	files, ok := b.(blob.Taker)
	if !ok {
		return nil, errors.New("the bucket of the notes keeps no versions")
	}
	return files, nil
}

// A Followed is a vault whose files are brought in step with its log.
type Followed struct {
	Vault *repo.Vault
	Files Files // by the paths of notes
	Now   func() time.Time

	// Fold asks for a pass that folds the log, after a time.
	Fold func(ctx context.Context, after time.Duration) error
}

// Bring brings the files of the commits behind the cursor, and moves the cursor. first is the first commit that is
// known to be new; 0: that is not known. It reports whether there is more, which another call brings. A file that
// somebody else changed is left as it is. A vault that is gone, or being erased, has no files to bring.
func (f Followed) Bring(ctx context.Context, first uint64) (more bool, err error) {
	w, err := f.behind(ctx, first)
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
		// Another call moved the cursor meanwhile. The one that knew of less may have written a file after the other had
		// looked at it, so this one, which now knows of all, looks at the files of the whole stretch again.
		w.seen, w.again = at, true
		if w.Stretch, err = f.vaultBehind(ctx, w.After); err != nil {
			return false, err
		}
	}
}

// work is a stretch whose files a call writes.
type work struct {
	*repo.Stretch
	seen  repo.Cursor // before any file was looked at
	again bool        // it looks at the files again
}

// behind reads what came behind the cursor. Where the doorbell rang for the commit behind it that is one Query.
func (f Followed) behind(ctx context.Context, first uint64) (w work, err error) {
	if first == 0 {
		control, err := f.Vault.Control(ctx)
		if err != nil {
			return w, err
		}
		w.seen = control.Cursors[repo.FilesCursor]
		w.Stretch, err = f.vaultBehind(ctx, w.seen.Seq)
		return w, err
	}
	if w.Stretch, err = f.vaultBehind(ctx, first-1); err != nil {
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
		w.Stretch, err = f.vaultBehind(ctx, w.seen.Seq)
	case w.seen.Seq > w.After:
		w.Skip(w.seen.Seq)
	}
	return w, err
}

// vaultBehind reads what came behind a version: from the table, or from segments what has left it.
func (f Followed) vaultBehind(ctx context.Context, after uint64) (*repo.Stretch, error) {
	return f.Vault.Behind(ctx, after, repo.Most{Commits: mostCommits, Bytes: mostBytes})
}

// pass asks for a pass that folds the log, where one is due, and moves the cursor behind a stretch. It returns the
// cursor: as it was seen if no other call has moved it since. A call that looked at files again moves it too, so that
// others notice.
func (f Followed) pass(ctx context.Context, w work) (at repo.Cursor, err error) {
	folds, err := f.askToFold(ctx, w.Stretch)
	if err != nil {
		return at, err
	}
	err = w.Change(ctx, func(c *repo.Control) bool {
		was := c.Cursors[repo.FilesCursor]
		if was.Seq >= w.Last() && !w.again {
			at = was
			return false
		}
		next := repo.Cursor{Seq: max(was.Seq, w.Last()), Turn: was.Turn}
		if w.again {
			next.Turn++
		}
		if at = w.seen; was != w.seen {
			at = next
		}
		if c.Cursors == nil {
			c.Cursors = map[string]repo.Cursor{}
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

// A change is what a stretch makes of one file.
type change struct {
	path   string
	text   []byte // nil: it goes
	known  map[index.Digest]bool
	absent bool // no file is known too
}

// knows reports whether what is at the place of a file came from the log, so that it may be replaced.
func (c *change) knows(text []byte, there bool) bool {
	if !there {
		return c.absent
	}
	return c.known[index.DigestOf(text)]
}

// is reports whether what is at the place of a file is as it is to be.
func (c *change) is(text []byte, there bool) bool {
	return there == (c.text != nil) && string(text) == string(c.text)
}

// write brings the files of a stretch: those that go first, then the others, by their paths.
func (f Followed) write(ctx context.Context, s *repo.Stretch) error {
	all, err := f.changes(ctx, s)
	if err != nil {
		return err
	}
	gone := func(c *change) bool { return c.text == nil }
	for _, goes := range []bool{true, false} {
		some := slices.DeleteFunc(slices.Clone(all), func(c *change) bool { return gone(c) != goes })
		if err := Together(mostFiles, some, func(c *change) error { return f.bring(ctx, c) }); err != nil {
			return err
		}
	}
	return nil
}

// changes are what a stretch makes of files, by their paths.
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

// begin is what is known of a file before the first commit of a stretch that changes it.
func (f Followed) begin(ctx context.Context, n repo.Note) (*change, error) {
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

// add adds what one more commit makes of the file.
func (c *change) add(n repo.Note) {
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

// attempts is how often a file is looked at that others change in the very moment.
const attempts = 100

// bring makes one file what it is to be, unless somebody else has changed it. If other calls write it again and again, it
// is UNAVAILABLE, and the vault is to be brought once more.
func (f Followed) bring(ctx context.Context, c *change) error {
	for range attempts {
		text, tag, err := f.Files.Get(ctx, c.path, 0, repo.MaxNote+1) // none from the log is longer
		there := err == nil
		if err != nil && !errors.Is(err, blob.ErrNotExist) {
			return fmt.Errorf("read a file: %w", err)
		}
		if c.is(text, there) || !c.knows(text, there) {
			return nil
		}
		err = Replace(ctx, f.Files, c.path, Was{tag, there}, c.text)
		if !errors.Is(err, blob.ErrCondition) {
			return err
		}
	}
	return fault.New(fault.Unavailable, "a file is written by several processes at once").Fix("bring the vault again")
}

// Was is what was at the place of a file.
type Was struct {
	Tag   blob.Tag
	There bool
}

// Replace writes a file, or removes it if the text is nil, in the place of what was there. blob.ErrCondition says that it
// is another by now.
func Replace(ctx context.Context, files Files, path string, was Was, text []byte) (err error) {
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
