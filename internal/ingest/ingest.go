// Package ingest turns what others do to the files of a vault in a bucket into commits of its log.
//
// It has two steps. The first notices: an event of the bucket names an object, and if that is not as the log says, an
// item of the vault's partition says so. The second closes: when nothing was noticed for two seconds, one process at a
// time takes in all that was, as one batch (package intake). Nothing is kept in memory between the steps, so events may
// come twice, late and in any order, and a process may end anywhere: what is noticed stays until it is in the log.
package ingest

import (
	"context"
	"errors"
	"time"

	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/stream"
	"rookery/internal/table"
	"rookery/internal/team"
)

// CloseKind is the kind of the message that asks for what was noticed in a vault to be taken in.
const CloseKind = "close"

// Outside is the principal of the commits that take edits in: S3 does not say which person made them.
const Outside = "outside"

// mostFiles is how many objects or items are read or written at once.
const mostFiles = 16

// A Vault is one whose files others write in a bucket.
type Vault struct {
	Vault *repo.Vault
	Notes stream.Files // its files by their paths
	Table table.Table
	Part  string // the partition of the vault in it
	Now   func() time.Time
}

// Of returns the Vault of one that is open; see team.Edited.
func Of(f team.Followed, now func() time.Time) (Vault, error) {
	files, err := stream.FilesOf(f.Notes)
	return Vault{Vault: f.Vault, Notes: files, Table: f.Table, Part: f.Part, Now: now}, err
}

// An Ingester notices and takes in what others change in the files of the vaults of a deployment. It is safe for
// concurrent use.
type Ingester struct {
	Teams *team.Teams
	Queue job.Queue
	Now   func() time.Time
}

// A Name names a vault.
type Name struct{ Tenant, Vault string }

// Notice notices which of the files of a vault that events tell of are not as the log says, and asks for them to be
// taken in. Files of a vault that does not exist, or is in the trash, stay as they are.
func (i *Ingester) Notice(ctx context.Context, n Name, changes []Change) error {
	return i.with(ctx, n, func(f team.Followed, v Vault) error {
		return v.Notice(ctx, changes, func(ctx context.Context, after time.Duration) error {
			return i.ask(ctx, f, after)
		})
	})
}

// Close works on a message of the kind CloseKind.
func (i *Ingester) Close(ctx context.Context, m job.Message) error {
	return i.with(ctx, Name{m.Tenant, m.Vault}, func(f team.Followed, v Vault) error {
		if f.Incarnation != m.Incarnation {
			return nil // what was noticed went with the earlier vault of the name
		}
		again, err := v.Close(ctx)
		if err != nil || again == 0 {
			return err
		}
		return i.ask(context.WithoutCancel(ctx), f, again)
	})
}

// Sweep works on a message of the kind SweepKind: it brings the files of a vault in step with its log, and compares all
// of them.
func (i *Ingester) Sweep(ctx context.Context, m job.Message) error {
	return i.with(ctx, Name{m.Tenant, m.Vault}, func(f team.Followed, v Vault) error {
		if f.Incarnation != m.Incarnation {
			return nil
		}
		follower := stream.Follower{Teams: i.Teams, Queue: i.Queue, Now: i.Now}
		if err := follower.Bring(ctx, f); err != nil {
			return err
		}
		return v.Sweep(ctx, func(ctx context.Context, after time.Duration) error { return i.ask(ctx, f, after) })
	})
}

// Forget forgets what is kept of a file whose note's history is erased; see team.Options.
func (i *Ingester) Forget(ctx context.Context, own *team.Team, vault, path string) error {
	f, ok, err := own.Edited(ctx, vault)
	if err != nil || !ok {
		return err
	}
	v, err := Of(f, i.Now)
	if err != nil {
		return err
	}
	return v.Forget(ctx, path)
}

// ask asks for what was noticed to be taken in, after a time.
func (i *Ingester) ask(ctx context.Context, f team.Followed, after time.Duration) error {
	return i.Queue.Send(ctx, job.Message{
		V: 1, Kind: CloseKind, Tenant: f.Tenant, Vault: f.Name, Incarnation: f.Incarnation, After: after,
	})
}

// with does something with a vault. What is known of the tenant may be a minute old: where the vault turns out to be
// gone, it is looked up once more.
func (i *Ingester) with(ctx context.Context, n Name, do func(team.Followed, Vault) error) error {
	own, err := i.Teams.Team(ctx, n.Tenant)
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

func (i *Ingester) attempt(ctx context.Context, own *team.Team, n Name, do func(team.Followed, Vault) error) error {
	f, ok, err := own.Edited(ctx, n.Vault)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the files of vaults are not in a bucket that is followed")
	}
	v, err := Of(f, i.Now)
	if err != nil {
		return err
	}
	return do(f, v)
}

// together does something with each of some things, several at once.
func together[T any](all []T, do func(T) error) error { return stream.Together(mostFiles, all, do) }

// unwritten is the fault of an item that could not be written.
func unwritten(err error) error {
	return fault.New(fault.Unavailable, "the noticed changes cannot be written now").After(time.Second).Because(err)
}
