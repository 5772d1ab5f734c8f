// Package ingest turns outside edits of the files of a vault in a bucket into commits of its log.
//
// It has two steps. First, edits are noticed: an event of the bucket names an object and, if that
// is not as in the log, an item is written to the vault's partition. Second, a batch is closed:
// when no edit was noticed for two seconds, one process at a time ingests all noticed edits as one
// batch (package intake). Nothing is kept in memory between the steps, so events may arrive twice,
// late and in any order, and a process may end at any point: the items stay until the edits are in
// the log.
//
// # Recognizing an outside edit
//
// The files of a vault are written from its log by a process that follows it, so at any time a file
// can be some commits behind. A file is as in the log if it has the text of the index. It is also
// ours if it has an earlier text that the follower will replace: one between the version up to
// which the files are known to be written (the cursor) and the present one. Every other text is an
// outside edit (look.go).
//
// An edit is merged as if its author had seen a certain version of the note. Three things bound
// that version: the version of the vault when the edit was noticed, the cursor at that time, and
// the time at which the bucket says that the file was changed (date.go). A later commit cannot have
// been in the file.
//
// # Files
//
//   - notice.go writes the items of events; item.go has the keys and the contents of all items.
//   - due.go decides when noticed edits are ingested: not while more are noticed, and removals
//     later than others.
//   - close.go ingests a batch under a lease (lease.go), and finish.go records the result.
//   - guard.go holds back a batch that removes or reverts too much, until a person confirms or
//     discards it.
//   - restore.go writes files again from the log, for edits that are discarded and files that must
//     stay.
//   - sweep.go compares all files with the log from time to time, because events can be lost.
//   - rollback.go makes the bucket follow a table that was restored to an earlier time.
package ingest

import (
	"context"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// CloseKind is the kind of the message that asks to ingest the noticed edits of a vault.
const CloseKind = "close"

// Principal is the principal of commits that ingest edits. S3 does not report which person made an
// edit.
const Principal = "outside"

// maxConcurrent is how many objects or items are read or written at once.
const maxConcurrent = 16

// A Vault is a vault whose files in a bucket have outside edits. Its methods can be called by
// several processes at once, except Rollback; those that ingest edits exclude each other by a
// lease.
type Vault struct {
	Vault *repo.Vault
	Notes stream.Files // the files of the vault by path
	Table table.Table
	Part  string // the partition of the vault in Table
	Now   func() time.Time
}

// NewVault returns the Vault of an open vault; see tenant.Edited.
func NewVault(f tenant.FollowedVault, now func() time.Time) (Vault, error) {
	files, err := stream.FilesOf(f.Notes)
	return Vault{Vault: f.Vault, Notes: files, Table: f.Table, Part: f.Part, Now: now}, err
}

// An Ingester notices and ingests the outside edits of the vaults of a deployment. It is safe for
// concurrent use.
type Ingester struct {
	Tenants *tenant.Registry
	Queue   job.Queue
	Now     func() time.Time
}

// A Name is the name of a vault with that of its tenant.
type Name struct{ Tenant, Vault string }

// Notice notices the outside edits among the files of some events, and queues a message to ingest
// them. It ignores the files of a vault that does not exist, or that is in the trash.
func (i *Ingester) Notice(ctx context.Context, n Name, changes []Change) error {
	return i.with(ctx, n, func(f tenant.FollowedVault, v Vault) error {
		return v.Notice(ctx, changes, func(ctx context.Context, after time.Duration) error {
			return i.ask(ctx, f, after)
		})
	})
}

// Close handles a message of the kind CloseKind. It queues another one if edits are left. An error
// makes the queue deliver the message again, which does no harm.
func (i *Ingester) Close(ctx context.Context, m job.Message) error {
	return i.with(ctx, Name{m.Tenant, m.Vault}, func(f tenant.FollowedVault, v Vault) error {
		if f.Incarnation != m.Incarnation {
			return nil // the edits were deleted with the earlier vault of this name
		}
		again, err := v.Close(ctx)
		if err != nil || again == 0 {
			return err
		}
		return i.ask(context.WithoutCancel(ctx), f, again)
	})
}

// Sweep handles a message of the kind SweepKind: it writes the commits that the files of a vault do
// not have yet, and compares all files with the log. A message about an earlier vault of the same
// name is ignored.
func (i *Ingester) Sweep(ctx context.Context, m job.Message) error {
	return i.with(ctx, Name{m.Tenant, m.Vault}, func(f tenant.FollowedVault, v Vault) error {
		if f.Incarnation != m.Incarnation {
			return nil
		}
		follower := stream.Follower{Teams: i.Tenants, Queue: i.Queue, Now: i.Now}
		if err := follower.Sync(ctx, f); err != nil {
			return err
		}
		return v.Sweep(ctx, func(ctx context.Context, after time.Duration) error { return i.ask(ctx, f, after) })
	})
}

// Forget removes the items about a file whose note's history is erased; see tenant.Options.
func (i *Ingester) Forget(ctx context.Context, own *tenant.Tenant, vault, path string) error {
	f, ok, err := own.Edited(ctx, vault)
	if err != nil || !ok {
		return err
	}
	v, err := NewVault(f, i.Now)
	if err != nil {
		return err
	}
	return v.Forget(ctx, path)
}

// ask queues a message to ingest the noticed edits after a time. The message names the incarnation
// of the vault, so that it cannot affect a later vault of the same name.
func (i *Ingester) ask(ctx context.Context, f tenant.FollowedVault, after time.Duration) error {
	return i.Queue.Send(ctx, job.Message{
		V: 1, Kind: CloseKind, Tenant: f.Tenant, Vault: f.Name, Incarnation: f.Incarnation, After: after,
	})
}

// with calls do with a vault. It returns nil if the vault or the tenant does not exist, because the
// message is then about data that is gone. The cached state of the tenant may be a minute old, so
// it is read again if the vault seems to be gone; do is then called once more.
func (i *Ingester) with(ctx context.Context, n Name, do func(tenant.FollowedVault, Vault) error) error {
	own, err := i.Tenants.Tenant(ctx, n.Tenant)
	if err == nil {
		err = i.attempt(ctx, own, n, do)
		if repo.Gone(err) {
			if _, err = own.Fresh(ctx); err == nil {
				err = i.attempt(ctx, own, n, do)
			}
		}
	}
	if repo.Gone(err) || fault.Is(err, fault.Unauthenticated) {
		return nil
	}
	return err
}

// attempt calls do with a vault of a tenant. It returns an error if the files of the deployment's
// vaults are not in a bucket, because then nothing can have sent the message.
func (i *Ingester) attempt(
	ctx context.Context, own *tenant.Tenant, n Name, do func(tenant.FollowedVault, Vault) error,
) error {
	f, ok, err := own.Edited(ctx, n.Vault)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the files of vaults are not in a bucket that is followed")
	}
	v, err := NewVault(f, i.Now)
	if err != nil {
		return err
	}
	return do(f, v)
}

// forEach calls do with each of some values, at most maxConcurrent at once. It returns the first
// error.
func forEach[T any](all []T, do func(T) error) error { return stream.ForEach(maxConcurrent, all, do) }

// writeError returns the UNAVAILABLE fault for an item that could not be written. The caller tries
// again after a second.
func writeError(err error) error {
	return fault.New(fault.Unavailable, "the noticed changes cannot be written now").After(time.Second).Because(err)
}
