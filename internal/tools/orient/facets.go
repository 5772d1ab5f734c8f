package orient

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
)

// valueFields are the fields whose values are listed. The values of all other fields may be
// private, such as names and addresses.
var valueFields = []string{"type", "status"}

// maxValues is the maximum number of listed values of a field.
const maxValues = 1000

// A facetsIn is the input of vault_facets.
type facetsIn struct {
	tool.Vault
	// fields to list at most
	Limit int `json:"limit,omitempty" default:"50" min:"1" max:"200"`
	tool.AsOf
}

// A facetsOut is the answer of vault_facets.
type facetsOut struct {
	tool.Aside `json:"-"`
	// the most common first
	Facets []Facet `json:"facets"`
	// fresh, stale, pending, updating or unknown
	Freshness repo.Freshness `json:"indexFreshness" title:"index"`
}

// A Facet is a frontmatter field: its name, the number of notes that have it and, for the fields in
// valued, its values.
//
// Values is nil, and absent from the answer, for a field whose values are not listed; it is empty
// for a listed field that no note has a value for.
type Facet struct {
	Name string `json:"name"`
	// notes with the field, also without a value
	Notes int `json:"noteCount" title:"notes"`
	// only of type and status, at most 1000, the most common first
	Values []FacetValue `json:"values,omitzero"`
}

// A FacetValue is one value of a field, with the number of notes that have it.
type FacetValue struct {
	Value string `json:"value"`
	// notes with the value
	Notes int `json:"noteCount" title:"notes"`
}

// facets returns the tool that lists the frontmatter fields of a vault, those with the most notes
// first.
//
// For the fields in valued, it also lists the values, so that a caller can choose a filter without
// reading notes. The limit applies to the fields, and maxValues to the values of each.
func (f tools) facets() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "vault_facets", Family: Family, Title: "Count the fields of a vault",
		Role: auth.Reader, Kind: tool.Read, List: "facets",
		Route:    tool.Route{Method: "GET", Path: "/facets"},
		Commands: []tool.Command{{Words: "facets"}},
		Empty:    []tool.Empty{{Of: "fields in frontmatter"}},
	}, func(ctx context.Context, c auth.Caller, in facetsIn) (facetsOut, error) {
		var out facetsOut
		s, err := f.open(ctx, c, source{in.Vault, in.AsOf}, &out.Aside)
		if err != nil {
			return facetsOut{}, err
		}
		first, total := topCounts(s.Index.HeadFields(), in.Limit)
		truncation{
			code: "FACETS_TRUNCATED", what: "fields", shown: in.Limit, total: total,
			more: limitAdvice(in.Limit, mostListed),
		}.warn(&out.Aside)
		out.Facets, out.Freshness = make([]Facet, len(first)), s.freshness.state
		for i, c := range first {
			out.Facets[i] = Facet{Name: c.name, Notes: c.notes, Values: out.values(s.Index, c.name)}
		}
		return out, nil
	})
}

// values returns the values of a field with the most notes, at most maxValues, or nil if its values
// are not listed. It adds a warning if values are omitted, which names the field: the answer can
// have several warnings with the same code.
func (out *facetsOut) values(idx *index.Index, field string) []FacetValue {
	if !slices.Contains(valueFields, field) {
		return nil
	}
	first, total := topCounts(idx.HeadValues(field), maxValues)
	truncation{code: "FACETS_TRUNCATED", what: "values", shown: maxValues, total: total, field: field}.warn(&out.Aside)
	list := make([]FacetValue, len(first))
	for i, c := range first {
		list[i] = FacetValue{c.name, c.notes}
	}
	return list
}
