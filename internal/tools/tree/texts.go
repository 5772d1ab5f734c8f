package tree

import (
	"context"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A texts reads the texts of nodes. It caches the last file, so a file is read once if its nodes
// are requested one after the other. It is not safe for concurrent use.
//
// The zero value with read set is ready for use. A caller should visit nodes in the order of the
// tree: then the sections of a note follow each other, and each note is parsed once.
type texts struct {
	read    func(context.Context, tree.Node) ([]byte, error) // the text of the file of a node
	file    string                                           // the file of text and extents
	text    []byte
	extents []tree.Extent // of the nodes in text, by section; nil: no file was read yet
}

// load returns the own text of a node, and its text with all its descendants. Both are without the
// blank lines around them, and share the memory of the file's text. A folder without an own file
// has empty texts.
func (t *texts) load(ctx context.Context, n tree.Node) (own, all []byte, err error) {
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

// addWanted adds the texts that the filter names to the shape of a node. Lists do so for each node.
// Unlike addTexts it adds no text that the call does not name.
func (r *treeView) addWanted(ctx context.Context, f tree.Filter, n tree.Node, shape *tree.Shape) error {
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

// textsOf returns the own text and the whole text of a node, or of the node that it represents.
func (r *treeView) textsOf(ctx context.Context, n tree.Node) (own, all []byte, err error) {
	source, _ := r.Source(n)
	return r.texts.load(ctx, source)
}
