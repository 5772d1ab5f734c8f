package checkout

import (
	"context"
	"errors"
	"strings"

	"rookery/internal/blob"
)

// follow looks at what the watcher told of.
func (a *attendant) follow(ctx context.Context) {
	a.hinted = false
	if a.tree == nil {
		return // it was lost since, and a sweep follows
	}
	changes := a.tree.Take()
	if changes.Everything {
		_, err := a.Sweep(ctx)
		a.report(ctx, err)
		a.doubt(ctx, err) // watches may have run out, or are to be had again
		return
	}
	a.upToDate(ctx)
	for _, key := range changes.Paths {
		if err := a.followOne(ctx, key); err != nil {
			a.report(ctx, err)
			a.sweepSoon() // nobody tells of it again
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell(ctx)
}

// sweepSoon has the whole folder looked at, where one hint does not tell enough.
func (a *attendant) sweepSoon() { a.next.Reset(a.span(settle)) }

// followOne looks at a file, or at all files in a folder, that were there or are there now.
func (a *attendant) followOne(ctx context.Context, key string) error {
	a.mu.Lock()
	at, p := a.placeOf(key)
	known := a.key(at) == key
	a.mu.Unlock()
	switch {
	case p == ours && known:
		if err := a.examineNow(ctx, at); err != nil {
			return err
		}
	case p == ours: // it is spelled anew, or a twin: only all names together tell
		a.sweepSoon()
	case p == misnamed:
		a.sweepSoon()
	}
	o, err := a.files.Look(ctx, key)
	switch {
	case err == nil && !o.Foreign, !enter(key):
		return nil // a file, that was looked at, or that is none of the vault's
	case err == nil, errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return a.followFolder(ctx, key)
	}
	return unreadable(key, err)
}

// followFolder looks at all that is in a folder, or was.
func (a *attendant) followFolder(ctx context.Context, key string) error {
	s := a.newSweep()
	s.part = true
	if err := s.folder(ctx, key+"/"); err != nil {
		return err
	}
	if s.unsure || !isASCII(key) || len(s.left) > 0 {
		a.sweepSoon()
	}
	return nil
}

// folder looks at all that is in a folder, or was.
func (s *sweep) folder(ctx context.Context, prefix string) error {
	if err := s.list(ctx, prefix); err != nil {
		return err
	}
	for f := range s.c.upToDate(ctx).FilesAfter(prefix) {
		if !strings.HasPrefix(f.Path, prefix) {
			break
		}
		if s.gone(f.Path) {
			s.suspects = append(s.suspects, f.Path)
		}
	}
	return s.examine(ctx)
}
