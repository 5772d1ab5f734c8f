package checkout

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/repo"
)

// An unwatchedLister is a blob.Watch that knows which folders it does not watch, because the system
// allows no more watches. Watches of some platforms do not implement it; they are unlimited.
type unwatchedLister interface {
	// Unwatched returns these folders, "" for the root, and whether there are any.
	Unwatched() (folders []string, some bool)
}

// unwatchedFolders returns the folders that are not watched because the system allows no more
// watches, without those that are inside another of them.
func (a *reconciler) unwatchedFolders() (folders []string, some bool) {
	l, ok := a.tree.(unwatchedLister)
	if !ok {
		return nil, false
	}
	all, some := l.Unwatched()
	slices.Sort(all)
	for _, folder := range all {
		n := len(folders)
		if n > 0 && (folders[n-1] == "" || strings.HasPrefix(folder, folders[n-1]+"/")) {
			continue
		}
		folders = append(folders, folder)
	}
	return folders, some
}

// updateUnwatched records why changes may be noticed late. swept is the error of the last sweep of
// the whole folder. After a failed sweep of any other kind, the recorded reason stays, because
// nothing is known.
func (a *reconciler) updateUnwatched(ctx context.Context, swept error) {
	_, some := a.unwatchedFolders()
	var unread *blob.WalkError
	switch {
	case a.opt.Away != nil && a.opt.Away(), errors.As(swept, &unread) && unread.Folder == "":
		a.setUnwatched(ctx, repo.UnwatchedAway)
	case some:
		a.setUnwatched(ctx, repo.UnwatchedLimit)
	case swept == nil:
		a.setUnwatched(ctx, "")
	}
}

// setUnwatched records in the control item why changes may be noticed late, so that every answer
// can report it. An empty reason means that they are noticed at once.
func (c *Checkout) setUnwatched(ctx context.Context, why repo.Unwatched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away.Store(why == repo.UnwatchedAway); c.pending.unwatched != why {
		c.pending.unwatched, c.pending.dirty = why, true
	}
	c.publishEdits(ctx)
}

// limited reports whether the control item says that the system allows no more watches.
func (c *Checkout) limited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending.unwatched == repo.UnwatchedLimit
}

// sweepUnwatched examines the folders that are not watched. It also checks whether the path still
// leads to the folder that is served; if the folder came back, it schedules a sweep of the whole
// folder.
func (a *reconciler) sweepUnwatched(ctx context.Context) {
	if !a.compared {
		return
	}
	if a.opt.Away != nil {
		switch away := a.opt.Away(); {
		case away && !a.away.Load():
			a.setUnwatched(ctx, repo.UnwatchedAway)
		case !away && a.away.Load():
			a.sweepSoon()
		}
	}
	folders, some := a.unwatchedFolders()
	if some != a.limited() && !a.away.Load() {
		a.updateUnwatched(ctx, nil)
	}
	if slices.Contains(folders, "") {
		a.sweepSoon() // the whole folder is not watched
		return
	}
	for _, folder := range folders {
		if ctx.Err() != nil {
			return
		}
		a.report(ctx, a.followFolder(ctx, folder))
	}
}
