package team

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A vaultCreateIn is the input of team_vault_create. Without Config, the vault has no settings
// file, and the defaults apply.
type vaultCreateIn struct {
	// a to z, 0 to 9 and -, not beginning with -
	Name string `json:"name" max:"63"`
	// settings of the vault
	Config *vaultConfig `json:"config,omitempty"`
	tool.Mutation
}

// vaultConfig are the settings in `rookery.yaml`: those that the Raven format does not define. An
// empty setting has its default.
type vaultConfig struct {
	// an IANA name such as Europe/Oslo; default UTC
	Timezone string `json:"timezone,omitempty"`
	// monday or sunday; default monday
	WeekStart string `json:"week_start,omitempty"`
	// language of the notes, for search: german or de; default english
	Language string `json:"language,omitempty"`
}

// vaultOut is the output of the tools that change a vault as a whole. Vault is the vault after the
// change, and one of the three Would fields that of a dry run. LeftFiles is set only by
// team_vault_create.
//
// The version in the metadata of the answer is that of the tenant, not of the vault.
type vaultOut struct {
	tool.Aside `json:"-"`
	// created, updated, deleted, restored or unchanged
	Action      string    `json:"action,omitempty"`
	Vault       *vaultRow `json:"vault,omitempty"`
	DryRun      bool      `json:"dry_run,omitempty"`
	WouldCreate *vaultRow `json:"would_create,omitempty"`
	WouldDelete *vaultRow `json:"would_delete,omitempty"`
	WouldUpdate *vaultRow `json:"would_update,omitempty"`
	// files of an earlier vault of this name that were changed outside: they are left unchanged and
	// are not notes
	LeftFiles []string `json:"left_files,omitempty"`
}

// changedOut returns the output of a tool that changes an existing vault. If the vault was not
// changed, the action is "unchanged". A dry run reports an update also if nothing would change.
func changedOut(e tenant.Entry, changed, dryRun bool, action string) vaultOut {
	switch {
	case dryRun:
		return vaultOut{DryRun: true, WouldUpdate: entryRow(e)}
	case changed:
		return vaultOut{Action: action, Vault: entryRow(e)}
	}
	return vaultOut{Action: "unchanged", Vault: entryRow(e)}
}

// vaultCreate returns the tool that creates a vault.
func (f tools) vaultCreate() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_create", Family: Family, Title: "Create a vault",
		Role: auth.Admin, Kind: tool.Write, Subject: "name", Makes: true,
		Route:    tool.Route{Method: "POST", Path: "/vaults"},
		Commands: []tool.Command{{Words: "vault create", Args: []string{"name"}}},
	}, f.createVault)
}

// createVault creates a vault with the given settings. LeftFiles of the output are files of an
// earlier vault of the name that were changed outside: they stay in the folder, and are not notes.
// A name in use is a fault, also if that vault is in the trash. The settings are a file of the
// first commit, so the version of the new vault is 1.
func (f tools) createVault(
	ctx context.Context, c auth.Caller, in vaultCreateIn,
) (vaultOut, error) {
	t, call, err := f.mutation(ctx, c, &in.Mutation)
	if err != nil {
		return vaultOut{}, err
	}
	files, err := in.Config.files()
	if err != nil {
		return vaultOut{}, err
	}
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		made := tenant.NewVault{Name: in.Name, Files: files}
		return t.Create(ctx, call, made, func(e tenant.Entry) any {
			row := entryRow(e)
			row.Version = eventlog.Version(1)
			if in.DryRun {
				return keep(vaultOut{DryRun: true, WouldCreate: row})
			}
			return keep(vaultOut{Action: "created", Vault: row, LeftFiles: e.Left})
		})
	})
}

// files returns the first files of a vault with these settings, or nil if there are no settings. It
// returns a fault if a setting is invalid. c can be nil.
func (c *vaultConfig) files() ([]eventlog.Note, error) {
	if c == nil || *c == (vaultConfig{}) {
		return nil, nil
	}
	s := vault.Settings{Timezone: c.Timezone, WeekStart: c.WeekStart, Language: c.Language}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return []eventlog.Note{{Path: vault.ConfigRookery, Text: s.Text()}}, nil
}
