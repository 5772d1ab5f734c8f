package tree

import (
	"context"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A texts reads the texts of nodes, each file once as long as one asks for the nodes of a file one after the other.
type texts struct {
	read    func(context.Context, tree.Node) ([]byte, error) // the text of the file of a node
	file    string
	text    []byte
	extents []tree.Extent
}

// of are the own text of a node, and that with all below it.
func (t *texts) of(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	file := n.Folder
	if n.Note != nil {
		file = n.Note.Path
	}
	if t.extents == nil || file != t.file {
		text, err := t.read(ctx, n)
		if err != nil {
			return nil, nil, err
		}
		t.file, t.text, t.extents = file, text, tree.Extents(text, markdown.Parse(text))
	}
	e := t.extents[n.Section]
	return tree.Cut(t.text, e.Own), tree.Cut(t.text, e.Content), nil
}

// addWanted adds to the shape of a node the texts that the filter asks for by name.
func (r *reading) addWanted(ctx context.Context, f tree.Filter, n tree.Node, shape *tree.Shape) error {
	if !f.Wants("body") && !f.Wants("content") {
		return nil
	}
	own, all, err := r.textsOf(ctx, n)
	if err != nil {
		return err
	}
	if f.Wants("body") {
		shape.Body = new(string(own))
	}
	if f.Wants("content") {
		shape.Content = new(string(all))
	}
	return nil
}

// textsOf are the own text of a node, or of that which it stands for, and the text with all below it.
func (r *reading) textsOf(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	source, _ := r.Source(n)
	return r.texts.of(ctx, source)
}
