package janitor

import (
	"context"
	"log/slog"
	"time"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// Delays after which the message for a piece of work counts as lost.
const (
	jobLate   = time.Minute
	closeLate = time.Minute
	foldLate  = 2 * time.Minute
	filesLate = 5 * time.Minute
)

// sweepEvery is the time between two comparisons of the files of a vault with its log.
const sweepEvery = 24 * time.Hour

// tenant examines one tenant and its vaults.
func (r *run) tenant(ctx context.Context, at tenant.RegisteredTenant) error {
	if at.Erasing {
		if err := r.send(ctx, tenant.JobsMessage(at.Name)); err != nil {
			return err
		}
	}
	if !at.Live {
		return nil
	}
	s, err := r.Teams.Survey(ctx, at)
	if err != nil {
		return err
	}
	if err := r.jobs(ctx, at, s); err != nil {
		return err
	}
	due, err := audit.ArchiveDue(ctx, s.Table, r.Now())
	if err != nil {
		return err
	}
	if due || s.CompactDue {
		if err := r.send(ctx, job.Message{V: 1, Kind: TenantKind, Tenant: at.Name}); err != nil {
			return err
		}
	}
	for _, e := range s.Vaults {
		if err := r.entry(ctx, s, e); err != nil {
			return err
		}
	}
	return nil
}

// jobs queues the overdue jobs of a tenant, and its erasures without jobs.
func (r *run) jobs(ctx context.Context, at tenant.RegisteredTenant, s *tenant.Survey) error {
	if s.Adopts && !at.Erasing {
		if err := r.send(ctx, tenant.JobsMessage(at.Name)); err != nil {
			return err
		}
	}
	for i := range s.Jobs {
		it := &s.Jobs[i]
		if !it.Overdue(r.Now(), jobLate) {
			continue
		}
		m := job.Message{V: 1, Kind: it.Kind, Tenant: at.Name, Vault: it.Target.Vault, Job: it.ID}
		if err := r.send(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// entry examines one vault. It returns errors of send, and logs others.
func (r *run) entry(ctx context.Context, s *tenant.Survey, e tenant.Entry) error {
	f, err := s.Followed(e)
	var kinds []string
	if err == nil {
		kinds, err = r.due(ctx, f, e)
	}
	if err != nil && !repo.Gone(err) {
		r.Log.ErrorContext(ctx, "a vault could not be looked at", slog.String("vault", e.Name), slog.Any("cause", err))
	}
	for _, kind := range kinds {
		err := r.send(ctx, job.Message{V: 1, Kind: kind, Tenant: f.Tenant, Vault: f.Name, Incarnation: f.Incarnation})
		if err != nil {
			return err
		}
	}
	return nil
}

// due returns the kinds of the messages that a vault needs, from its control item, and from whether
// the log is ahead of the cursor of the files.
func (r *run) due(ctx context.Context, f tenant.FollowedVault, e tenant.Entry) (kinds []string, err error) {
	now := r.Now().UTC()
	if e.ClearDue(now) {
		return []string{stream.ClearKind}, nil
	}
	if e.Status != eventlog.Active {
		return nil, nil
	}
	c, err := f.Vault.Control(ctx)
	if err != nil {
		return nil, err
	}
	since, behind, err := f.Vault.BehindSince(ctx, files(&c))
	if err != nil { // the control item is valid nevertheless
		behind = false
	}
	if behind && now.Sub(since) >= filesLate || files(&c) < c.Low {
		kinds = append(kinds, stream.FilesKind)
	}
	if foldDue(&c, now) {
		kinds = append(kinds, stream.CompactKind)
	}
	if c.Noticed != nil && now.Sub(c.Noticed.At) >= closeLate {
		kinds = append(kinds, ingest.CloseKind)
	}
	if now.Sub(swept(&c)) >= sweepEvery {
		kinds = append(kinds, ingest.SweepKind)
	}
	return kinds, err
}

// files returns the version up to which the files are written.
func files(c *repo.Control) uint64 { return c.Cursors[repo.FilesCursor].Seq }

// foldDue reports whether a pass is due that no message starts: its message was lost, the audit log
// is behind the files, or the pass is due by time only.
func foldDue(c *repo.Control, now time.Time) bool {
	switch {
	case c.Passing.Held(now):
		return false
	case !c.FoldDue.IsZero():
		return now.Sub(c.FoldDue) >= foldLate
	}
	return c.Cursors[repo.AuditCursor].Seq < files(c) || c.PassDue(stream.Cursors(), now)
}

// swept returns when the files were last compared with the log, or else when the log was created.
func swept(c *repo.Control) time.Time {
	if c.Sweep == nil {
		return c.Made
	}
	return c.Sweep.At
}
