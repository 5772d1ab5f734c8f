package notes

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

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
