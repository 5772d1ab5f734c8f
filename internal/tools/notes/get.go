package notes

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A noteArg is the part of the input of the tools that read one note: its vault and path.
type noteArg struct {
	tool.Vault
	Path string `json:"path" complete:"path" jsonschema:"inbox/plan.md, with or without .md"`
}

// A getIn is the input of notes_get.
type getIn struct {
	noteArg
	BodyOnly        bool `json:"body_only,omitempty" rare:"true" jsonschema:"omit the frontmatter"`
	FrontmatterOnly bool `json:"frontmatter_only,omitempty" rare:"true" jsonschema:"omit the body"`
	tool.AsOf
}

// A getOut is the answer of notes_get. A part that the call omits is absent, not empty.
type getOut struct {
	tool.Aside  `json:"-"`
	Path        string      `json:"path"`
	Frontmatter tool.Object `json:"frontmatter,omitempty" jsonschema:"the fields in the order of the text; {} without frontmatter"`
	Body        *string     `json:"body,omitempty"`
}

// get returns the tool that returns one note.
func (f tools) get() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_get", Short: "get_note", Family: Family, Title: "Get a note",
		Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/notes/{path}"},
		Commands: []tool.Command{{Words: "get-note", Args: []string{"path"}}},
	}, f.getNote)
}

// getNote returns the frontmatter and the body of a note, or only one of them.
func (f tools) getNote(ctx context.Context, c auth.Caller, in getIn) (getOut, error) {
	var out getOut
	if in.BodyOnly && in.FrontmatterOnly {
		return out, fault.New(fault.InvalidParameter, "body_only and frontmatter_only exclude each other").
			With("argument", "frontmatter_only").Fix("give one of them, or none")
	}
	d, err := f.document(ctx, c, in.noteArg, in.AsOf, &out.Aside)
	if err != nil {
		return out, err
	}
	out.Path = d.Path
	if !in.FrontmatterOnly {
		out.Body = &d.body
	}
	if !in.BodyOnly {
		out.Frontmatter, err = d.frontmatter()
	}
	return out, err
}
