package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// An auditVerifyIn is the input of team_audit_verify.
type auditVerifyIn struct {
	tool.Vault
}

// An auditVerifyOut is the output of team_audit_verify: the result, or the job if it takes longer
// than the call. A verification that found problems is not an output but a fault, which lists them.
type auditVerifyOut struct {
	tool.Aside       `json:"-"`
	*VerifiedHistory // nil while the job runs

	// the job that verifies; the only member while it runs
	Job *job.Brief `json:"job,omitempty"`
}

// VerifiedHistory is the result of a verification that found no problem. Commits is the version of
// the vault up to which its log was read. AuditLog and Tenant are verified, or none if there was
// nothing to verify or no permission to do so; Changes and Refusals are nil then.
type VerifiedHistory struct {
	// always true: a failed verification is an error
	Verified bool `json:"verified"`
	// of the log, all of which were read
	Commits uint64 `json:"commit_count"`
	// verified, or none if the vault has no folder
	AuditLog string `json:"audit_log"`

	// verified, or none if the caller is not an admin of all vaults
	Tenant string `json:"tenant"`
	// of the tenant's own log, all of which were read
	Changes *uint64 `json:"tenant_commit_count,omitempty"`
	// archived entries of refused calls, all of which were read
	Refusals *int `json:"refusal_count,omitempty"`
}

// The values of AuditLog and Tenant of a VerifiedHistory.
const (
	verified = "verified"
	none     = "none"
)

// auditVerify returns the tool that verifies the history of a vault: the digests and the chain of
// the commits of its log, and the audit log among its files.
//
// It reads the whole log, so for a large vault it takes longer than a call may. It changes nothing.
func (f tools) auditVerify() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_audit_verify", Family: Family, Title: "Verify the history",
		Role: auth.Admin, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/audit/verify"},
		Commands: []tool.Command{{Words: "audit verify"}}, Job: mutation.JobTool,
	}, f.verifyAudit)
}

// verifyAudit starts the job that verifies the history of the vault, and returns its result if the
// job ends within the call. Otherwise it returns the job. The log of the tenant is verified too if
// the caller is an admin of all vaults. That the vault exists is checked first, so that a wrong
// name creates no job.
func (f tools) verifyAudit(
	ctx context.Context, c auth.Caller, in auditVerifyIn,
) (auditVerifyOut, error) {
	t, err := f.teams.Tenant(ctx, c.Tenant)
	if err != nil {
		return auditVerifyOut{}, err
	}
	if _, err := t.Vault(ctx, in.Vault.Vault); err != nil {
		return auditVerifyOut{}, err
	}
	it, err := t.Jobs().Start(ctx, job.Request{
		Kind: auditVerify, Target: job.Target{Vault: in.Vault.Vault}, By: tenant.JobBy(mutation.Who(c)),
		Input: verifyInput{Tenant: c.Role(auth.AllVaults).Allows(auth.Admin)},
	}, nil)
	if err != nil {
		return auditVerifyOut{}, err
	}
	var out auditVerifyOut
	if out.VerifiedHistory, out.Job, err = mutation.JobResult[VerifiedHistory](it); out.VerifiedHistory != nil {
		out.Note("version", eventlog.Version(out.Commits))
	}
	return out, err
}
