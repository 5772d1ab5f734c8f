package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A tenantEraseIn is the input of team_tenant_erase. Confirm repeats the name of the tenant; only a
// dry run can omit it.
type tenantEraseIn struct {
	// name of the tenant, as team_whoami returns it, because an erasure cannot be undone; optional
	// with dry_run
	Confirm string `json:"confirm" unless:"dry" max:"63"`
	tool.Mutation
}

// A tenantEraseOut is the output of team_tenant_erase. Action, Name and Receipt are set when
// everything that existed is destroyed; until then the output contains only the job. WouldDelete is
// the receipt of a dry run.
type tenantEraseOut struct {
	tool.Aside `json:"-"`
	// deleted
	Action string `json:"action,omitempty"`
	// of the tenant
	Name    string   `json:"name,omitempty"`
	Receipt *receipt `json:"receipt,omitempty"`
	// the job that erases; without a receipt while it runs. It waits for the last sweep, an hour
	// later
	Job *job.Brief `json:"job,omitempty"`

	DryRun      bool     `json:"dry_run,omitempty"`
	WouldDelete *receipt `json:"would_delete,omitempty"`
}

// tenantErase returns the tool that erases the tenant: all vaults, tokens, members, issuers and
// other data.
func (f tools) tenantErase() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_tenant_erase", Family: Family, Title: "Erase a tenant",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/tenant/erase"},
		Commands: []tool.Command{{Words: "tenant erase"}},
		Job:      mutation.JobTool,
		Asks: []tool.Ask{{
			Question: "Permanently erase the whole tenant: every vault with its history, members, tokens and the audit?",
			Confirm:  "confirm", What: "the name of the tenant",
		}},
	}, f.eraseTenant)
}

// eraseTenant erases the tenant of the caller. The token of the caller is no longer valid when the
// answer is sent. So the caller cannot ask for the state of the job later, unless it gets a token
// of a new tenant with the same name; see tools.jobOf.
//
// The confirmation protects against a call with the token of another tenant: the name in it must be
// that of the tenant to which the token belongs.
func (f tools) eraseTenant(
	ctx context.Context, c auth.Caller, in tenantEraseIn,
) (tenantEraseOut, error) {
	call, err := mutation.Call(c, &in.Mutation, Family)
	if err != nil {
		return tenantEraseOut{}, err
	}
	if !confirmed(&in.Mutation, in.Confirm, c.Tenant) {
		return tenantEraseOut{}, fault.New(fault.InvalidParameter, "confirm must be the name of the tenant").
			With("argument", "confirm").Try("team_whoami", nil)
	}
	done, err := f.teams.Erase(ctx, call, c.Tenant)
	if err != nil {
		return tenantEraseOut{}, err
	}
	out := tenantEraseOut{Job: done.Job}
	switch {
	case in.DryRun:
		out = tenantEraseOut{DryRun: true, WouldDelete: receiptOf(done.Receipt)}
	case done.Swept:
		out.Action, out.Name, out.Receipt = "deleted", c.Tenant, receiptOf(done.Receipt)
	}
	if done.Replayed {
		out.Note("replayed", true)
	}
	return out, nil
}
