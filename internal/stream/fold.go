package stream

import (
	"context"
	"time"

	"rookery/internal/fault"
	"rookery/internal/job"
	"rookery/internal/repo"
)

// FoldKind is the kind of the message that asks for a pass that folds the log of a vault.
const FoldKind = "fold"

// Cursors are the names of the cursors behind which logs must not be trimmed that this package follows.
func Cursors() []string { return []string{cursor} }

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

// FoldMessage works on a message of the kind FoldKind, for tenants that are open as those of Folding. What is written
// while the log is folded asks for another pass.
func (f *Follower) FoldMessage(ctx context.Context, m job.Message) error {
	at, err := f.Teams.Followed(ctx, m.Tenant, m.Vault, m.Incarnation)
	if err == nil {
		err = at.Vault.Change(ctx, func(c *repo.Control) bool {
			asked := !c.FoldDue.IsZero()
			c.FoldDue = time.Time{}
			return asked
		})
	}
	if err == nil {
		own, open := f.Teams.Team(ctx, m.Tenant)
		if err = open; err == nil {
			err = own.FoldVault(ctx, m.Vault)
		}
	}
	if repo.Gone(err) || fault.Is(err, fault.Unauthenticated) {
		return nil // the vault is in the trash, or gone, or the tenant is
	}
	return err
}
