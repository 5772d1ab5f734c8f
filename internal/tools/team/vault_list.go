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
	notes := idx.Totals().Notes
	row.Version, row.Notes = eventlog.Version(idx.Version()), &notes
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
