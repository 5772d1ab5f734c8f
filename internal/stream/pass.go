package stream

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"rookery/internal/auditlog"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/team"
)

const (
	// passLife is how long the lease of a pass holds that was not given back: longer than an invocation.
	passLife = 16 * time.Minute

	// passAgain is how long a message waits while another process makes a pass.
	passAgain = 30 * time.Second
)

// pass brings the audit log of a vault in step with its log, folds the log, and takes the lines of erased histories out
// of the audit log. It is job.Later while another process does that. A vault that is not there, or is in the trash, is
// NOT_FOUND.
func (f *Follower) pass(ctx context.Context, own *team.Team, name string) error {
	at, err := own.Followed(ctx, name)
	if err != nil {
		return err
	}
	v := at.Vault
	control, release, err := f.hold(ctx, v)
	if err != nil {
		return err
	}
	audit := auditlog.New(v, auditlog.In(at.Notes), control)
	if err = catchUp(ctx, v, audit); err == nil {
		err = own.FoldVault(ctx, name)
	}
	if err == nil && v.AuditStale() {
		err = audit.Redact(ctx)
	}
	return errors.Join(err, release(context.WithoutCancel(ctx)))
}

// hold takes the lease of a pass, and unsets when one is due: what is written from now on asks for another one.
func (f *Follower) hold(
	ctx context.Context, v *repo.Vault,
) (control repo.Control, release func(context.Context) error, err error) {
	holder, held := rand.Text(), false
	err = v.Change(ctx, func(c *repo.Control) bool {
		now := f.Now().UTC()
		if held = c.Passing == nil || !now.Before(c.Passing.Until); !held {
			return false
		}
		c.FoldDue, c.Passing = time.Time{}, &repo.Lease{Holder: holder, Until: now.Add(passLife)}
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

// catchUp appends the lines of the commits that the audit log does not have.
func catchUp(ctx context.Context, v *repo.Vault, audit *auditlog.Log) error {
	for {
		s, err := v.Behind(ctx, audit.Seq(), repo.Most{Commits: mostCommits, Bytes: mostBytes})
		if err != nil {
			return err
		}
		added := auditlog.NewBatch(audit.Seq())
		for _, c := range s.Commits {
			added.Add(c)
		}
		audit.Foresee(ctx, added)
		if err := audit.Save(ctx, added); err != nil {
			return err
		}
		if s.Ended {
			return nil
		}
	}
}
