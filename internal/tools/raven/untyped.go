package raven

import (
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

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
