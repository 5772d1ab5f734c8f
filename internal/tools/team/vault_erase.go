package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A vaultEraseIn is the input of team_vault_erase. Confirm repeats the name of the vault; only a
// dry run can omit it.
type vaultEraseIn struct {
	// name of the vault, in the trash or not
	Name string `json:"name" max:"63" complete:"vault"`
	// the name of the vault again, because an erasure cannot be undone; optional with dry_run
	Confirm string `json:"confirm" unless:"dry" max:"63"`
	tool.Mutation
}

// A vaultEraseOut is the output of team_vault_erase. Action, Name and Receipt are set when
// everything that existed is destroyed; until then the output contains only the job. WouldDelete is
// the receipt of a dry run.
type vaultEraseOut struct {
	tool.Aside `json:"-"`
	// deleted
	Action  string   `json:"action,omitempty"`
	Name    string   `json:"name,omitempty"`
	Receipt *receipt `json:"receipt,omitempty"`
	// the job that erases; without a receipt while it runs. It waits for the last sweep, an hour
	// later, after which the name is free
	Job *job.Brief `json:"job,omitempty"`

	DryRun      bool     `json:"dry_run,omitempty"`
	WouldDelete *receipt `json:"would_delete,omitempty"`
}

// A receipt counts the data that an erasure destroyed: items of the database, objects of the
// storage, and files of the folder, with their bytes. Left is the number of files in the folder
// that no version of the vault had, which are kept. Expires lists the data that remains for a time,
// with the end of that time; none of it is text.
type receipt struct {
	// of the database
	Items int `json:"items"`
	// of the store: segments, images and payloads
	Objects int `json:"objects"`
	// in the folder of the vault
	Files int `json:"files"`
	// in all of these
	Bytes int64 `json:"bytes"`
	// files in the folder that were in no version of the vault: they stay
	Left int `json:"left"`
	// what remains for a time; it contains no text
	Expires []eventlog.Rest `json:"expires"`
}

// receiptOf converts a receipt. Expires is never nil, so that it is a JSON array.
func receiptOf(r tenant.Receipt) *receipt {
	return &receipt{
		r.Items, r.Objects, r.Files, r.Bytes, r.Left, append([]eventlog.Rest{}, r.Expires...),
	}
}

// confirmed reports whether a call repeats the name want as its confirmation. A dry run may omit
// the confirmation.
func confirmed(m *tool.Mutation, said, want string) bool {
	return said == want || said == "" && m.Dry()
}

// vaultErase returns the tool that erases a vault with its history. The vault can be active or in
// the trash. It cannot be undone.
func (f tools) vaultErase() *tool.Tool {
	return changeTool(f, tool.Spec{
		Name: "team_vault_erase", Family: Family, Title: "Erase a vault",
		Role: auth.Admin, Kind: tool.Destroy, Idempotent: true, Tenant: true,
		Route:    tool.Route{Method: "POST", Path: "/vaults/erase"},
		Commands: []tool.Command{{Words: "vault erase", Args: []string{"name"}}},
		Job:      mutation.JobTool,
		Asks: []tool.Ask{{
			Question: "Permanently erase the vault {name} with its whole history?", Confirm: "confirm", Of: "name",
		}},
	}, f.eraseVault)
}

// eraseVault erases a vault with its history. The erasure is a job: while it runs, the output
// contains only the job. A repeated call gets the same answer, with replayed in the metadata.
func (f tools) eraseVault(ctx context.Context, w change, in vaultEraseIn) (vaultEraseOut, error) {
	if !confirmed(&in.Mutation, in.Confirm, in.Name) {
		return vaultEraseOut{}, fault.New(fault.InvalidParameter, "confirm must be the name of the vault").
			With("argument", "confirm").Fix("set confirm: %q to erase the vault permanently", in.Name)
	}
	done, err := w.tenant.Erase(ctx, w.call, in.Name)
	if err != nil {
		return vaultEraseOut{}, err
	}
	out := vaultEraseOut{Job: done.Job}
	switch {
	case in.DryRun:
		out = vaultEraseOut{DryRun: true, WouldDelete: receiptOf(done.Receipt)}
	case done.Swept:
		out.Action, out.Name, out.Receipt = "deleted", in.Name, receiptOf(done.Receipt)
	}
	out.Note("version", eventlog.Version(done.Seq))
	if done.Replayed {
		out.Note("replayed", true)
	}
	return out, nil
}

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
