package team

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A vaultRow is one vault of a list. Version and Notes are absent for a vault that was not opened,
// such as one in the trash. Refused is the reason why an active vault could not be opened, or
// empty. Until is the time until which a vault in the trash can be restored.
type vaultRow struct {
	Name string `json:"name"`
	// absent while the vault is in the trash
	Version string `json:"version,omitempty"`
	// number of notes
	Notes    *int `json:"notes,omitempty"`
	ReadOnly bool `json:"readonly"`
	// handling of text that looks like a secret: flag, refuse or off
	Secrets string `json:"secrets"`
	// active, or trashed
	State eventlog.Status `json:"state"`
	// why the vault cannot be read now: memory, it does not fit into that of the server
	Refused string `json:"refused,omitempty"`
	// for a vault in the trash: the end of the time in which it can be restored; then its name is
	// free
	Until *string `json:"restorable_until,omitempty" format:"date-time"`
}

// refused reports whether the vault could not be opened because of the memory limit.
func (r vaultRow) refused() bool { return r.Refused != "" }

// vaultList returns the tool that lists the vaults that the caller can see, sorted by name.
func (f tools) vaultList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_list", Family: Family, Title: "List vaults",
		Role: auth.Anyone, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/vaults"},
		Commands: []tool.Command{{Words: "vault list"}, {Words: "vaults"}},
		Columns:  []string{"name", "version", "notes", "readonly", "state", "restorable_until"},
		Empty: []tool.Empty{
			{Of: "vaults", Tool: "team_vault_create", Args: map[string]string{"name": "notes"}},
		},
	}, f.listVaults)
}

// listVaults returns one page of the vaults that the caller can see. The page is determined from
// the log of the tenant, and only its vaults are opened, several at once; see forEach.
func (f tools) listVaults(
	ctx context.Context, c auth.Caller, in listIn,
) (listOut[vaultRow], error) {
	out := listOut[vaultRow]{Items: []vaultRow{}}
	t, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	entries, err := listing[tenant.Entry, tenant.Entry]{
		visible(c, s.Vaults(), t.Now()), func(e tenant.Entry) string { return e.Name },
		func(e tenant.Entry) tenant.Entry { return e },
	}.page(&out.Aside, in.Page)
	if err != nil {
		return out, err
	}
	out.Items, err = forEach(entries, func(e tenant.Entry) (vaultRow, error) { return rowOf(ctx, t, e) })
	if err != nil {
		return out, err
	}
	versionFor(c, &out.Aside, seq)
	return out, nil
}

// visible returns the vaults that the caller can see: the active ones that it can read, and those
// in the trash that it can restore as an admin, until their names are free. The order is that of
// all.
//
// A vault that the caller cannot read is not listed at all, so its name stays unknown to the
// caller.
func visible(c auth.Caller, all []tenant.Entry, now time.Time) []tenant.Entry {
	var seen []tenant.Entry
	for _, e := range all {
		need := auth.Reader
		if e.Status != eventlog.Active {
			need = auth.Admin
		}
		if c.Role(e.Name).Allows(need) && !e.Gone(now) {
			seen = append(seen, e)
		}
	}
	return seen
}

// rowOf returns the row of a vault. It opens the vault if it is active. A vault that does not fit
// into memory has a row with the reason. One that was moved to the trash in the meantime is listed
// as trashed.
func rowOf(ctx context.Context, t *tenant.Tenant, e tenant.Entry) (vaultRow, error) {
	row := *entryRow(e)
	if e.Status != eventlog.Active {
		return row, nil
	}
	idx, err := newestIndex(ctx, t, e.Name)
	switch {
	case tenant.InMemory(err):
		row.Refused = tenant.ReasonMemory
		return row, nil
	case fault.Is(err, fault.NotFound): // the log of the vault is in the trash; that of the tenant follows
		row.State = eventlog.Trashed
		return row, nil
	case err != nil:
		return row, err
	}
	row.Version, row.Notes = eventlog.Version(idx.Version()), new(idx.Totals().Notes)
	return row, nil
}

// newestIndex returns the newest index of a vault. The vault is not kept open. The index stays
// valid, because it is immutable; it must not be used to read texts.
func newestIndex(ctx context.Context, t *tenant.Tenant, name string) (*index.Index, error) {
	ctx, done := context.WithCancel(ctx) // release the memory: the next vault may need it
	defer done()
	v, err := t.Vault(ctx, name)
	if err != nil {
		return nil, err
	}
	return v.Read(ctx)
}

// entryRow returns the part of a row that is in the tenant's log, without opening the vault.
// Version and Notes are absent. The default for secrets is team.Flag.
func entryRow(e tenant.Entry) *vaultRow {
	row := &vaultRow{
		Name: e.Name, ReadOnly: e.ReadOnly, Secrets: string(cmp.Or(e.Secrets, tenant.Flag)),
		State: e.Status,
	}
	if !e.Trashed.IsZero() {
		row.Until = timeOrNil(e.Trashed.Add(tenant.TrashLife))
	}
	return row
}

// manyOpen is the maximum number of vaults that a call reads at once. The limit bounds the memory
// and the requests of one call.
const manyOpen = 16

// A row describes one vault. refused reports whether the vault could not be opened because of the
// memory limit.
//
// The tools that list vaults and report usage have a row type each, whose error of this kind is a
// value of the row and not an error of the call.
type row interface{ refused() bool }

// forEach returns the row that of returns for each element of all, in order. It runs at most
// manyOpen calls of of at once. A refused row is requested a second time after all calls are done,
// one vault at a time, because the other vaults may have used the memory. forEach returns the first
// error in the order of all.
//
// It always waits for all calls that it started, also after an error, so that none of them uses the
// context of the call after its end.
func forEach[E any, R row](all []E, of func(E) (R, error)) ([]R, error) {
	rows, errs := make([]R, len(all)), make([]error, len(all))
	var reading sync.WaitGroup
	free := make(chan struct{}, manyOpen)
	for i, e := range all {
		free <- struct{}{}
		reading.Go(func() {
			defer func() { <-free }()
			rows[i], errs[i] = of(e)
		})
	}
	reading.Wait()
	for i, e := range all {
		if errs[i] == nil && rows[i].refused() {
			rows[i], errs[i] = of(e)
		}
		if errs[i] != nil {
			return nil, errs[i]
		}
	}
	return rows, nil
}

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
	return changeTool(f, tool.Spec{
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
func (f tools) createVault(ctx context.Context, w change, in vaultCreateIn) (vaultOut, error) {
	files, err := in.Config.files()
	if err != nil {
		return vaultOut{}, err
	}
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		made := tenant.NewVault{Name: in.Name, Files: files}
		return w.tenant.Create(ctx, w.call, made, func(e tenant.Entry) any {
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
	return changeTool(f, tool.Spec{
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
func (f tools) setVault(ctx context.Context, w change, in vaultSetIn) (vaultOut, error) {
	if in.ReadOnly == nil && in.Secrets == nil {
		return vaultOut{}, fault.New(fault.InvalidParameter,
			"give a setting: readonly or secrets").
			With("available", []string{"readonly", "secrets"})
	}
	setting := tenant.Setting{Name: in.Name, ReadOnly: in.ReadOnly, Secrets: in.Secrets}
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		return w.tenant.Set(ctx, w.call, setting, func(e tenant.Entry, changed bool) any {
			return keep(changedOut(e, changed, in.DryRun, "updated"))
		})
	})
}

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
	return changeTool(f, tool.Spec{
		Name: "team_vault_delete", Family: Family, Title: "Delete a vault",
		Role: auth.Admin, Kind: tool.Destroy, Subject: "name",
		Route:    tool.Route{Method: "DELETE", Path: "/vaults/{name}"},
		Commands: []tool.Command{{Words: "vault delete", Args: []string{"name"}}},
	}, f.deleteVault)
}

// deleteVault moves a vault to the trash, where it keeps its name. An unknown name is NOT_FOUND.
func (f tools) deleteVault(ctx context.Context, w change, in vaultNameIn) (vaultOut, error) {
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		return w.tenant.Trash(ctx, w.call, in.Name, func(e tenant.Entry) any {
			if in.DryRun {
				return keep(vaultOut{DryRun: true, WouldDelete: entryRow(e)})
			}
			return keep(vaultOut{Action: "deleted", Vault: entryRow(e)})
		})
	})
}

// vaultRestore returns the tool that takes a vault out of the trash.
func (f tools) vaultRestore() *tool.Tool {
	return changeTool(f, tool.Spec{
		Name: "team_vault_restore", Family: Family, Title: "Restore a vault",
		Role: auth.Admin, Kind: tool.Write, Idempotent: true, Subject: "name",
		Route:    tool.Route{Method: "POST", Path: "/vaults/restore"},
		Commands: []tool.Command{{Words: "vault restore", Args: []string{"name"}}},
	}, f.restoreVault)
}

// restoreVault takes a vault out of the trash. A vault that is not in the trash is returned with
// the action unchanged.
func (f tools) restoreVault(ctx context.Context, w change, in vaultNameIn) (vaultOut, error) {
	return mutation.ChangeTenant(func(keep func(vaultOut) any) (eventlog.Receipt, error) {
		return w.tenant.Restore(ctx, w.call, in.Name, func(e tenant.Entry, changed bool) any {
			return keep(changedOut(e, changed, in.DryRun, "restored"))
		})
	})
}
