package tree

import (
	"context"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// entries returns the names of the children of a folder, in order, as the field order lists them:
// `website` for a note, `archive/` for a folder. They are those before the call.
func (e *edit) entries(folder tree.Node) []string {
	children := e.tree.Children(folder)
	all := make([]string, len(children))
	for i, n := range children {
		all[i] = n.Entry()
	}
	return all
}

// insertEntry drafts the order of a folder with a new child at a position from 0. All children are
// listed afterwards, also those that the order did not list before.
func (e *edit) insertEntry(ctx context.Context, folder tree.Node, entry string, at int) error {
	all := e.entries(folder)
	if at > len(all) {
		return badPosition(len(all))
	}
	return e.putOrder(ctx, folder, slices.Insert(all, at, entry))
}

// putOrder drafts the field order in the folder's own file. An empty order removes the field. The
// file is created if it does not exist. A note or folder that the order names need not exist.
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

// leaveOrder drafts the removal of a child from the order of its folder, if it is listed. A name
// that the order still lists after its node is gone would do no harm, but would apply to a later
// node with that name.
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

// joinOrder drafts a new child as the last one of a folder, if the folder has an order. Children
// that an order does not list come after those that it lists, so in a folder with an order all
// children are listed then.
func (e *edit) joinOrder(ctx context.Context, folder tree.Node, entry string) error {
	if len(e.tree.Order(folder)) == 0 {
		return nil
	}
	all := slices.DeleteFunc(e.entries(folder), func(name string) bool { return name == entry })
	return e.putOrder(ctx, folder, append(all, entry))
}

// entryOf returns the name of a path as the field order of its folder lists it. The path is that of
// a note, with or without .md, or that of a folder, with a slash at its end.
func entryOf(path string) string {
	id, isFolder := strings.CutSuffix(path, "/")
	id = strings.TrimSuffix(id, ".md")
	id = id[strings.LastIndexByte(id, '/')+1:]
	if isFolder {
		return id + "/"
	}
	return id
}
