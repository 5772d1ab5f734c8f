package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A backlinksIn is the input of raven_backlinks.
type backlinksIn struct {
	tool.Vault
	// an id, a name or an alias: people/freya, freya, daily/2026-03-02#standup; or a day:
	// 2026-03-02, today
	Target string `json:"target" complete:"id" alias:"reference,id,object_id"`
	tool.AsOf
	tool.Page
}

// A backlinksOut is the output of raven_backlinks. Target is the id of the object or, for a day,
// the id of its daily note, which may not exist.
type backlinksOut struct {
	tool.Aside `json:"-"`
	// the id of the target
	Target string `json:"target"`
	// one for each reference
	Items []quotedBacklink `json:"items"`
}

// page implements listOut.
func (o *backlinksOut) page() (*tool.Aside, *[]quotedBacklink) { return &o.Aside, &o.Items }

// backlinks returns the tool raven_backlinks, which lists the references to an object or a day.
func (f tools) backlinks() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_backlinks", Family: Family, Title: "List backlinks",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/backlinks"},
		Commands: []tool.Command{{Words: "backlinks", Args: []string{"target"}}},
		Columns:  []string{"source_id", "line", "content"},
		Empty: []tool.Empty{
			{Of: "references to {target}"},
		},
	}, listBacklinks)
}

// listBacklinks runs raven_backlinks on one state of the vault.
//
// The texts of the notes on the page are prefetched before the lines are quoted, so that a page
// costs one round trip to the store and not one for each note.
func listBacklinks(
	ctx context.Context, v view, in backlinksIn, out *backlinksOut,
) (_ listing[quotedBacklink], err error) {
	if out.Target, err = locateTarget(v.Index, in.Target, v.Clock); err != nil {
		return nil, err
	}
	list := v.renderer().backlinks(out.Target)
	v.Prefetch(ctx, sources(in.Page, list))
	return quoted(v, list, func(l index.Link, line string) quotedBacklink {
		return quotedBacklink{backlinkOf(l), line}
	}), nil
}
