package stream

import (
	"context"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// FilesKind is the kind of the message that asks to write the files of a vault.
const FilesKind = "files"

// A Follower writes the files and the audit logs of vaults from their logs. It is safe for
// concurrent use.
type Follower struct {
	Teams *tenant.Registry
	Queue job.Queue // for work that is left
	Log   *slog.Logger
	Now   func() time.Time
}

// Wake writes the files of the vaults of some doorbells, several at once. It logs an error of a
// vault and queues a message to try again, and continues with the others. It returns errors of the
// queue.
func (f *Follower) Wake(ctx context.Context, bells []Notification) error {
	return ForEach(mostVaults, bells, func(b Notification) error {
		at, err := f.Teams.FollowedAt(ctx, b.Part)
		if repo.Gone(err) {
			return nil
		}
		more := false
		if err == nil {
			err = safely(func() (err error) {
				more, err = f.sync(ctx, at, b.First)
				return err
			})
		}
		if err != nil {
			f.Log.ErrorContext(ctx, "the files of a vault could not be brought in step",
				slog.String("vault", at.Name), slog.Any("cause", err))
		}
		if err == nil && !more {
			return nil
		}
		return f.Queue.Send(context.WithoutCancel(ctx), messageOf(at, FilesKind))
	})
}

// Files handles a message of the kind FilesKind.
func (f *Follower) Files(ctx context.Context, m job.Message) error {
	at, err := f.Teams.Followed(ctx, m.Tenant, m.Vault, m.Incarnation)
	if fault.Is(err, fault.Unauthenticated) {
		return nil // the tenant is erased
	}
	if err != nil {
		return err
	}
	more, err := f.sync(ctx, at, 0)
	if err != nil || !more {
		return err
	}
	return f.Queue.Send(context.WithoutCancel(ctx), m)
}

// sync writes the files of a vault; see Followed.Sync.
func (f *Follower) sync(ctx context.Context, at tenant.FollowedVault, first uint64) (more bool, err error) {
	files, err := FilesOf(at.Notes)
	if err != nil {
		return false, err
	}
	fold := func(ctx context.Context, after time.Duration) error {
		m := messageOf(at, CompactKind)
		m.After = after
		return f.Queue.Send(ctx, m)
	}
	return Followed{Vault: at.Vault, Files: files, Now: f.Now, Fold: fold}.Sync(ctx, first)
}

// messageOf returns a message of a kind about a vault.
func messageOf(at tenant.FollowedVault, kind string) job.Message {
	return job.Message{V: 1, Kind: kind, Tenant: at.Tenant, Vault: at.Name, Incarnation: at.Incarnation}
}
