package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
)

// A vaultNameIn is the input of the tools that need only the name of a vault: team_vault_delete and
// team_vault_restore.
type vaultNameIn struct {
	// name of the vault
	Name string `json:"name" max:"63" complete:"vault"`
	tool.Mutation
}

// vaultDelete returns the tool that moves a vault to the trash. Nothing is destroyed:
// team_vault_restore takes the vault out again, within team.TrashLife.
func (f tools) vaultDelete() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_delete", Family: Family, Title: "Delete a vault",
		Role: auth.Admin, Kind: tool.Destroy, Subject: "name",
		Route:    tool.Route{Method: "DELETE", Path: "/vaults/{name}"},
		Commands: []tool.Command{{Words: "vault delete", Args: []string{"name"}}},
	}, f.deleteVault)
}

// deleteVault moves a vault to the trash, where it keeps its name. An unknown name is NOT_FOUND.
func (f tools) deleteVault(
	ctx context.Context, c auth.Caller, in vaultNameIn,
) (vaultOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return vaultOut{}, err
	}
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		return t.Trash(ctx, call, in.Name, func(e tenant.Entry) any {
			if in.DryRun {
				return keep(vaultOut{DryRun: true, WouldDelete: entryRow(e)})
			}
			return keep(vaultOut{Action: "deleted", Vault: entryRow(e)})
		})
	})
}

// vaultRestore returns the tool that takes a vault out of the trash.
func (f tools) vaultRestore() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_restore", Family: Family, Title: "Restore a vault",
		Role: auth.Admin, Kind: tool.Write, Idempotent: true, Subject: "name",
		Route:    tool.Route{Method: "POST", Path: "/vaults/restore"},
		Commands: []tool.Command{{Words: "vault restore", Args: []string{"name"}}},
	}, f.restoreVault)
}

// restoreVault takes a vault out of the trash. A vault that is not in the trash is returned with
// the action unchanged.
func (f tools) restoreVault(
	ctx context.Context, c auth.Caller, in vaultNameIn,
) (vaultOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return vaultOut{}, err
	}
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		return t.Restore(ctx, call, in.Name, func(e tenant.Entry, changed bool) any {
			return keep(changedOut(e, changed, in.DryRun, "restored"))
		})
	})
}
