package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
)

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
