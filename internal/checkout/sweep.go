package checkout

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A sweep is a running comparison of the folder, or of a part of it, with the log. It does not read
// a file again that looks the same as when it was last read, so a folder without changes costs one
// listing.
type sweep struct {
	c        *Checkout
	part     bool                     // it compares one folder only
	counts   bool                     // it is the first one, whose progress is reported
	listed   map[string]string        // the paths that are in the folder, with their spellings there
	skipped  map[string]repo.LeftFile // skipped files; guarded by mu of the Checkout
	unread   []string                 // folders that cannot be read, so that their content is unknown
	suspects []string                 // paths that must be examined
	unsure   bool                     // the part is not enough: the whole folder must be swept
}

// newSweep returns a sweep that has listed nothing yet.
func (c *Checkout) newSweep() *sweep {
	return &sweep{c: c, listed: map[string]string{}, skipped: map[string]repo.LeftFile{}}
}

// Sweep compares every file with the log, and records the differences. It ingests nothing; see
// Ingest.
func (c *Checkout) Sweep(ctx context.Context) (repo.Sweep, error) {
	return c.sweepAll(ctx, false)
}

// sweepAll is Sweep. counts reports that it is the first sweep, whose progress is counted.
//
// It lists the folder first, without reading files. Files that look as when they were last read
// with the text of the log are done. The others, and the files of the log that the listing does not
// have, are the suspects, which are examined one by one. Nothing is a removal only because a
// listing did not have it: examine looks at the file itself.
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
	c.setRunning(s)
	defer c.setRunning(nil)
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

// setRunning sets the sweep that gets the skipped files that others find, or nil for none; see
// recordSkipped.
func (c *Checkout) setRunning(s *sweep) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = s
}

// upToDate writes the files that are behind, and returns the index that the folder should have
// then.
func (c *Checkout) upToDate(ctx context.Context) *index.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.collect()
	c.write(ctx)
	return c.at
}

// list looks at every file whose name begins with a prefix. It skips a folder in the folder that
// cannot be read, but returns an error if the folder itself cannot be read or is gone, because that
// says nothing about its files.
func (s *sweep) list(ctx context.Context, prefix string) error {
	for o, err := range s.c.files.Walk(ctx, prefix, s.mayEnter) {
		var unread *blob.WalkError
		switch {
		case errors.As(err, &unread) && unread.Folder != "":
			s.cannotRead(unread)
		case err != nil:
			return unlisted(err)
		default:
			s.visit(o)
		}
	}
	return nil
}

// mayEnter reports whether the sweep enters a folder; see mayContainFiles. It records a folder with
// the name of a note as a skipped file.
func (s *sweep) mayEnter(folder string) bool {
	if !mayContainFiles(folder) {
		return false
	}
	if vault.Path(folder).Kind() != vault.KindNone && folder+"/" != vault.Trash {
		s.skip(repo.LeftFile{Path: folder, Why: repo.LeftForeign})
	}
	return true
}

// skip records a skipped file of the listing. The caller does not hold mu.
func (s *sweep) skip(f repo.LeftFile) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.skipped[f.Path] = f
}

// cannotRead records a folder whose content is unknown. It ignores a path that is not a folder,
// which has no content.
func (s *sweep) cannotRead(e *blob.WalkError) {
	if !errors.Is(e, blob.ErrForeign) {
		s.unread = append(s.unread, vault.CleanPath(e.Folder)+"/")
		s.skip(repo.LeftFile{Path: e.Folder, Why: repo.LeftUnread})
	}
}

// visit looks at one file of the listing.
func (s *sweep) visit(o blob.Object) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	at, p := c.placeOf(o.Key)
	switch {
	case p == misnamed, p == ours && o.Foreign, p == notOurs && isLink(o):
		s.skipped[o.Key] = misspelled(o)
	case p == notOurs:
	case s.part && c.key(at) != o.Key:
		s.unsure = true
	case !s.twin(at, o.Key):
		s.listed[at] = o.Key
		c.recordSpelling(at, o.Key)
		known := c.known(at, o)
		if !known {
			s.suspects = append(s.suspects, at)
		}
		s.count(known, 1)
	}
}

// twin reports whether a file is skipped because another has the same path in the vault. Of two
// such files, the one with the spelling of the vault is the note.
func (s *sweep) twin(at, key string) bool {
	other, twins := s.listed[at]
	if !twins {
		return false
	}
	if key != at {
		other, key = key, other
	}
	s.skipped[other] = repo.LeftFile{Path: other, Why: repo.LeftTwin, Twin: at}
	return key != at
}

// isLink reports whether a path may be a link to a folder, in which a user could expect notes.
func isLink(o blob.Object) bool {
	return o.Foreign && !hidden(o.Key) && path.Ext(o.Key) == ""
}

// known reports whether a file looks as when it was last read with the text of the log. The caller
// holds mu.
func (c *Checkout) known(path string, o blob.Object) bool {
	if _, edited := c.pending.edits[path]; edited || o.Mark == "" {
		return false
	}
	if l := c.pending.lags[path]; l != nil && l.behind {
		return false
	}
	want, s := c.expected(path), c.pending.seen[path]
	return want != nil && s.mark == o.Mark && s.digest == want.Digest
}

// missing adds the files of the index that are not in the listing.
func (s *sweep) missing(at *index.Index) {
	for f := range at.Files() {
		if !isAudit(f.Path) && s.gone(f.Path) {
			s.suspects = append(s.suspects, f.Path)
		}
	}
}

// gone reports whether a file is not in the folder. It returns false if the folder of the file
// cannot be read.
func (s *sweep) gone(path string) bool {
	_, there := s.listed[path]
	return !there && !s.hidden(path)
}

// hidden reports whether a file may exist in a folder that cannot be read.
func (s *sweep) hidden(path string) bool {
	return slices.ContainsFunc(s.unread, func(folder string) bool {
		return strings.HasPrefix(path, folder)
	})
}

// examine examines the suspects one at a time, so that writers need not wait for all.
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

// count adds to the progress of the first reading: one file if read is set, and the number of
// listed files.
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

// edited reports whether a file has an outside edit that is not in the log.
func (c *Checkout) edited(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending.edits[path] != nil
}

// examineNow is examine for callers that do not hold mu. It records a file that cannot be read as
// skipped.
func (c *Checkout) examineNow(ctx context.Context, path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return fault.NoVault(c.vault.Name)
	}
	c.collect()
	c.write(ctx)
	err := c.examine(ctx, path)
	if ctx.Err() != nil { // a cancelled read says nothing about the file
		return ctx.Err()
	}
	if fault.Is(err, fault.FileError) {
		c.recordSkipped(repo.LeftFile{Path: c.key(path), Why: repo.LeftUnread})
		return nil
	}
	return err
}

// result stores the result of the sweep in the control item, and returns it. It also updates the
// list of skipped files: those that the sweep did not meet again are no longer skipped, unless the
// reason cannot be seen in a listing.
func (s *sweep) result(ctx context.Context) repo.Sweep {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = nil
	for key := range c.pending.skipped {
		if _, still := s.skipped[key]; !still && !s.mayExist(key) {
			c.forgetSkipped(key)
		}
	}
	for _, f := range s.skipped {
		c.recordSkipped(f)
	}
	found := c.inTheWay()
	found.At, found.Version = c.now().UTC(), c.at.Version()
	c.pending.swept, c.pending.dirty = &found, true
	c.publishEdits(ctx)
	return found
}

// mayExist reports whether a skipped file may still exist, with a reason to skip it that a listing
// does not show. The caller holds mu.
func (s *sweep) mayExist(key string) bool {
	path, p := s.c.placeOf(key)
	return p == ours && (s.listed[path] == key || s.hidden(path))
}

// inTheWay returns the notes whose files cannot be ingested because another kind of file is at
// their path, and those whose files cannot be written. The caller holds mu.
func (c *Checkout) inTheWay() repo.Sweep {
	var found repo.Sweep
	for key, f := range c.pending.skipped {
		path, _ := c.placeOf(key)
		if _, note := c.at.File(path); note && f.Why != repo.LeftTwin {
			found.Edited = append(found.Edited, path)
		}
	}
	found.Missing = slices.Collect(maps.Keys(c.unwritten))
	found.Count, found.Missed = len(found.Edited), len(found.Missing)
	found.Edited, found.Missing = c.pending.first(found.Edited), c.pending.first(found.Missing)
	return found
}
