// Package orient has the tools of orientation: what a vault is made of, before anything in it is searched or
// read, as spec/vault-orientation.md promises it. All answers are sums that the index keeps: folders, tags,
// names of fields, and the values of two fields. No text is read.
package orient

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/team"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// Family is what the tools have in common.
var Family = &tool.Family{
	Name: "orient", Base: "/v1/vaults/{vault}",
	Missing: fault.InvalidParameter, Malformed: fault.InvalidParameter, Several: fault.InvalidParameter,
}

// Tools are the tools of the family, over these tenants.
func Tools(t *team.Teams) []*tool.Tool {
	f := tools{state.Source{Teams: t, Family: Family}}
	return []*tool.Tool{f.overview(), f.tree(), f.tags(), f.facets(), f.status()}
}

type tools struct{ state.Source }

// A source is the part of the input that every tool has: which vault, as of when.
type source struct {
	tool.Vault
	tool.AsOf
}

// A seen is the vault of a call at one version, with how it stands to the files that people see.
type seen struct {
	state.View
	freshness freshness
}

// see returns the vault of a call. Warnings about its freshness, and its version, are in the aside. A vault that
// has files and nothing of them indexed is INDEX_NOT_FOUND.
func (f tools) see(ctx context.Context, c auth.Caller, in source, a *tool.Aside) (seen, error) {
	v, err := f.ViewAt(ctx, c, in.Vault.Vault, in.AsOf)
	if err != nil {
		return seen{}, err
	}
	s := seen{v, freshness{state: repo.Fresh, vault: in.Vault.Vault}}
	a.Note("version", v.Version())
	if in.AsOf.AsOf != "" { // what is past is not behind anything
		return s, nil
	}
	s.freshness.state, s.freshness.control = v.Control.Freshness(v.Vault.Now()), v.Control
	folder, err := f.Folder(ctx, c, in.Vault.Vault)
	if err != nil {
		return seen{}, err
	}
	s.freshness.reading(folder)
	if isEmpty(v.Index) && s.freshness.files() {
		return seen{}, s.freshness.notFound()
	}
	s.freshness.warn(a)
	return s, nil
}

// isEmpty reports whether a vault has no files at all.
func isEmpty(idx *index.Index) bool {
	for range idx.Files() {
		return false
	}
	return true
}
