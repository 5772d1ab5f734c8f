package raven

import (
	"context"
	_ "embed"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

//go:embed untyped.md
var untypedDoc string

// An untypedIn is the input of raven_untyped.
type untypedIn struct {
	tool.Vault
	tool.AsOf
	tool.Page
}

// untyped returns the tool raven_untyped, which lists the notes that do not declare a type.
func (f tools) untyped() *tool.Tool {
	return viewTool(f, tool.Spec{
		Name: "raven_untyped", Family: Family, Title: "List notes without a type", Doc: untypedDoc,
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/untyped"},
		Commands: []tool.Command{{Words: "untyped"}},
		Columns:  []string{"id", "type", "heading", "last_modified_at", "fields"},
		Empty: []tool.Empty{
			{Of: "notes without a type"},
		},
	}, func(ctx context.Context, v view, in untypedIn) (objectListOut, error) {
		var out objectListOut
		var err error
		out.Items, err = state.Page(ctx, pager(&out.Aside, in.Page), untypedNotes(v.Index),
			newRenderer(v.Index, rich).object)
		return out, err
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
