package team

import (
	"context"
	_ "embed"

	"rookery/internal/auth"
	"rookery/internal/repo"
	"rookery/internal/team"
	"rookery/internal/tool"
)

//go:embed vault_list.md
var vaultListDoc string

type vaultListIn struct {
	tool.Page
}

type vaultListOut struct {
	tool.Aside `json:"-"`
	Items      []vaultRow `json:"items"`
}

// A vaultRow is one vault of a list.
type vaultRow struct {
	Name     string      `json:"name"`
	Version  string      `json:"version,omitempty" jsonschema:"absent while the vault is in the trash"`
	Notes    *int        `json:"notes,omitempty" jsonschema:"how many; likewise"`
	ReadOnly bool        `json:"readonly"`
	State    repo.Status `json:"state" jsonschema:"active, or trashed"`
}

func (f tools) vaultList() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "team_vault_list", Family: Family, Title: "List vaults", Doc: vaultListDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/vaults"},
		Commands: []tool.Command{{Words: "vault list"}},
	}, f.listVaults)
}

func (f tools) listVaults(
	ctx context.Context, c auth.Caller, in vaultListIn,
) (vaultListOut, error) {
	out := vaultListOut{Items: []vaultRow{}}
	after, err := in.After(Family)
	if err != nil {
		return out, err
	}
	t, err := f.teams.Team(ctx, c.Tenant)
	if err != nil {
		return out, err
	}
	s, seq, err := t.State(ctx)
	if err != nil {
		return out, err
	}
	seen := visible(c, s.Vaults())
	for i, e := range seen {
		if e.Name <= after {
			continue
		}
		if len(out.Items) == in.Limit {
			out.Paged(len(out.Items), len(seen), true, seen[i-1].Name)
			break
		}
		row, err := rowOf(ctx, t, e)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, row)
	}
	if out.Meta == nil {
		out.Paged(len(out.Items), len(seen), false, "")
	}
	out.Note("version", repo.Version(seq))
	return out, nil
}

// visible are the vaults that the caller may see. Those in the trash are for admins, who can
// restore them.
func visible(c auth.Caller, all []team.Entry) []team.Entry {
	var seen []team.Entry
	for _, e := range all {
		need := auth.Reader
		if e.Status != repo.Active {
			need = auth.Admin
		}
		if c.Role(e.Name).Allows(need) {
			seen = append(seen, e)
		}
	}
	return seen
}

func rowOf(ctx context.Context, t *team.Team, e team.Entry) (vaultRow, error) {
	row := vaultRow{Name: e.Name, State: e.Status}
	if e.Status != repo.Active {
		return row, nil
	}
	v, err := t.Vault(ctx, e.Name)
	if err != nil {
		return row, err
	}
	idx, err := v.Read(ctx)
	if err != nil {
		return row, err
	}
	notes := idx.Totals().Notes
	row.Version, row.Notes = repo.Version(idx.Version()), &notes
	return row, nil
}
