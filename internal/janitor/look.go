package janitor

import (
	"context"
	"log/slog"
	"time"

	"rookery/internal/audit"
	"rookery/internal/ingest"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/stream"
	"rookery/internal/team"
)

// How late something may be before its message counts as lost.
const (
	jobLate   = time.Minute
	closeLate = time.Minute
	foldLate  = 2 * time.Minute
	filesLate = 5 * time.Minute
)

// sweepEvery is how often the files of a vault are compared with its log.
const sweepEvery = 24 * time.Hour

// tenant looks at one tenant, and at its vaults.
func (r *run) tenant(ctx context.Context, at team.Registered) error {
	if at.Erasing {
		if err := r.send(ctx, team.JobsMessage(at.Name)); err != nil {
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
	if due || s.FoldDue {
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

// jobs asks for the jobs that should have gone on by now, and for those of erasures that have none.
func (r *run) jobs(ctx context.Context, at team.Registered, s *team.Survey) error {
	if s.Adopts && !at.Erasing {
		if err := r.send(ctx, team.JobsMessage(at.Name)); err != nil {
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

// entry looks at one vault. The error is that of send; another one is logged.
func (r *run) entry(ctx context.Context, s *team.Survey, e team.Entry) error {
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

// due are the kinds of the messages that a vault needs: by its control item, and by whether the log has more than the
// cursor of the files says.
func (r *run) due(ctx context.Context, f team.Followed, e team.Entry) (kinds []string, err error) {
	now := r.Now().UTC()
	if e.ClearDue(now) {
		return []string{stream.ClearKind}, nil
	}
	if e.Status != repo.Active {
		return nil, nil
	}
	c, err := f.Vault.Control(ctx)
	if err != nil {
		return nil, err
	}
	since, behind, err := f.Vault.BehindSince(ctx, files(&c))
	if err != nil { // what the control item says is true all the same
		behind = false
	}
	if behind && now.Sub(since) >= filesLate || files(&c) < c.Low {
		kinds = append(kinds, stream.FilesKind)
	}
	if foldDue(&c, now) {
		kinds = append(kinds, stream.FoldKind)
	}
	if c.Noticed != nil && now.Sub(c.Noticed.At) >= closeLate {
		kinds = append(kinds, ingest.CloseKind)
	}
	if now.Sub(swept(&c)) >= sweepEvery {
		kinds = append(kinds, ingest.SweepKind)
	}
	return kinds, err
}

// files returns the version up to which the files are in step with the log.
func files(c *repo.Control) uint64 { return c.Cursors[repo.FilesCursor].Seq }

// foldDue reports whether a pass is due that no message makes: the one that was asked for has not come, the audit log
// has not all that the files have, or only time has made one due.
func foldDue(c *repo.Control, now time.Time) bool {
	switch {
	case c.Passing.Held(now):
		return false
	case !c.FoldDue.IsZero():
		return now.Sub(c.FoldDue) >= foldLate
	}
	return c.Cursors[repo.AuditCursor].Seq < files(c) || c.PassDue(stream.Cursors(), now)
}

// swept returns when the files were compared with the log, or were in step for the first time; else when the log was made.
func swept(c *repo.Control) time.Time {
	if c.Sweep == nil {
		return c.Made
	}
	return c.Sweep.At
}
