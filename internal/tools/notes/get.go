package notes

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A noteArg is the part of the input of the tools that read one note: its vault and path.
type noteArg struct {
	tool.Vault
	// inbox/plan.md, with or without .md
	Path string `json:"path" complete:"path"`
}

// A getIn is the input of notes_get.
type getIn struct {
	noteArg
	// omit the frontmatter
	BodyOnly bool `json:"body_only,omitempty" rare:"true"`
	// omit the body
	FrontmatterOnly bool `json:"frontmatter_only,omitempty" rare:"true"`
	tool.AsOf
}

// A getOut is the answer of notes_get. A part that the call omits is absent, not empty.
type getOut struct {
	tool.Aside `json:"-"`
	Path       string `json:"path"`
	// the fields in the order of the text; {} without frontmatter
	Frontmatter tool.Object `json:"frontmatter,omitempty"`
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

// A document is the text of a note, split into frontmatter and body as the specification reads it.
// It is not the parsed note of the index: a quarantined note has a document too.
type document struct {
	*index.Note
	head *markdown.Map // empty if there is no frontmatter or it is not a mapping
	body string        // without trailing space if there is frontmatter
}

// read reads and parses the text of a note.
func read(ctx context.Context, v state.View, n *index.Note) (document, error) {
	text, err := v.Vault.Text(ctx, n.Body)
	if err != nil {
		return document{}, err
	}
	return parse(n, text), nil
}

// parse splits a text into frontmatter and body. Only frontmatter that markdown.StrictHead accepts
// counts; without it, the body is the whole text. The body has no space at its end if there is
// frontmatter, as the specification has it.
func parse(n *index.Note, text []byte) document {
	head, at := markdown.StrictHead(text)
	body := string(text[at:])
	if at > 0 {
		body = strings.TrimRightFunc(body, markdown.IsSpace)
	}
	return document{n, head, body}
}

// bodyOf returns the same body as parse, without parsing the frontmatter. A search reads many
// bodies and no fields.
func bodyOf(text []byte) string {
	at := markdown.StrictBody(text)
	if at == 0 {
		return string(text)
	}
	return strings.TrimRightFunc(string(text[at:]), markdown.IsSpace)
}

// frontmatter returns the frontmatter as a JSON object, with the keys in their order in the text.
func (d document) frontmatter() (tool.Object, error) {
	data, err := d.head.MarshalJSON()
	return tool.Object(data), err
}
