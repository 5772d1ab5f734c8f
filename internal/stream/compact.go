package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// CompactKind is the kind of the message that asks for a pass, which compacts the log of a vault.
const CompactKind = "fold"

// Cursors returns the names of the cursors of this package. Logs must not be trimmed behind them.
func Cursors() []string { return []string{repo.FilesCursor, auditlog.Cursor} }

const (
	// passDelay is the time between a write and the pass. All writes of that time cost one message.
	passDelay = time.Minute

	// passCommits is the number of commits in no segment at which a pass is due at once.
	passCommits = 500

	// passLost is how late a pass may be before its message counts as lost.
	passLost = 10 * time.Minute
)

// requestPass queues a message for a pass if none is due, or sooner if there are many commits. It
// returns when the pass is due, or the zero time if it queued none. It queues before the time is
// written to the control item, because a second message does no harm.
func (f Followed) requestPass(ctx context.Context, s *repo.Stretch) (due time.Time, err error) {
	if !s.Ended || len(s.Commits) == 0 {
		return time.Time{}, nil
	}
	now, after := f.Now().UTC(), passDelay
	if s.Last()-min(s.Control.Folded(), s.Last()) >= passCommits {
		after = 0
	}
	due = now.Add(after)
	asked := s.Control.FoldDue
	if !asked.IsZero() && !asked.After(due) && now.Sub(asked) < passLost {
		return time.Time{}, nil
	}
	return due, f.QueuePass(ctx, after)
}

// CompactMessage handles a message of the kind CompactKind: it updates the audit log, and compacts
// the log. The tenants must be open with the options for compaction. Later writes ask for another
// pass.
func (f *Follower) CompactMessage(ctx context.Context, m job.Message) error {
	own, err := f.Teams.Tenant(ctx, m.Tenant)
	if err == nil {
		err = f.pass(ctx, own, m.Vault)
	}
	if at, later := job.IsLater(err); later {
		m.After = max(0, at.Sub(f.Now()))
		return f.Queue.Send(context.WithoutCancel(ctx), m)
	}
	if repo.Gone(err) || fault.Is(err, fault.Unauthenticated) {
		return nil // the vault is in the trash or gone, or the tenant is gone
	}
	return err
}

// Follow writes the files and the audit log of a vault, and compacts its log; see tenant.Options.
func (f *Follower) Follow(ctx context.Context, own *tenant.Tenant, name string) error {
	at, err := own.Followed(ctx, name)
	if err == nil {
		err = f.Sync(ctx, at)
	}
	if err != nil {
		return err
	}
	return f.pass(ctx, own, name)
}

// Sync writes all files of a vault that are behind its log.
func (f *Follower) Sync(ctx context.Context, at tenant.FollowedVault) error {
	for {
		if more, err := f.sync(ctx, at, 0); err != nil || !more {
			return err
		}
	}
}

const (
	// passLease is how long the lease of a pass lasts that is not released: longer than an
	// invocation.
	passLease = 16 * time.Minute

	// passAgain is how long a message waits while another process makes a pass.
	passAgain = 30 * time.Second
)

// pass updates the audit log of a vault, compacts its log, and removes the lines of erased
// histories from the audit log. It returns job.Later while another process does, and NOT_FOUND for
// a vault that does not exist or is in the trash.
func (f *Follower) pass(ctx context.Context, own *tenant.Tenant, name string) error {
	at, err := own.Followed(ctx, name)
	if err != nil {
		return err
	}
	v := at.Vault
	control, release, err := f.acquirePass(ctx, v)
	if err != nil {
		return err
	}
	audit := auditlog.New(v, auditlog.InBucket(at.Notes), control)
	if err = catchUp(ctx, v, audit); err == nil {
		err = own.CompactVault(ctx, name)
	}
	if err == nil && v.AuditStale() {
		err = audit.Redact(ctx)
	}
	return errors.Join(err, release(context.WithoutCancel(ctx)))
}

// acquirePass acquires the lease of a pass, and resets the time at which one is due, so that later
// writes ask for another pass. It returns job.Later if another process has the lease. release
// releases it.
func (f *Follower) acquirePass(
	ctx context.Context, v *repo.Vault,
) (control repo.Control, release func(context.Context) error, err error) {
	holder, held := rand.Text(), false
	err = v.Change(ctx, func(c *repo.Control) bool {
		now := f.Now().UTC()
		if held = c.Passing == nil || !now.Before(c.Passing.Until); !held {
			return false
		}
		c.FoldDue, c.Passing = time.Time{}, &eventlog.Lease{Holder: holder, Until: now.Add(passLease)}
		control = *c
		return true
	})
	if err == nil && !held {
		err = job.Later(f.Now().Add(passAgain))
	}
	return control, func(ctx context.Context) error {
		return v.Change(ctx, func(c *repo.Control) bool {
			if c.Passing == nil || c.Passing.Holder != holder {
				return false
			}
			c.Passing = nil
			return true
		})
	}, err
}

// catchUp appends the lines of commits that the audit log does not have.
func catchUp(ctx context.Context, v *repo.Vault, audit *auditlog.Log) error {
	for {
		s, err := v.CommitsAfter(ctx, audit.Seq(), eventlog.Most{Commits: mostCommits, Bytes: mostBytes})
		if err != nil {
			return err
		}
		added := auditlog.NewBatch(audit.Seq())
		for _, c := range s.Commits {
			added.Add(c)
		}
		audit.NoteErasures(ctx, added)
		if err := audit.Save(ctx, added); err != nil {
			return err
		}
		if s.Ended {
			return nil
		}
	}
}
