package team

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
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
}

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
	if err != nil {
		return auditVerifyOut{}, err
	}
	out := auditVerifyOut{
		Verified: true, Commits: done.Version, AuditLog: "none",
	}
	if file != nil {
		out.AuditLog = "verified"
	}
	out.Note("version", repo.Version(done.Version))
	return out, nil
}

// auditFile is the audit log in the folder of a vault; nil where there are no folders.
func auditFile(ctx context.Context, t *team.Team, name string) (*repo.AuditFile, error) {
	folder, err := t.Folder(ctx, name)
	if err != nil || folder == nil {
		return nil, err
	}
	return folder.AuditFile(ctx)
}
