package tree

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A setFiltersIn is the input of tree_set_filters. Two empty lists make all properties visible
// again.
type setFiltersIn struct {
	tool.Vault
	// view: only for views; session: for all answers that show properties
	Scope string `json:"scope,omitempty" enum:"view,session" default:"session"`
	// show only these properties and their subproperties
	Included []string `json:"included,omitempty" alias:"includedProperties,included_properties" max:"512"`
	// exclude these properties and their subproperties
	Excluded []string `json:"excluded,omitempty" alias:"excludedProperties,excluded_properties" max:"512"`
	// false adds to the lists of the session
	ReplaceExisting *bool `json:"replaceExisting,omitempty" default:"true" alias:"replace_existing"`
	sessionMutation
}

// A setFiltersOut is the output of tree_set_filters, with the lists of the given scope after the
// call.
type setFiltersOut struct {
	Scope string `json:"scope"`
	// that the session shows; empty: all
	Included []string `json:"includedProperties"`
	// that the session does not show
	Excluded []string `json:"excludedProperties"`
	versionOut
}

// setFilters returns the tool that sets the visible properties of the session.
func (f tools) setFilters() *tool.Tool {
	s := viewSpec("set_filters", "Set the visible properties")
	s.Route.Path, s.Idempotent = "/view/filters", true
	s.Commands = []tool.Command{{Words: "view filters"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in setFiltersIn) (setFiltersOut, error) {
		for arg, list := range map[string][]string{"included": in.Included, "excluded": in.Excluded} {
			if err := checkLists(arg, list); err != nil {
				return setFiltersOut{}, err
			}
		}
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, nil, false}
		return changeSession(ctx, f, about, func(_ context.Context, t *sessionEdit, out *setFiltersOut) error {
			return t.setFilters(in, out)
		})
	})
}

// checkLists returns a fault if a list has more than maxBatch entries. An empty list is valid, and
// means that all properties are shown or that none is excluded.
func checkLists(arg string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	return checkBatch(arg, len(list))
}

// setFilters drafts new property lists of the session.
//
// The scope view has lists of its own, which take precedence over those of the session in views.
// Lists that are joined to the existing ones are limited like given ones.
func (t *sessionEdit) setFilters(in setFiltersIn, out *setFiltersOut) error {
	v := t.view.View
	lists := &v.Filter
	if in.Scope == "view" {
		lists = &v.Shown
	}
	next := tree.Filter{Included: in.Included, Excluded: in.Excluded}
	if in.ReplaceExisting != nil && !*in.ReplaceExisting {
		next = tree.Filter{
			Included: joined(lists.Included, in.Included), Excluded: joined(lists.Excluded, in.Excluded),
		}
		for arg, list := range map[string][]string{"included": next.Included, "excluded": next.Excluded} {
			if err := checkLists(arg, list); err != nil {
				return err
			}
		}
	}
	*lists = next
	out.Scope = in.Scope
	out.Included, out.Excluded = append([]string{}, next.Included...), append([]string{}, next.Excluded...)
	return t.set(v)
}

// joined returns the texts of both lists without duplicates, in the order of their first
// occurrence. It does not change the lists.
func joined(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
