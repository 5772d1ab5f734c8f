package tenant

import (
	"context"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// clearEvery is the interval at which the deployment's operator process looks for vaults whose time
// in the trash is over. It is the suggested delay before a name is tried again.
const clearEvery = time.Hour

// keepsFiles reports whether the files of a trashed vault are still in a bucket that other
// processes follow. A new vault under the same name would import them as edits. Where there are
// folders, Create itself removes the files.
func (t *Tenant) keepsFiles(e Entry) bool {
	return len(t.opt.Followers) > 0 && e.uncleared()
}

// uncleared reports whether a vault is in the trash and its files have not been removed.
func (e Entry) uncleared() bool {
	return e.Status == eventlog.Trashed && e.Erasure == nil && e.Cleared.IsZero()
}

// ClearDue reports whether the files of a vault must be removed: its time in the trash is over, and
// they are still there.
func (e Entry) ClearDue(now time.Time) bool {
	return e.uncleared() && e.Gone(now)
}

// Uncleared returns a vault whose files must be removed, by the newest state of the tenant. ok is
// false if there is nothing to remove, because another process was faster, or the vault was
// restored or erased meanwhile. The vault is not opened.
func (t *Tenant) Uncleared(ctx context.Context, name string, incarnation int) (f FollowedVault, ok bool, err error) {
	s, _, err := t.State(ctx)
	if err != nil {
		return f, false, err
	}
	e, there := s.Vault(name)
	if !there || e.Incarnation != incarnation || !e.ClearDue(t.opt.Now()) {
		return f, false, nil
	}
	f, err = t.followedOf(name, incarnation)
	return f, err == nil, err
}

// Cleared commits to the tenant's log that the files of a trashed vault were removed. This frees
// its name. It does nothing if another process was faster, or if the time of the vault in the trash
// is not over. The author of the commit is rookery.
func (t *Tenant) Cleared(ctx context.Context, name string, incarnation int) error {
	call := eventlog.Call{Tool: "clear", Who: eventlog.Who{Principal: "rookery"}}
	_, err := t.update(ctx, call, func(_ context.Context, d *eventlog.Draft[*State]) (any, error) {
		e, ok := d.State().Vault(name)
		if !ok || e.Incarnation != incarnation || !e.ClearDue(d.Now()) {
			return nil, nil // another process was faster
		}
		e.Cleared = d.Now()
		return nil, d.Record(kindVault, name, e)
	})
	return err
}

// notCleared returns the DUPLICATE_ID fault of a name whose files are not removed yet. They are
// removed within clearEvery, by the deployment's operator process.
func notCleared(e Entry) error {
	return fault.New(fault.DuplicateID, "the files of the earlier vault %q are being removed: its name is not free yet",
		e.Name).With("id", e.Name).After(clearEvery).Fix("choose another name, or try again later")
}
