package team

import (
	"context"
	_ "embed"

	"rookery/internal/audit"
	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/team"
	"rookery/internal/tool"
)

//go:embed audit_verify.md
var auditVerifyDoc string

type auditVerifyIn struct {
	tool.Vault
}

type auditVerifyOut struct {
	tool.Aside `json:"-"`
	Verified   bool   `json:"verified" jsonschema:"always true: what does not verify is an error"`
	Commits    uint64 `json:"commit_count" jsonschema:"of the log, all of which were read"`
	AuditLog   string `json:"audit_log" jsonschema:"verified, or none where the vault has no folder"`

	Tenant   string  `json:"tenant" jsonschema:"verified, or none for who is no admin of all vaults"`
	Changes  *uint64 `json:"tenant_commit_count,omitempty" jsonschema:"of the tenant's own log, all of which were read"`
	Refusals *int    `json:"refusal_count,omitempty" jsonschema:"archived entries of refused calls, all of which were read"`
}

// The words for what was verified.
const (
	verified = "verified"
	none     = "none"
)

func (f tools) auditVerify() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_audit_verify", Family: Family, Title: "Verify the history",
		Doc: auditVerifyDoc, Role: auth.Admin, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/audit/verify"},
		Commands: []tool.Command{{Words: "audit verify"}},
	}, f.verifyAudit)
}

func (f tools) verifyAudit(
	ctx context.Context, c auth.Caller, in auditVerifyIn,
) (auditVerifyOut, error) {
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return auditVerifyOut{}, err
	}
	v, err := t.Vault(ctx, in.Vault.Vault)
	if err != nil {
		return auditVerifyOut{}, err
	}
	file, err := auditFile(ctx, t, in.Vault.Vault)
	if err != nil {
		return auditVerifyOut{}, err
	}
	done, err := v.Verify(ctx, file)
	out := auditVerifyOut{Verified: true, Commits: done.Version, AuditLog: none, Tenant: none}
	if file != nil {
		out.AuditLog = verified
	}
	if c.Role(auth.AllVaults).Allows(auth.Admin) {
		err = both(err, out.verifyTenant(ctx, t))
	}
	if err != nil {
		return auditVerifyOut{}, err
	}
	out.Note("version", repo.Version(done.Version))
	return out, nil
}

// verifyTenant verifies what belongs to no vault: the tenant's own log, and that of refused calls.
func (out *auditVerifyOut) verifyTenant(ctx context.Context, t *team.Team) error {
	changes, err := t.VerifyLog(ctx)
	if fault.Is(err, fault.IndexError) {
		err = fault.Of(err).With("log", "tenant")
	}
	refusals, failed := audit.Of(t).Verify(ctx)
	out.Tenant, out.Changes, out.Refusals = verified, &changes, &refusals
	return both(err, failed)
}

// both is what is damaged, of two things that were verified. That one cannot be read goes before.
func both(errs ...error) error {
	var found []*fault.Fault
	for _, err := range errs {
		switch {
		case err == nil:
		case fault.Is(err, fault.IndexError), fault.Is(err, fault.FileError):
			found = append(found, fault.Of(err))
		default:
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fault.Join(fault.IndexError, found)
}

// auditFile is the audit log in the folder of a vault; nil where there are no folders.
func auditFile(ctx context.Context, t *team.Team, name string) (*repo.AuditFile, error) {
	folder, err := t.Folder(ctx, name)
	if err != nil || folder == nil {
		return nil, err
	}
	return folder.AuditFile(ctx)
}
