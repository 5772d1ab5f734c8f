package notes

import (
	"context"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A treeIn is the input of notes_document_tree.
type treeIn struct {
	noteArg
	tool.AsOf
}

// A treeOut is the answer of notes_document_tree, in the form of the schema that it names.
type treeOut struct {
	tool.Aside `json:"-"`
	Schema     string `json:"schema"`
	Path       string `json:"path"`
	// the field title, otherwise the file name as words
	Title *string  `json:"title"`
	Root  treeRoot `json:"root"`
	// there are more than 500 headings
	Truncated bool `json:"truncated"`
}

// A treeRoot is the note above its headings.
type treeRoot struct {
	Children []*HeadingNode `json:"children"`
}

// A HeadingNode is a heading, with the headings below it.
type HeadingNode struct {
	// as in the outline
	ID       string         `json:"id"`
	Level    int            `json:"level"`
	Text     string         `json:"text"`
	Children []*HeadingNode `json:"children"`
}

// tree returns the tool that returns the headings of a note as a tree.
func (f tools) tree() *tool.Tool {
	return tool.New(tool.Spec{
		Name: "notes_document_tree", Short: "get_document_tree", Family: Family,
		Title: "Get the tree of headings of a note", Role: auth.Reader, Kind: tool.Read,
		Route:    tool.Route{Method: "GET", Path: "/document-tree/{path}"},
		Commands: []tool.Command{{Words: "get-document-tree", Args: []string{"path"}}},
	}, f.treeOfNote)
}

// treeOfNote returns the headings of a note as a tree.
func (f tools) treeOfNote(ctx context.Context, c auth.Caller, in treeIn) (treeOut, error) {
	out := treeOut{Schema: treeSchema, Root: treeRoot{[]*HeadingNode{}}}
	d, err := f.document(ctx, c, in.noteArg, in.AsOf, &out.Aside)
	if err != nil {
		return out, err
	}
	out.Path, out.Title = d.Path, d.title()
	all, truncated, err := d.outlined()
	out.Root.Children, out.Truncated = nested(all), truncated
	return out, err
}

// nested returns the headings as a tree. A heading is below the nearest earlier heading with a
// lower level, which can skip levels. It takes linear time.
//
// The root has the level 0, below that of every heading, so it is never removed from the path.
func nested(all []markdown.OutlineHeading) []*HeadingNode {
	root := &HeadingNode{Children: []*HeadingNode{}}
	open := []*HeadingNode{root} // the path to the last heading, from the root
	for _, h := range all {
		n := &HeadingNode{h.ID, h.Level, h.Text, []*HeadingNode{}}
		for open[len(open)-1].Level >= n.Level {
			open = open[:len(open)-1]
		}
		above := open[len(open)-1]
		above.Children = append(above.Children, n)
		open = append(open, n)
	}
	return root.Children
}
