package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A vaultSetIn is the input of team_vault_set. Nil fields are not changed. ReadOnly forbids all
// writes to the vault; Secrets decides about texts that look like secrets: flag adds a warning,
// refuse is a fault, and off ignores them.
type vaultSetIn struct {
	// name of the vault
	Name string `json:"name" max:"63" complete:"vault"`
	// true makes the contents read-only
	ReadOnly *bool `json:"readonly,omitempty" absent:"as it was"`
	// handling of text that looks like a secret: flag writes it with a warning, refuse does not
	// write it, off does not check
	Secrets *tenant.Secrets `json:"secrets,omitempty" enum:"flag,refuse,off" absent:"as it was"`
	tool.Mutation
}

// vaultSet returns the tool that changes the settings of a vault.
func (f tools) vaultSet() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_set", Family: Family, Title: "Change a vault's settings",
		Flags: map[string]string{"readonly": "vault-readonly"},
		Role:  auth.Admin, Kind: tool.Write, Idempotent: true, Subject: "name",
		Route:    tool.Route{Method: "PATCH", Path: "/vaults/{name}"},
		Commands: []tool.Command{{Words: "vault set", Args: []string{"name"}}},
	}, f.setVault)
}

// setVault changes the settings of a vault. A setting that is not given stays as it is. A call
// without any setting is INVALID_PARAMETER. If nothing differs, the action is unchanged.
//
// The same tool makes a vault writable again: a vault that is read-only can still be changed by it,
// because the setting is part of the log of the tenant.
func (f tools) setVault(
	ctx context.Context, c auth.Caller, in vaultSetIn,
) (vaultOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return vaultOut{}, err
	}
	if in.ReadOnly == nil && in.Secrets == nil {
		return vaultOut{}, fault.New(fault.InvalidParameter,
			"give a setting: readonly or secrets").
			With("available", []string{"readonly", "secrets"})
	}
	setting := tenant.Setting{Name: in.Name, ReadOnly: in.ReadOnly, Secrets: in.Secrets}
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		return t.Set(ctx, call, setting, func(e tenant.Entry, changed bool) any {
			return keep(changedOut(e, changed, in.DryRun, "updated"))
		})
	})
}
