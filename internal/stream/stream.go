package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
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
	return Followed{Vault: at.Vault, Files: files, Now: f.Now, QueuePass: fold}.Sync(ctx, first)
}

// messageOf returns a message of a kind about a vault.
func messageOf(at tenant.FollowedVault, kind string) job.Message {
	return job.Message{V: 1, Kind: kind, Tenant: at.Tenant, Vault: at.Name, Incarnation: at.Incarnation}
}

// mostFiles is how many files of a vault are written at once, and mostVaults how many vaults are
// handled at once.
const (
	mostFiles  = 16
	mostVaults = 8
)

// ForEach calls do with each of some values, at most n at once, and returns all errors, joined. A
// panic becomes an error.
func ForEach[T any](n int, all []T, do func(T) error) error {
	var mu sync.Mutex
	var errs []error
	var running sync.WaitGroup
	room := make(chan struct{}, n)
	for _, one := range all {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			if err := safely(func() error { return do(one) }); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// safely calls do, and turns a panic into an error with its type and location, but without its
// value.
func safely(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Panicked("while files are written", p)
		}
	}()
	return do()
}

// A Known contains the texts that files changed by a stretch may have from the log: the text before
// the stretch, those in it, and those that it ingested.
type Known struct{ byPath map[string]*change }

// KnownIn returns the texts of a stretch.
func KnownIn(ctx context.Context, v *repo.Vault, s *repo.Stretch) (Known, error) {
	all, err := Followed{Vault: v}.changes(ctx, s)
	if err != nil {
		return Known{}, err
	}
	k := Known{byPath: make(map[string]*change, len(all))}
	for _, c := range all {
		k.byPath[c.path] = c
	}
	return k, nil
}

// Contains reports whether the state of a file came from the log, so that it is overwritten when
// the stretch is written. there reports that the file exists. Ours returns false for a file that
// the stretch does not change.
func (k Known) Contains(path string, text []byte, there bool) bool {
	c := k.byPath[path]
	return c != nil && c.knows(text, there)
}
