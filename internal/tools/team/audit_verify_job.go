package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// auditVerify is the kind of the job that verifies a history.
const auditVerify = "audit_verify"

// A verifyInput is the input of the job, in addition to its target. It records the permission that
// the caller had when it started the job.
type verifyInput struct {
	Tenant bool `json:"tenant"` // verify the tenant's own log and its refused calls too
}

// A verifyState is the stored state of the job between its steps: the result so far, and the problems
// found so far.
type verifyState struct {
	VerifiedHistory
	Problems []*fault.Fault `json:"problems,omitempty"`
}

// Jobs returns the kinds of jobs of this family, for one tenant. Each step reads the state of the
// job before it and stores its own. A step that is repeated after a crash computes the same again.
// The job changes nothing, so it can be cancelled at any time.
func Jobs(t *tenant.Tenant) []job.Kind {
	step := func(
		name string, do func(*verifyState, context.Context, *tenant.Tenant, *job.Run) error,
	) job.Step {
		return job.Step{Name: name, Do: func(ctx context.Context, r *job.Run) error {
			var v verifyState
			if err := r.Result(&v); err != nil {
				return err
			}
			if err := do(&v, ctx, t, r); err != nil {
				return err
			}
			return r.Set(v)
		}}
	}
	return []job.Kind{{
		Name: auditVerify, Stops: job.Anytime,
		Steps: []job.Step{
			step("vault", (*verifyState).vault), step("tenant", (*verifyState).tenant),
		},
	}}
}

// vault verifies the log of the vault and, if the vault has files, the audit log among them. It is
// the first step, so it replaces the whole state.
func (v *verifyState) vault(ctx context.Context, t *tenant.Tenant, r *job.Run) error {
	name := r.Item.Target.Vault
	log, err := t.Vault(ctx, name)
	if err != nil {
		return err
	}
	file, err := t.AuditFile(ctx, name)
	if err != nil {
		return err
	}
	done, err := log.Verify(ctx, file)
	v.VerifiedHistory = VerifiedHistory{Verified: true, Commits: done.Version, AuditLog: none, Tenant: none}
	if file != nil {
		v.AuditLog = verified
	}
	return v.note(err)
}

// tenant verifies the tenant's own log and the log of refused calls, if the input requests it. As
// the last step, it returns all problems found as one INDEX_ERROR fault. A problem of the tenant's
// own log is marked with log: tenant, because the message alone does not distinguish the logs.
//
// A failed verification does not end the step before its end, so that one job reports the problems
// of all logs. The job then fails, with these problems as its fault.
func (v *verifyState) tenant(ctx context.Context, t *tenant.Tenant, r *job.Run) error {
	var in verifyInput
	if err := r.Input(&in); err != nil {
		return err
	}
	if in.Tenant {
		changes, err := t.VerifyLog(ctx)
		if fault.Is(err, fault.IndexError) {
			err = fault.Of(err).With("log", "tenant")
		}
		if err := v.note(err); err != nil {
			return err
		}
		refusals, err := audit.RefusalsOf(t).Verify(ctx)
		if err := v.note(err); err != nil {
			return err
		}
		v.Tenant, v.Changes, v.Refusals = verified, &changes, &refusals
	}
	if f := fault.Join(fault.IndexError, v.Problems); f != nil {
		return f
	}
	return nil
}

// note records err as a problem if it reports a failed verification (INDEX_ERROR or FILE_ERROR). It
// returns every other error, because then the verification could not be done.
func (v *verifyState) note(err error) error {
	switch {
	case err == nil:
	case fault.Is(err, fault.IndexError), fault.Is(err, fault.FileError):
		v.Problems = append(v.Problems, fault.Of(err))
	default:
		return err
	}
	return nil
}
