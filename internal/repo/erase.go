package repo

import (
	"context"
	"errors"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
)

// Erase destroys the vault. It seals the log, so that no write follows, and then deletes every item
// and object of this incarnation, and all that this process has in memory. From then on every
// operation returns NOT_FOUND. A call that a crash interrupted must be repeated; a repetition after
// SweepAgain deletes late writes. Erase does not delete the files of a checkout: they must be
// deleted before, between Seal and Erase, because only the log says which files belong to the
// vault. A dry run only counts. If Erase fails, the counts are those of the work that was done.
func (v *Vault) Erase(ctx context.Context, c eventlog.Call) (eventlog.Erased, error) {
	gone, err := v.log.Erase(ctx, c)
	if c.DryRun {
		return gone, err
	}
	v.dropAll()
	return gone, errors.Join(err, v.searcher.forget(ctx), v.memories.forget(ctx))
}

// orNone maps the errors of a log to those of the vault: ErrNoLog and ErrTrashed become NOT_FOUND.
// If the log is gone, it drops the state and the caches of the vault from memory.
func (v *Vault) orNone(err error) error {
	if errors.Is(err, eventlog.ErrTrashed) {
		return fault.NoVault(v.Name)
	}
	if !errors.Is(err, eventlog.ErrNoLog) {
		return err
	}
	if v.log.Forget() {
		v.dropAll()
	}
	return fault.NoVault(v.Name)
}

// dropAll removes the texts, changes and past states of the vault from the caches.
func (v *Vault) dropAll() {
	v.texts.dropAll(v.part)
	v.texts.changes.dropAll(v.texts.tenant, v.part)
	v.pasts.dropAll(v)
}
