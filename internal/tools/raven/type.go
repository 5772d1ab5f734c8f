package raven

import (
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A typeIn is the input of raven_type. It has either Name or List.
type typeIn struct {
	tool.Vault
	// list the objects of this type
	Name string `json:"name,omitempty" complete:"type" alias:"type,type_name"`
	// list the types instead, with the number of objects of each
	List bool `json:"list,omitempty"`
	detail
	tool.AsOf
	tool.Page
}

// A typeOut contains the objects of a type, or the types.
//
// Exactly one of the two embedded parts is set.
type typeOut struct {
	tool.Aside `json:"-"`
	*TypeObjects
	*TypeCounts
}

// TypeObjects is the part of the answer with the objects of a type.
type TypeObjects struct {
	Type  string   `json:"type"`
	Items []object `json:"items"`
}

// TypeCounts is the part of the answer with the types of the vault.
type TypeCounts struct {
	// as in the schema, then the built-in ones
	Types []typeCount `json:"types"`
}

// A typeCount is a type with the number of its objects.
type typeCount struct {
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Builtin bool   `json:"builtin"`
}

// ofType returns the tool raven_type, which lists the objects of a type, or all types.
func (f tools) ofType() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_type", Family: Family, Title: "List the objects of a type",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/types"},
		Commands: []tool.Command{{Words: "type", Args: []string{"name?"}}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "objects of type {name}", Tool: "raven_new",
				Args: map[string]string{"type": "{name}", "title": "Title"}},
		},
	}, func(ctx context.Context, v view, in typeIn) (out typeOut, err error) {
		if err := oneOf("name", in.Name, in.List); err != nil {
			return out, err
		}
		if in.List {
			out.TypeCounts, err = countTypes(ctx, &out.Aside, v.Index, in.Page)
		} else {
			out.TypeObjects, err = objectsOfType(ctx, &out.Aside, v.renderer(), in)
		}
		return out, err
	})
}

// objectsOfType returns a page of the objects of a type.
func objectsOfType(
	ctx context.Context, a *tool.Aside, d renderer, in typeIn,
) (*TypeObjects, error) {
	s, err := state.Schema(d.idx)
	if err != nil {
		return nil, err
	}
	t, ok := s.Type(in.Name)
	if !ok {
		return nil, s.NoType(in.Name)
	}
	l := state.Listing[index.Object]{
		After: state.ListAfter(d.idx.Objects, t.Name), Location: index.Object.Location,
		Count: func() int { return d.idx.Count(t.Name) },
	}
	items, err := state.Page(ctx, pager(a, in.Page), l, d.object)
	return &TypeObjects{t.Name, items}, err
}

// countTypes returns a page of the types. All types are listed, also those without objects.
func countTypes(
	ctx context.Context, a *tool.Aside, idx *index.Index, in tool.Page,
) (*TypeCounts, error) {
	s, err := state.Schema(idx)
	if err != nil {
		return nil, err
	}
	all := make([]typeCount, 0, len(s.Types))
	for _, t := range s.Types {
		all = append(all, typeCount{t.Name, idx.Count(t.Name), t.Builtin})
	}
	name := func(c typeCount) string { return c.Name }
	types, err := whole(all, name)(ctx, pager(a, in))
	return &TypeCounts{types}, err
}

// An untypedIn is the input of raven_untyped.
type untypedIn struct {
	tool.Vault
	tool.AsOf
	tool.Page
}

// untyped returns the tool raven_untyped, which lists the notes that do not declare a type.
func (f tools) untyped() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_untyped", Family: Family, Title: "List notes without a type",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/untyped"},
		Commands: []tool.Command{{Words: "untyped"}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "notes without a type"},
		},
	}, func(_ context.Context, v view, _ untypedIn, _ *objectListOut) (listing[object], error) {
		return located(untypedNotes(v.Index), v.renderer().object), nil
	})
}

// untypedNotes returns the list of the notes that do not declare a type.
func untypedNotes(idx *index.Index) state.Listing[index.Object] {
	behind := func(after index.Location) iter.Seq[index.Object] {
		return func(yield func(index.Object) bool) {
			for n := range idx.Untyped(after.Path) {
				if !yield(n.Object(-1)) {
					return
				}
			}
		}
	}
	return state.Listing[index.Object]{After: behind, Location: index.Object.Location, Count: idx.UntypedCount}
}
