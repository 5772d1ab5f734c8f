package stream

import (
	"context"
	"time"

	"rookery/internal/auditlog"
	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/team"
)

// FoldKind is the kind of the message that asks for a pass that folds the log of a vault.
const FoldKind = "fold"

// Cursors are the names of the cursors of what this package brings in step. Logs must not be trimmed before them.
func Cursors() []string { return []string{repo.FilesCursor, auditlog.Cursor} }

const (
	// foldAfter is how long after a write its log is folded: all writes of that time cost one message.
	foldAfter = time.Minute

	// foldCommits is how many commits that are in no segment make a pass due at once.
	foldCommits = 500

	// foldLost is how late a pass may be before its message counts as lost.
	foldLost = 10 * time.Minute
)

// askToFold asks for a pass if none is on its way, or sooner if much has come, and returns when it is due; the zero time
// if it did not ask. It asks before that is written: what asks twice does no harm.
func (f Followed) askToFold(ctx context.Context, s *repo.Stretch) (due time.Time, err error) {
	if !s.Ended || len(s.Commits) == 0 {
		return time.Time{}, nil
	}
	now, after := f.Now().UTC(), foldAfter
	if s.Last()-min(s.Control.Folded(), s.Last()) >= foldCommits {
		after = 0
	}
	due = now.Add(after)
	asked := s.Control.FoldDue
	if !asked.IsZero() && !asked.After(due) && now.Sub(asked) < foldLost {
		return time.Time{}, nil
	}
	return due, f.Fold(ctx, after)
}

// FoldMessage works on a message of the kind FoldKind, for tenants that are open as those of Folding: it brings the audit
// log in step, and folds the log. What is written meanwhile asks for another pass.
func (f *Follower) FoldMessage(ctx context.Context, m job.Message) error {
	own, err := f.Teams.Team(ctx, m.Tenant)
	if err == nil {
		err = f.pass(ctx, own, m.Vault)
	}
	if at, later := job.IsLater(err); later {
		m.After = max(0, at.Sub(f.Now()))
		return f.Queue.Send(context.WithoutCancel(ctx), m)
	}
	if repo.Gone(err) || fault.Is(err, fault.Unauthenticated) {
		return nil // the vault is in the trash, or gone, or the tenant is
	}
	return err
}

// Follow brings the files and the audit log of a vault in step with its log, and folds the log; see team.Options.
func (f *Follower) Follow(ctx context.Context, own *team.Team, name string) error {
	at, err := own.Followed(ctx, name)
	if err == nil {
		err = f.Bring(ctx, at)
	}
	if err != nil {
		return err
	}
	return f.pass(ctx, own, name)
}

// Bring brings the files of a vault in step with its log, however far they are behind.
func (f *Follower) Bring(ctx context.Context, at team.Followed) error {
	for {
		if more, err := f.bring(ctx, at, 0); err != nil || !more {
			return err
		}
	}
}
