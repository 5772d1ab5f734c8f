// Package team has the tools of the team family: who calls, and the vaults of a tenant
// (CONTRACT §4, team).
package team

import (
	"context"

	"rookery/internal/auth"
	"rookery/internal/fault"
	"rookery/internal/repo"
	"rookery/internal/team"
	"rookery/internal/tool"
)

// Family is what the tools have in common.
var Family = &tool.Family{
	Name: "team", Base: "/v1",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter,
	Several: fault.InvalidParameter,
}

// Tools are the tools of the family, over these tenants.
func Tools(t *team.Teams) []*tool.Tool {
	f := tools{t}
	return []*tool.Tool{
		f.whoami(), f.vaultList(), f.vaultCreate(), f.vaultDelete(), f.vaultRestore(),
		f.vaultImport(), f.vaultExport(), f.auditVerify(), f.complete(),
	}
}

type tools struct{ teams *team.Teams }

// vault is the vault of a call.
func (f tools) vault(ctx context.Context, c auth.Caller, name string) (*repo.Vault, error) {
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return t.Vault(ctx, name)
}
