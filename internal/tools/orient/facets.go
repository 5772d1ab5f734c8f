package orient

import (
	"context"
	_ "embed"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

//go:embed facets.md
var facetsDoc string

// valued are the fields whose values are shown. Those of all others may be private.
var valued = []string{"type", "status"}

// maxValues is how many values of a field are shown.
const maxValues = 1000

type facetsIn struct {
	tool.Vault
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200" jsonschema:"fields to list at most"`
	tool.AsOf
}

type facetsOut struct {
	tool.Aside `json:"-"`
	Facets     []Facet        `json:"facets" jsonschema:"the most common first"`
	Freshness  repo.Freshness `json:"indexFreshness" title:"index" jsonschema:"fresh, stale, pending, updating or unknown"`
}

// A Facet is a field of frontmatter.
type Facet struct {
	Name   string       `json:"name"`
	Notes  int          `json:"noteCount" title:"notes" jsonschema:"notes with the field, also without a value"`
	Values []FacetValue `json:"values,omitzero" jsonschema:"only of type and status, at most 1000, the most common first"`
}

// A FacetValue is a value of a field.
type FacetValue struct {
	Value string `json:"value"`
	Notes int    `json:"noteCount" title:"notes" jsonschema:"notes with the value"`
}

func (f tools) facets() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_facets", Family: Family, Title: "Count the fields of a vault", Doc: facetsDoc,
		Role: auth.Reader, Kind: tool.Read, List: "facets",
		Route:    tool.Route{Method: "GET", Path: "/facets"},
		Commands: []tool.Command{{Words: "facets"}},
		Empty:    []tool.Empty{{Of: "fields in frontmatter"}},
	}, func(ctx context.Context, c auth.Caller, in facetsIn) (facetsOut, error) {
		var out facetsOut
		s, err := f.see(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return facetsOut{}, err
		}
		first, total := ranked(s.Index.HeadFields(), in.Limit)
		cutting{
			code: "FACETS_TRUNCATED", what: "fields", shown: in.Limit, total: total, more: higher(in.Limit, mostListed),
		}.warn(&out.Aside)
		out.Facets, out.Freshness = make([]Facet, len(first)), s.freshness.state
		for i, c := range first {
			out.Facets[i] = Facet{Name: c.name, Notes: c.notes, Values: out.values(s.Index, c.name)}
		}
		return out, nil
	})
}

// values are those of a field, nil if they are not shown.
func (out *facetsOut) values(idx *index.Index, field string) []FacetValue {
	if !slices.Contains(valued, field) {
		return nil
	}
	first, total := ranked(idx.HeadValues(field), maxValues)
	cutting{code: "FACETS_TRUNCATED", what: "values", shown: maxValues, total: total, field: field}.warn(&out.Aside)
	list := make([]FacetValue, len(first))
	for i, c := range first {
		list[i] = FacetValue{c.name, c.notes}
	}
	return list
}
