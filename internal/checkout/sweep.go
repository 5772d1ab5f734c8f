package checkout

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/vault"
)

// A sweep is a comparison of the folder, or of a part of it, with the log, on its way. A file that looks
// as it did when it was read last is not read again, so a folder that nobody changed costs one listing.
type sweep struct {
	c        *Checkout
	part     bool                     // it is one of a folder only
	counts   bool                     // it is the first of all, whose progress is reported
	listed   map[string]string        // the paths that are in the folder, and how they are spelled there
	left     map[string]repo.LeftFile // files that can be no notes
	unread   []string                 // folders that cannot be read: what is in them is not known
	suspects []string                 // paths that are to be looked at
	unsure   bool                     // part of the folder does not tell enough: all of it is to be swept
}

func (c *Checkout) newSweep() *sweep {
	return &sweep{c: c, listed: map[string]string{}, left: map[string]repo.LeftFile{}}
}

// Sweep compares every file with the log, and notes what differs. It takes nothing in; see TakeIn.
func (c *Checkout) Sweep(ctx context.Context) (repo.Sweep, error) {
	return c.sweepAll(ctx, false)
}

// sweepAll is Sweep. counts says that it is the first sweep, whose progress is reported.
func (c *Checkout) sweepAll(ctx context.Context, counts bool) (repo.Sweep, error) {
	c.sweeping.Lock()
	defer c.sweeping.Unlock()
	if _, err := c.vault.Read(ctx); err != nil {
		return repo.Sweep{}, err
	}
	s := c.newSweep()
	if s.counts = counts; counts {
		c.progress.reset()
	}
	at := c.upToDate(ctx)
	if err := cmp.Or(s.list(ctx, ""), ctx.Err()); err != nil {
		return repo.Sweep{}, err
	}
	s.forget()
	s.missing(at)
	if err := s.examine(ctx); err != nil {
		return repo.Sweep{}, err
	}
	return s.result(ctx), ctx.Err()
}

// upToDate writes what is behind, and answers the index that the folder should follow then.
func (c *Checkout) upToDate(ctx context.Context) *index.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	return c.at
}

// list looks at every file whose name begins with a prefix. That the folder itself cannot be read, or
// is gone, says nothing of its files: it is an error.
func (s *sweep) list(ctx context.Context, prefix string) error {
	for o, err := range s.c.files.Walk(ctx, prefix, s.enter) {
		var unread *blob.WalkError
		switch {
		case errors.As(err, &unread) && unread.Folder != "":
			s.cannotRead(unread)
		case err != nil:
			return unlisted(err)
		default:
			s.take(o)
		}
	}
	return nil
}

// enter is enter, and tells of a folder that has the name of a note.
func (s *sweep) enter(folder string) bool {
	if !enter(folder) {
		return false
	}
	if vault.Path(folder).Kind() != vault.KindNone && folder+"/" != vault.Trash {
		s.left[folder] = repo.LeftFile{Path: folder, Why: repo.LeftForeign}
	}
	return true
}

// cannotRead notes a folder of which nobody knows what is in it; what is no folder has nothing in it.
func (s *sweep) cannotRead(e *blob.WalkError) {
	if !errors.Is(e, blob.ErrForeign) {
		s.unread = append(s.unread, vault.CleanPath(e.Folder)+"/")
		s.left[e.Folder] = repo.LeftFile{Path: e.Folder, Why: repo.LeftUnread}
	}
}

// take looks at one file, as the listing tells of it.
func (s *sweep) take(o blob.Object) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	at, p := c.placeOf(o.Key)
	switch {
	case p == misnamed, p == ours && o.Foreign, p == notOurs && isLink(o):
		s.left[o.Key] = misspelled(o)
	case p == notOurs:
	case s.part && c.key(at) != o.Key:
		s.unsure = true
	case !s.twin(at, o.Key):
		s.listed[at] = o.Key
		c.spell(at, o.Key)
		known := c.known(at, o)
		if !known {
			s.suspects = append(s.suspects, at)
		}
		s.count(known, 1)
	}
}

// twin reports whether a file is to be left because another has the path that it would have in the
// vault. Of two, the one that is spelled as the vault does is the note.
func (s *sweep) twin(at, key string) bool {
	other, twins := s.listed[at]
	if !twins {
		return false
	}
	if key != at {
		other, key = key, other
	}
	s.left[other] = repo.LeftFile{Path: other, Why: repo.LeftTwin, Twin: at}
	return key != at
}

// isLink reports whether something may be a link to a folder, in which somebody could look for notes.
func isLink(o blob.Object) bool {
	return o.Foreign && !hidden(o.Key) && path.Ext(o.Key) == ""
}

// known reports whether a file is as the log says, by how it looks. The caller holds mu.
func (c *Checkout) known(path string, o blob.Object) bool {
	if _, edited := c.outside.edits[path]; edited || o.Mark == "" {
		return false
	}
	if l := c.outside.lags[path]; l != nil && l.behind {
		return false
	}
	want, s := c.expected(path), c.outside.seen[path]
	return want != nil && s.mark == o.Mark && s.digest == want.Digest
}

// missing looks at the files that the listing does not tell of.
func (s *sweep) missing(at *index.Index) {
	for f := range at.Files() {
		if !isAudit(f.Path) && s.gone(f.Path) {
			s.suspects = append(s.suspects, f.Path)
		}
	}
}

// gone reports whether a file is not in the folder, as far as that could be read.
func (s *sweep) gone(path string) bool {
	_, there := s.listed[path]
	return !there && !s.hidden(path)
}

// hidden reports whether a file may be there in a folder that cannot be read.
func (s *sweep) hidden(path string) bool {
	for _, folder := range s.unread {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}

// examine compares what is to be looked at, one file at a time, so that writers need not wait for all.
func (s *sweep) examine(ctx context.Context) error {
	for _, path := range s.suspects {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.c.examineNow(ctx, path); err != nil {
			return err
		}
		s.count(s.counts && !s.gone(path) && !s.c.edited(path), 0)
	}
	return nil
}

// count counts files for the first reading: whether one more is read, and how many more were listed.
func (s *sweep) count(read bool, listed int) {
	if !s.counts {
		return
	}
	n := 0
	if read {
		n = 1
	}
	s.c.progress.add(n, listed)
}

// edited reports whether somebody else changed a file, and the change is not in the log.
func (c *Checkout) edited(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outside.edits[path] != nil
}

// examineNow is examine for who does not hold mu. A file that cannot be read is told.
func (c *Checkout) examineNow(ctx context.Context, path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return fault.NoVault(c.vault.Name)
	}
	c.collect()
	c.write(ctx)
	err := c.examine(ctx, path)
	if ctx.Err() != nil { // a read that was ended says nothing of the file
		return ctx.Err()
	}
	if fault.Is(err, fault.FileError) {
		c.leave(repo.LeftFile{Path: c.key(path), Why: repo.LeftUnread})
		return nil
	}
	return err
}

// result keeps what the sweep found in the control item.
func (s *sweep) result(ctx context.Context) repo.Sweep {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.outside.left {
		if _, still := s.left[key]; !still && !s.there(key) {
			c.mayStay(key)
		}
	}
	for _, f := range s.left {
		c.leave(f)
	}
	found := c.inTheWay()
	found.At, found.Version = c.now().UTC(), c.at.Version()
	c.outside.swept, c.outside.news = &found, true
	c.tell(ctx)
	return found
}

// there reports whether a file that is left may be there still, for a reason that a listing does not
// show. The caller holds mu.
func (s *sweep) there(key string) bool {
	path, p := s.c.placeOf(key)
	return p == ours && (s.listed[path] == key || s.hidden(path))
}

// inTheWay are the notes whose files nobody can take in, for something else lies in their place, and
// those whose files cannot be written. The caller holds mu.
func (c *Checkout) inTheWay() repo.Sweep {
	var found repo.Sweep
	for key, f := range c.outside.left {
		path, _ := c.placeOf(key)
		if _, note := c.at.File(path); note && f.Why != repo.LeftTwin {
			found.Edited = append(found.Edited, path)
		}
	}
	found.Missing = slices.Collect(maps.Keys(c.waiting))
	found.Count, found.Missed = len(found.Edited), len(found.Missing)
	found.Edited, found.Missing = c.outside.first(found.Edited), c.outside.first(found.Missing)
	return found
}
