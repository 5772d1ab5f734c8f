package checkout

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
)

// A Sweep is a comparison of the whole folder with the log, on its way. A file that looks as it did
// when it was read last is not read again, so a folder that nobody changed costs one listing.
type sweep struct {
	c        *Checkout
	listed   map[string]bool          // the paths that are in the folder
	left     map[string]repo.LeftFile // files that can be no notes
	unread   []string                 // folders that cannot be read: what is in them is not known
	suspects []string                 // paths that are to be looked at
}

// Sweep compares every file with the log, and notes what differs. It takes nothing in; see TakeIn.
func (c *Checkout) Sweep(ctx context.Context) (repo.Sweep, error) {
	c.sweeping.Lock()
	defer c.sweeping.Unlock()
	if _, err := c.vault.Read(ctx); err != nil {
		return repo.Sweep{}, err
	}
	s := &sweep{c: c, listed: map[string]bool{}, left: map[string]repo.LeftFile{}}
	at := c.upToDate(ctx)
	if err := s.list(ctx, ""); err != nil {
		return repo.Sweep{}, err
	}
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

// list looks at every file whose name begins with a prefix.
func (s *sweep) list(ctx context.Context, prefix string) error {
	for o, err := range s.c.files.Walk(ctx, prefix, enter) {
		var unread *blob.WalkError
		switch {
		case errors.As(err, &unread):
			s.unread = append(s.unread, unread.Folder+"/")
			s.left[unread.Folder] = repo.LeftFile{Path: unread.Folder, Why: repo.LeftUnread}
		case err != nil:
			return fmt.Errorf("list the folder of a vault: %w", err)
		default:
			s.take(o)
		}
	}
	return nil
}

// take looks at one file, as the listing tells of it.
func (s *sweep) take(o blob.Object) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	path, p := c.placeOf(o.Key)
	switch {
	case p == notOurs:
		return
	case p == misnamed, o.Foreign:
		s.left[o.Key] = misspelled(o)
		return
	case s.listed[path] || c.spelled(path, o.Key):
		s.left[o.Key] = repo.LeftFile{Path: o.Key, Why: repo.LeftTwin, Twin: path}
		return
	}
	s.listed[path] = true
	if !c.known(path, o) {
		s.suspects = append(s.suspects, path)
	}
}

// known reports whether a file is as the log says, by how it looks. The caller holds mu.
func (c *Checkout) known(path string, o blob.Object) bool {
	if _, edited := c.outside.edits[path]; edited || o.Mark == "" {
		return false
	}
	want, s := c.expected(path), c.outside.seen[path]
	return want != nil && s.mark == o.Mark && s.digest == want.Digest
}

// missing looks at the files that the listing does not tell of.
func (s *sweep) missing(at *index.Index) {
	for f := range at.Files() {
		if !s.listed[f.Path] && !isAudit(f.Path) && !s.hidden(f.Path) {
			s.suspects = append(s.suspects, f.Path)
		}
	}
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
	}
	return nil
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
	for key, f := range c.outside.left {
		if _, still := s.left[key]; !still && (f.Why == repo.LeftName || f.Why == repo.LeftForeign) {
			c.mayStay(key)
		}
		if _, still := s.left[key]; !still && f.Why == repo.LeftTwin && !s.listed[key] {
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

// inTheWay are the notes whose files nobody can take in or write: something else lies in their place.
// The caller holds mu.
func (c *Checkout) inTheWay() repo.Sweep {
	var found repo.Sweep
	for key, f := range c.outside.left {
		path, _ := c.placeOf(key)
		if _, note := c.at.File(path); note && f.Why != repo.LeftTwin {
			found.Edited = append(found.Edited, path)
		}
	}
	found.Count = len(found.Edited)
	found.Edited = sortedHead(found.Edited)
	return found
}
