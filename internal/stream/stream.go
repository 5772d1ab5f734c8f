package stream

import (
	"context"
	"log/slog"
	"time"

	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/team"
)

// FilesKind is the kind of the message that asks for the files of a vault to be brought in step.
const FilesKind = "files"

// A Follower brings what follows the logs of vaults in step with them. It is safe for concurrent use.
type Follower struct {
	Teams *team.Teams
	Queue job.Queue // gets what cannot be done now
	Log   *slog.Logger
	Now   func() time.Time
}

// Wake brings the files of the vaults in step whose doorbells rang, several at once. A vault that fails does not fail
// the others: a message asks for it once more. The error is that of the queue.
func (f *Follower) Wake(ctx context.Context, bells []Doorbell) error {
	return Together(mostVaults, bells, func(b Doorbell) error {
		at, err := f.Teams.FollowedAt(ctx, b.Part)
		if repo.Gone(err) {
			return nil
		}
		more := false
		if err == nil {
			err = safely(func() (err error) {
				more, err = f.bring(ctx, at, b.First)
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

// Files works on a message of the kind FilesKind.
func (f *Follower) Files(ctx context.Context, m job.Message) error {
	at, err := f.Teams.Followed(ctx, m.Tenant, m.Vault, m.Incarnation)
	if fault.Is(err, fault.Unauthenticated) {
		return nil // the tenant is erased
	}
	if err != nil {
		return err
	}
	more, err := f.bring(ctx, at, 0)
	if err != nil || !more {
		return err
	}
	return f.Queue.Send(context.WithoutCancel(ctx), m)
}

// bring brings the files of a vault in step; see Followed.Bring.
func (f *Follower) bring(ctx context.Context, at team.Followed, first uint64) (more bool, err error) {
	files, err := FilesOf(at.Notes)
	if err != nil {
		return false, err
	}
	fold := func(ctx context.Context, after time.Duration) error {
		m := messageOf(at, FoldKind)
		m.After = after
		return f.Queue.Send(ctx, m)
	}
	return Followed{Vault: at.Vault, Files: files, Now: f.Now, Fold: fold}.Bring(ctx, first)
}

// messageOf asks for something to be done with a vault.
func messageOf(at team.Followed, kind string) job.Message {
	return job.Message{V: 1, Kind: kind, Tenant: at.Tenant, Vault: at.Name, Incarnation: at.Incarnation}
}
