package checkout

import (
	"context"
	"errors"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
)

// follow examines the changes that the watcher reported. If the watcher lost track of them, it
// makes a sweep of the whole folder. The paths of the watcher are hints: they say where to look,
// and what changed is found by comparing the file with the log. While a call writes, they are
// postponed; see mostYields.
func (a *reconciler) follow(ctx context.Context) {
	a.hinted = false
	if a.tree == nil {
		a.keys = nil
		return // the watch was lost since, and a sweep follows
	}
	changes := a.tree.Take()
	if changes.Everything {
		a.keys = nil
		_, err := a.Sweep(ctx)
		a.report(ctx, err)
		a.updateUnwatched(ctx, err) // the system may allow no more watches, or allow them again
		return
	}
	a.keys = append(a.keys, changes.Paths...)
	for len(a.keys) > 0 {
		if a.yields() {
			a.hinted = true
			a.looking.Reset(a.span(hintDelay))
			return
		}
		a.followSome(ctx)
	}
	a.yielded = 0
}

// yields reports whether the examination of hints is postponed once more.
func (a *reconciler) yields() bool {
	if a.yielded == mostYields || !a.vault.Writing() {
		return false
	}
	a.yielded++
	return true
}

// followedAtOnce is the number of keys that are examined before follow looks again whether a call
// writes.
const followedAtOnce = 64

// followSome examines the first of the keys.
func (a *reconciler) followSome(ctx context.Context) {
	some := a.keys[:min(followedAtOnce, len(a.keys))]
	a.keys = a.keys[len(some):]
	a.upToDate(ctx)
	for _, key := range some {
		if err := a.followOne(ctx, key); err != nil {
			a.report(ctx, err)
			a.sweepSoon() // the watcher does not report this change again
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.publishEdits(ctx)
}

// sweepSoon schedules a sweep of the whole folder, for hints that are not precise enough.
func (a *reconciler) sweepSoon() { a.next.Reset(a.span(hintDelay)) }

// followOne examines a changed key: a file, or all files in a folder, including those that no
// longer exist.
func (a *reconciler) followOne(ctx context.Context, key string) error {
	a.mu.Lock()
	at, p := a.placeOf(key)
	known := a.key(at) == key
	a.mu.Unlock()
	switch {
	case p == ours && known:
		if err := a.examineNow(ctx, at); err != nil {
			return err
		}
	case p == ours: // the name has a new spelling, or is a twin: only a full listing can tell
		a.sweepSoon()
	case p == misnamed:
		a.sweepSoon()
	}
	o, err := a.files.Look(ctx, key)
	switch {
	case err == nil && !o.Foreign, !mayContainFiles(key):
		return nil // a file, which was examined, or a key that is not the vault's
	case err == nil, errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrForeign):
		return a.followFolder(ctx, key)
	}
	return unreadable(key, err)
}

// followFolder examines all files that are in a folder, or were in it. It schedules a sweep of the
// whole folder if the result is incomplete: a name has another spelling than before, the name of
// the folder may be decomposed, or a file in it is skipped.
func (a *reconciler) followFolder(ctx context.Context, key string) error {
	s := a.newSweep()
	s.part = true
	if err := s.folder(ctx, key+"/"); err != nil {
		return err
	}
	if s.unsure || !isASCII(key) || len(s.skipped) > 0 {
		a.sweepSoon()
	}
	return nil
}

// folder examines all files under a prefix, those in the folder and those in the log.
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
