package tenant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Create creates a vault. The name must be free. answer returns the answer to store for the call.
//
// The vault's own log is created first, then the tenant's commit that adds the vault. A call that
// is repeated after a crash in between finds the log and continues (log.md §6). A name whose vault
// is in the trash, or being erased, is DUPLICATE_ID, and more than MaxVaults are QUOTA_EXCEEDED.
func (t *Tenant) Create(
	ctx context.Context, c eventlog.Call, v NewVault, answer func(Entry) any,
) (eventlog.Receipt, error) {
	if err := vault.CheckName(v.Name); err != nil {
		return eventlog.Receipt{}, err
	}
	if t.opt.Served != nil && v.Name != t.opt.Served.Vault {
		return eventlog.Receipt{}, singleFolder()
	}
	return t.update(ctx, c, func(ctx context.Context, d *eventlog.Draft[*State]) (any, error) {
		old, taken := d.State().Vault(v.Name)
		if err := d.Touch(old.Changed); err != nil {
			return nil, err
		}
		switch {
		case taken && !old.Gone(d.Now()):
			return nil, nameTaken(old, d.Now())
		case t.keepsFiles(old):
			return nil, notCleared(old)
		}
		if (!taken || old.free()) && d.State().names() >= MaxVaults {
			return nil, fault.New(fault.QuotaExceeded, "a tenant has at most %d vaults", MaxVaults)
		}
		e := Entry{
			Name: v.Name, Incarnation: old.Incarnation + 1, Status: eventlog.Active, Created: d.Now(),
		}
		if !d.DryRun() {
			var err error
			if e.Left, err = t.clear(ctx, old); err != nil {
				return nil, err
			}
			if e.Incarnation, err = t.make(ctx, c, v, e.Incarnation); err != nil {
				return nil, err
			}
		}
		return answer(e), d.Record(kindVault, v.Name, e)
	})
}

// A NewVault is the name and the initial contents of a vault.
type NewVault struct {
	Name  string
	Files []eventlog.Note // initial files
}

// MaxVaults is the maximum number of vaults of a tenant (CONTRACT §9).
const MaxVaults = 100

// nameTaken returns the DUPLICATE_ID fault of a name that another vault has. If that vault is in
// the trash, the fix restores it; if it is being erased, the fault says when to try again.
func nameTaken(old Entry, now time.Time) error {
	if old.Erasure != nil {
		return beingErased(old, now)
	}
	f := fault.New(fault.DuplicateID, "there is a vault %q already", old.Name).
		With("id", old.Name)
	if old.Status == eventlog.Trashed {
		return f.Try("team_vault_restore", fault.Args{"name": old.Name})
	}
	return f
}

// clear removes the files of the vault that had the name before, if any, so that they do not become
// files of the next one. The vault's log lists them. It keeps files that were changed since, and
// returns their paths. It opens the old vault for that, and closes it. It does nothing after an
// erasure, which has removed the files, and where there are no folders; see keepsFiles.
func (t *Tenant) clear(ctx context.Context, old Entry) ([]string, error) {
	if old.Name == "" || old.Erasure != nil || !t.opt.Folders {
		return nil, nil
	}
	o, err := t.openVault(ctx, old)
	if err != nil {
		return nil, err
	}
	o.close()
	left, err := o.folder.Clear(ctx)
	t.opt.Memory.forget(o)
	t.drop(old, o)
	if err != nil {
		return nil, fmt.Errorf("clear the folder of the vault before: %w", err)
	}
	return left, nil
}

// make creates the log of a vault, at the given incarnation or the next one that has no log of
// another call, and returns that incarnation. Such a log exists if a process died after it had
// created it; its number is then skipped. A log that an interrupted run of the same call created is
// completed.
func (t *Tenant) make(ctx context.Context, c eventlog.Call, v NewVault, incarnation int) (int, error) {
	for ; ; incarnation++ {
		made, err := t.vaultOf(v.Name, incarnation)
		if err != nil {
			return 0, err
		}
		err = made.Create(ctx, c, v.Files)
		if !errors.Is(err, eventlog.ErrLogExists) {
			return incarnation, err
		}
	}
}

// Trash moves a vault to the trash: it cannot be read or written until it is restored, in this
// process at once, and in others when they read either log. After TrashLife it cannot be restored
// any more, and its name is free. A served folder cannot be trashed.
func (t *Tenant) Trash(
	ctx context.Context, c eventlog.Call, name string, answer func(Entry) any,
) (eventlog.Receipt, error) {
	if t.opt.Served != nil {
		return eventlog.Receipt{}, singleFolder()
	}
	return t.changeStatus(ctx, c, name, eventlog.Trashed, func(e Entry, _ bool) any { return answer(e) })
}

// Restore takes a vault out of the trash, with the settings that it had before. changed is false if
// the vault was active already. A vault whose time in the trash is over is NOT_FOUND.
func (t *Tenant) Restore(
	ctx context.Context, c eventlog.Call, name string, answer func(e Entry, changed bool) any,
) (eventlog.Receipt, error) {
	return t.changeStatus(ctx, c, name, eventlog.Active, answer)
}

// changeStatus changes the status of a vault, first in its own log, so that no write can follow. The vault
// is opened for that, also if it is in the trash. A vault that does not exist, or has ended, is
// NOT_FOUND, and so is one to be trashed that is in the trash.
func (t *Tenant) changeStatus(
	ctx context.Context, c eventlog.Call, name string, to eventlog.Status,
	answer func(e Entry, changed bool) any,
) (eventlog.Receipt, error) {
	both := newTwoLogChange(ctx)
	defer both.close()
	return t.update(both.ctx, c, func(ctx context.Context, d *eventlog.Draft[*State]) (any, error) {
		e, ok := d.State().Vault(name)
		if err := d.Touch(e.Changed); err != nil {
			return nil, err
		}
		gone := e.Gone(d.Now()) || e.Erasure != nil
		if !ok || gone || e.Status == eventlog.Trashed && to == eventlog.Trashed {
			return nil, fault.NoVault(name)
		}
		was := e.Status
		e.Status = to
		if !d.DryRun() {
			if err := t.changeVaultFirst(ctx, both, c, e); err != nil {
				return nil, err
			}
		}
		if was == to {
			return answer(e, false), nil // after a crash its own log may have differed
		}
		e.Trashed = time.Time{}
		if to == eventlog.Trashed {
			e.Trashed = d.Now()
		}
		return answer(e, true), d.Record(kindVault, name, e)
	})
}

// A Setting is a change of a vault's settings. A nil field is not changed. Name is the name of the
// vault.
type Setting struct {
	Name     string
	ReadOnly *bool
	Secrets  *Secrets
}

// Set changes the settings of a vault. ReadOnly is first committed to the vault's own log, so that
// no write can follow (log.md §2.8). changed is false if nothing differed.
func (t *Tenant) Set(
	ctx context.Context, c eventlog.Call, s Setting, answer func(e Entry, changed bool) any,
) (eventlog.Receipt, error) {
	both := newTwoLogChange(ctx)
	defer both.close()
	return t.update(both.ctx, c, func(ctx context.Context, d *eventlog.Draft[*State]) (any, error) {
		e, ok := d.State().Vault(s.Name)
		if err := d.Touch(e.Changed); err != nil {
			return nil, err
		}
		if !ok || e.Status != eventlog.Active {
			return nil, fault.NoVault(s.Name)
		}
		was := e
		if s.ReadOnly != nil {
			e.ReadOnly = *s.ReadOnly
		}
		if s.Secrets != nil {
			e.Secrets = *s.Secrets
		}
		if !d.DryRun() {
			if err := t.changeVaultFirst(ctx, both, c, e); err != nil {
				return nil, err
			}
		}
		if e.ReadOnly == was.ReadOnly && e.Secrets == was.Secrets {
			return answer(e, false), nil // after a crash its own log may have differed
		}
		return answer(e, true), d.Record(kindVault, s.Name, e)
	})
}

// changeVaultFirst begins the change of two logs with that of the vault. From here until the tenant's commit
// the change no longer ends with the call's context.
func (t *Tenant) changeVaultFirst(ctx context.Context, change *twoLogChange, c eventlog.Call, e Entry) error {
	if err := change.begin(); err != nil {
		return err
	}
	return t.setVaultStatus(ctx, c, e)
}

// setVaultStatus sets the status of a vault's own log to that of the entry. It does nothing if the log has
// it already.
func (t *Tenant) setVaultStatus(ctx context.Context, c eventlog.Call, e Entry) error {
	o, err := t.openVault(ctx, e)
	if err != nil {
		return err
	}
	return o.vault.SetStatus(ctx, c, e.status())
}

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
