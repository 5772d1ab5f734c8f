package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rookery/internal/blob"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// cursor is the name of the cursor of the files in the control item.
const cursor = "checkout"

// Bounds of one call of Bring. A vault that has more is brought on by another one.
const (
	mostCommits = 2000
	mostBytes   = 8 << 20
)

// Files are the files of a vault in a bucket, where others read and write them too.
type Files interface {
	Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error)
	Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error)

	Take(ctx context.Context, key string, t blob.Tag) error // see blob.Taker
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
	s, err := f.behind(ctx, first)
	if repo.Gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for {
		if err := f.write(ctx, s); err != nil {
			return false, err
		}
		passed, err := f.pass(ctx, s)
		if repo.Gone(err) {
			return false, nil
		}
		if err != nil || !passed {
			return !s.Ended, err
		}
		// Another one came further meanwhile. It may have written a file before this one did, which knew of less: what
		// came since is brought once more, by somebody who knows of all of it.
		if s, err = f.vaultBehind(ctx, s.After); err != nil {
			return false, err
		}
	}
}

// behind reads what came behind the cursor. Where the doorbell rang for the commit behind it that is one Query.
func (f Followed) behind(ctx context.Context, first uint64) (*repo.Stretch, error) {
	after := uint64(0)
	if first > 0 {
		after = first - 1
	} else {
		control, err := f.Vault.Control(ctx)
		if err != nil {
			return nil, err
		}
		after = control.Cursors[cursor].Seq
	}
	s, err := f.vaultBehind(ctx, after)
	if err != nil || first == 0 {
		return s, err
	}
	control := s.Control
	if !s.Ended {
		if control, err = f.Vault.Control(ctx); err != nil {
			return nil, err
		}
	}
	switch at := control.Cursors[cursor].Seq; {
	case at < after:
		return f.vaultBehind(ctx, at)
	case at > after:
		s.Skip(at)
	}
	return s, nil
}

// vaultBehind reads what came behind a version: from the table, or from segments what has left it.
func (f Followed) vaultBehind(ctx context.Context, after uint64) (*repo.Stretch, error) {
	return f.Vault.Behind(ctx, after, repo.Most{Commits: mostCommits, Bytes: mostBytes})
}

// pass asks for a pass that folds the log, where one is due, and moves the cursor behind a stretch. It reports whether
// another one has moved it further since the stretch was read.
func (f Followed) pass(ctx context.Context, s *repo.Stretch) (passed bool, err error) {
	folds, err := f.askToFold(ctx, s)
	if err != nil {
		return false, err
	}
	err = s.Change(ctx, func(c *repo.Control) bool {
		at := c.Cursors[cursor]
		if passed = at.Seq > s.Last(); passed || at.Seq == s.Last() {
			return false
		}
		if c.Cursors == nil {
			c.Cursors = map[string]repo.Cursor{}
		}
		c.Cursors[cursor] = repo.Cursor{Seq: s.Last()}
		if !folds.IsZero() {
			c.FoldDue = folds
		}
		if c.Sweep == nil {
			c.Sweep = &repo.Sweep{At: f.Now().UTC(), Version: s.Last()}
		}
		return true
	})
	return passed && len(s.Commits) > 0, err
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

// attempts is how often a file is looked at that somebody else changes in the very moment.
const attempts = 2

// bring makes one file what it is to be, unless somebody else has changed it.
func (f Followed) bring(ctx context.Context, c *change) error {
	for range attempts {
		text, tag, err := f.Files.Get(ctx, c.path, 0, -1)
		there := err == nil
		if err != nil && !errors.Is(err, blob.ErrNotExist) {
			return fmt.Errorf("read a file: %w", err)
		}
		if c.is(text, there) || !c.knows(text, there) {
			return nil
		}
		err = f.replace(ctx, c, tag, there)
		if !errors.Is(err, blob.ErrCondition) {
			return err
		}
	}
	return nil // it is somebody's, who is quicker: that is an edit
}

// replace writes or removes a file that has a tag, or is not there. blob.ErrCondition says that it is another by now.
func (f Followed) replace(ctx context.Context, c *change, tag blob.Tag, there bool) (err error) {
	cond := blob.IfAbsent
	if there {
		cond = blob.IfTag(tag)
	}
	switch {
	case c.text != nil:
		_, err = f.Files.Put(ctx, c.path, c.text, cond)
	case there:
		err = f.Files.Take(ctx, c.path, tag)
	}
	if err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	return nil
}
