package notes

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// A document is the text of a note, in the two parts that the family knows.
type document struct {
	*index.Note
	head *markdown.Map // empty without a head, and for one that is no mapping
	body string        // without the blanks at its end, where there is a head
}

// read reads the text of a note.
func read(ctx context.Context, v state.View, n *index.Note) (document, error) {
	text, err := v.Vault.Text(ctx, n.Body)
	if err != nil {
		return document{}, err
	}
	return parse(n, text), nil
}

// parse reads a note as the document of the family has it: only a head that markdown.StrictHead takes is
// one. Without it the body is the whole text.
func parse(n *index.Note, text []byte) document {
	head, at := markdown.StrictHead(text)
	body := string(text[at:])
	if at > 0 {
		body = strings.TrimRightFunc(body, markdown.IsSpace)
	}
	return document{n, head, body}
}

// bodyOf is the body of a note, as parse has it, without reading the head.
func bodyOf(text []byte) string {
	at := markdown.StrictBody(text)
	if at == 0 {
		return string(text)
	}
	return strings.TrimRightFunc(string(text[at:]), markdown.IsSpace)
}

// frontmatter returns the head as JSON, with its keys in text order.
func (d document) frontmatter() (tool.Object, error) {
	data, err := d.head.MarshalJSON()
	return tool.Object(data), err
}
