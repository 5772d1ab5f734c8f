package team

import (
	"context"
	"time"

	"rookery/internal/fault"
	"rookery/internal/repo"
)

// clearEvery is how often an operator of the deployment looks for vaults whose time in the trash is over.
const clearEvery = time.Hour

// keepsFiles reports whether the files of a vault in the trash are still in a bucket that other processes follow. A
// vault that is made under its name would take them in as edits.
func (t *Team) keepsFiles(e Entry) bool {
	return len(t.opt.Followers) > 0 && e.uncleared()
}

// uncleared reports whether a vault is in the trash, and its files were not removed.
func (e Entry) uncleared() bool {
	return e.Status == repo.Trashed && e.Erasure == nil && e.Cleared.IsZero()
}

// ClearDue reports whether the files of a vault are to be removed: its time in the trash is over, and they were not yet.
func (e Entry) ClearDue(now time.Time) bool {
	return e.uncleared() && e.Gone(now)
}

// Uncleared is a vault whose files are to be removed, by the newest state of the tenant. ok is false if there is nothing
// to be removed.
func (t *Team) Uncleared(ctx context.Context, name string, incarnation int) (f Followed, ok bool, err error) {
	s, _, err := t.State(ctx)
	if err != nil {
		return f, false, err
	}
	e, there := s.Vault(name)
	if !there || e.Incarnation != incarnation || !e.ClearDue(t.opt.Now()) {
		return f, false, nil
	}
	f, err = t.unread(name, incarnation)
	return f, err == nil, err
}

// Cleared makes the tenant's commit that the files of a vault were removed whose time in the trash is over. From then on
// its name is free.
func (t *Team) Cleared(ctx context.Context, name string, incarnation int) error {
	call := repo.Call{Tool: "clear", Who: repo.Who{Principal: "rookery"}}
	_, err := t.update(ctx, call, func(_ context.Context, d *repo.Draft[*State]) (any, error) {
		e, ok := d.State().Vault(name)
		if !ok || e.Incarnation != incarnation || !e.ClearDue(d.Now()) {
			return nil, nil // another process was faster
		}
		e.Cleared = d.Now()
		return nil, d.Record(kindVault, name, e)
	})
	return err
}

// notCleared is the fault of a name whose files are not removed yet.
func notCleared(e Entry) error {
	return fault.New(fault.DuplicateID, "the files of the earlier vault %q are being removed: its name is not free yet",
		e.Name).With("id", e.Name).After(clearEvery).Fix("choose another name, or try again later")
}
