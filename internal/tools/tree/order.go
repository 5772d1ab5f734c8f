package tree

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// entries are the names of the children of a folder in their order, as the order of the folder lists them.
func (e *edit) entries(folder tree.Node) []string {
	children := e.tree.Children(folder)
	all := make([]string, len(children))
	for i, n := range children {
		all[i] = n.Entry()
	}
	return all
}

// insertEntry drafts the order of a folder with a new child at a position.
func (e *edit) insertEntry(ctx context.Context, folder tree.Node, entry string, at int) error {
	all := e.entries(folder)
	if at > len(all) {
		return badPosition(len(all))
	}
	return e.putOrder(ctx, folder, slices.Insert(all, at, entry))
}

// putOrder drafts the order of a folder, in its own file.
func (e *edit) putOrder(ctx context.Context, folder tree.Node, entries []string) error {
	file := vault.Path(folder.Folder + vault.FolderFile)
	text, _, err := e.Text(ctx, file)
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		text, err = markdown.UnsetFields(text, []string{"order"})
	} else {
		text, err = markdown.SetFields(text, []markdown.Field{{Key: "order", Value: anyOf(entries)}})
	}
	if err != nil {
		return unwritable(err, "frontmatter_invalid")
	}
	return e.Put(ctx, file, text)
}

// leaveOrder drafts that a child is in the order of its folder no more, if it is listed there.
func (e *edit) leaveOrder(ctx context.Context, n tree.Node) error {
	above, _ := e.tree.Parent(n)
	listed := e.tree.Order(above)
	if !slices.Contains(listed, n.Entry()) {
		return nil
	}
	return e.putOrder(ctx, above, slices.DeleteFunc(slices.Clone(listed), func(name string) bool {
		return name == n.Entry()
	}))
}

// joinOrder drafts that a child that comes into a folder is the last of it, if the folder has an order.
func (e *edit) joinOrder(ctx context.Context, folder tree.Node, entry string) error {
	if len(e.tree.Order(folder)) == 0 {
		return nil
	}
	all := slices.DeleteFunc(e.entries(folder), func(name string) bool { return name == entry })
	return e.putOrder(ctx, folder, append(all, entry))
}

// entryOf is the name of a path as the order of its folder lists it.
func entryOf(path string) string {
	id, isFolder := strings.CutSuffix(path, "/")
	id = strings.TrimSuffix(id, ".md")
	id = id[strings.LastIndexByte(id, '/')+1:]
	if isFolder {
		return id + "/"
	}
	return id
}
