package team

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A usageIn is the input of team_usage, which has no arguments.
type usageIn struct{}

// A usageOut is the output of team_usage. Vaults, Notes, Bytes and Memories are the sums over
// Items. Vaults that could not be read are in Items, and count as vaults, but add nothing to the
// other sums.
type usageOut struct {
	tool.Aside `json:"-"`
	// vaults that you can see and that are not in the trash
	Vaults int `json:"vaults"`
	// in all of them
	Notes int `json:"notes"`
	// of all these notes
	Bytes int64 `json:"bytes"`
	// in all of them
	Memories int `json:"memories"`
	// of the tenant; absent for callers without a role in all vaults
	Calls  *calls       `json:"calls,omitempty"`
	Limits limits       `json:"limits"`
	Items  []vaultUsage `json:"items"`
}

// calls counts the accepted calls of a tenant, approximately, by days of UTC. Several processes
// count, and add their counts from time to time.
type calls struct {
	// the day is that of UTC
	Today     callsOfDay `json:"today"`
	Yesterday callsOfDay `json:"yesterday"`
}

// A callsOfDay counts the accepted calls of one day.
type callsOfDay struct {
	Mutations int64 `json:"mutations"`
	// including changes of views
	Reads int64 `json:"reads"`
}

// A vaultUsage is the storage that one vault uses, in its newest version. Bytes are those of the
// texts of its notes; the history and the index are not counted.
type vaultUsage struct {
	Name  string `json:"name"`
	Notes int    `json:"notes"`
	// of its notes
	Bytes int64 `json:"bytes"`

	Memories int `json:"memories"`

	// headings, traits, references and tags of its notes
	Indexed int `json:"indexed"`
	// why the vault cannot be read now and is not counted: memory, it does not fit into that of the
	// server
	Refused string `json:"refused,omitempty"`

	gone bool // it was deleted in the meantime
}

// refused reports whether the vault could not be opened because of the memory limit.
func (u vaultUsage) refused() bool { return u.Refused != "" }

// usage returns the tool that reports the storage and the calls of the tenant. Every caller can use
// it, for the vaults that it can see.
func (f tools) usage() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_usage", Family: Family, Title: "Show usage and limits",
		Role: auth.Anyone, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/usage"},
		Commands: []tool.Command{{Words: "usage"}},
	}, f.listUsage)
}

// listUsage counts the vaults that the caller can see. The output has no pages, because the number
// of vaults of a tenant is limited. It opens all these vaults, several at once; see forEach. A vault
// that is deleted in the meantime is omitted, and vaults in the trash are not counted.
func (f tools) listUsage(ctx context.Context, c auth.Caller, _ usageIn) (usageOut, error) {
	out := usageOut{Limits: f.limitsOf(c), Items: []vaultUsage{}}
	t, s, seq, err := f.state(ctx, c)
	if err != nil {
		return out, err
	}
	seen := slices.DeleteFunc(visible(c, s.Vaults(), t.Now()), func(e tenant.Entry) bool {
		return e.Status != eventlog.Active
	})
	rows, err := forEach(seen, func(e tenant.Entry) (vaultUsage, error) { return f.usageOf(ctx, t, e.Name) })
	if err != nil {
		return out, err
	}
	for _, row := range rows {
		if row.gone {
			continue
		}
		out.Items = append(out.Items, row)
		out.Notes, out.Bytes = out.Notes+row.Notes, out.Bytes+row.Bytes
		out.Memories += row.Memories
	}
	out.Vaults = len(out.Items)
	versionFor(c, &out.Aside, seq)
	out.Calls, err = f.calls(ctx, c)
	return out, err
}

// usageOf returns the usage of one vault. It does not keep the vault open, so that vaults that do
// not fit into memory together can be counted.
//
// The counts are kept with the index, so nothing is counted here.
func (f tools) usageOf(ctx context.Context, t *tenant.Tenant, name string) (vaultUsage, error) {
	row := vaultUsage{Name: name}
	idx, err := newestIndex(ctx, t, name)
	switch {
	case tenant.InMemory(err):
		row.Refused = tenant.ReasonMemory
		return row, nil
	case fault.Is(err, fault.NotFound): // see rowOf
		row.gone = true
		return row, nil
	case err != nil:
		return row, err
	}
	n := idx.Totals()
	row.Notes, row.Bytes, row.Indexed = n.Notes, n.Bytes, n.Things
	row.Memories = idx.Memories().Len()
	return row, nil
}

// calls returns the number of calls of the tenant, or nil. They cover all vaults, so only a caller
// that can read all vaults gets them. It is also nil if the deployment has no Limiter, which counts
// them.
func (f tools) calls(ctx context.Context, c auth.Caller) (*calls, error) {
	if f.opt.Limiter == nil || !c.Role(auth.AllVaults).Allows(auth.Reader) {
		return nil, nil
	}
	u, err := f.opt.Limiter.Usage(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	return &calls{dayOf(u.Today), dayOf(u.Yesterday)}, nil
}

// dayOf converts the counts of a day for an answer.
func dayOf(c limit.Calls) callsOfDay { return callsOfDay{c.Mutations, c.Reads} }
