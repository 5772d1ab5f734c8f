package raven

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An outlinksIn is the input of raven_outlinks.
type outlinksIn struct {
	tool.Vault
	// the object whose references are listed: an id, a name or an alias
	Target string `json:"target" complete:"id" alias:"reference,id,object_id"`
	tool.AsOf
	tool.Page
}

// An outlinksOut is the output of raven_outlinks. The references in the sections of a note are
// among those of the note.
type outlinksOut struct {
	tool.Aside `json:"-"`
	// the id of the object
	Source string `json:"source"`
	// one for each reference
	Items []outlink `json:"items"`
}

// page implements listOut.
func (o *outlinksOut) page() (*tool.Aside, *[]outlink) { return &o.Aside, &o.Items }

// An outlink is a reference as a property of its source.
type outlink struct {
	source
	reference
	// the line, or the part of a long line around the reference
	Content string `json:"content"`
}

// outlinks returns the tool raven_outlinks, which lists the references in an object.
func (f tools) outlinks() *tool.Tool {
	return listTool(f, tool.Spec{
		Name: "raven_outlinks", Family: Family, Title: "List outlinks",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/outlinks"},
		Commands: []tool.Command{{Words: "outlinks", Args: []string{"target"}}},
		Columns:  []string{"source_id", "line", "target_raw", "target_id", "content"},
		Empty: []tool.Empty{
			{Of: "references in {target}"},
		},
	}, listOutlinks)
}

// listOutlinks runs raven_outlinks on one state of the vault.
//
// All references are in one note, so its text is read once.
func listOutlinks(
	_ context.Context, v view, in outlinksIn, out *outlinksOut,
) (listing[outlink], error) {
	o, err := locate(v.Index, in.Target, v.Clock)
	if err != nil {
		return nil, err
	}
	out.Source = o.ID()
	d := v.renderer()
	return quoted(v, d.outlinks(o), func(l index.Link, line string) outlink {
		return outlink{sourceOf(l), d.reference(l.Ref, l.To), line}
	}), nil
}
