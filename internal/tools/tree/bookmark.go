package tree

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	kept "github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A bookmarkIn is the input of tree_bookmark. Labels are unique for each agent.
type bookmarkIn struct {
	nodeArg
	// a label of 1 to 128 printable characters
	Label string `json:"label" size:"name" names:"target"`
	// allow a label that another node has
	Overwrite bool `json:"overwrite,omitempty"`
	sessionMutation
}

// A bookmarkOut is the output of the tools that store and remove a bookmark.
type bookmarkOut struct {
	Label  string `json:"label"`
	NodeID string `json:"nodeId"`
	versionOut
}

// bookmark returns the tool that stores a bookmark of the calling agent.
//
// The bookmark is by uid and follows the node when it moves. The address and the name are stored as
// well, to show them after the node is gone.
func (f tools) bookmark() *tool.Tool {
	s := viewSpec("bookmark", "Bookmark a node")
	s.Route.Path, s.Idempotent = "/bookmarks", true
	s.Commands = []tool.Command{{Words: "bookmark add", Args: []string{"nodeId", "label"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in bookmarkIn) (bookmarkOut, error) {
		if err := checkLabel(in.Label); err != nil {
			return bookmarkOut{}, err
		}
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.NodeID, in.Label}, false}
		return changeSession(ctx, f, about, func(ctx context.Context, t *sessionEdit, out *bookmarkOut) error {
			n, err := t.node("nodeId", in.NodeID)
			if err != nil {
				return err
			}
			out.Label, out.NodeID = in.Label, n.ID()
			return t.bookmark(ctx, kept.Bookmark{
				Label: in.Label, UID: t.UID(n), NodeID: n.ID(), Name: t.Name(n), CreatedAt: t.store.Now().UTC(),
			}, in.Overwrite)
		})
	})
}

// maxLabel is the maximum number of characters of a label.
const maxLabel = 128

// checkLabel returns a fault if a text is not valid as a label: 1 to maxLabel printable characters,
// not only spaces.
func checkLabel(label string) error {
	n := utf8.RuneCountInString(label)
	if n < 1 || n > maxLabel || strings.TrimSpace(label) == "" || !utf8.ValidString(label) ||
		strings.ContainsFunc(label, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return invalidParameter("label",
			"a label must have 1 to %d printable characters", maxLabel).With("argument", "label")
	}
	return nil
}

// bookmark drafts a bookmark. A bookmark of the same node with the same label is not changed. If
// another node has the label, it is a fault unless overwrite is set. The store limits the number of
// bookmarks of an agent.
func (t *sessionEdit) bookmark(ctx context.Context, b kept.Bookmark, overwrite bool) error {
	old, found, err := t.store.Bookmark(ctx, t.owner, b.Label)
	switch {
	case err != nil:
		return err
	case !found:
		return t.store.AddBookmark(ctx, t.draft, t.owner, b)
	case old.UID == b.UID:
		return nil
	case !overwrite:
		return invalidParameter("label_exists", "another node has this label").With("argument", "label").
			With("nodeId", old.NodeID).
			Fix("give another label, or set overwrite")
	}
	return t.store.SetBookmark(t.draft, old, b)
}

// A listBookmarksIn is the input of tree_list_bookmarks.
type listBookmarksIn struct {
	tool.Vault
}

// A bookmarkRow is a bookmark in an answer. Stale reports that its node does not exist at the
// version of the answer; the address and name are then those at the creation of the bookmark.
type bookmarkRow struct {
	Label     string    `json:"label"`
	NodeID    string    `json:"nodeId"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	// the node no longer exists; nodeId and name are the last known ones
	Stale bool `json:"stale,omitempty"`
}

// A listBookmarksOut is the output of tree_list_bookmarks, which has no pages because their number
// is limited.
type listBookmarksOut struct {
	Bookmarks []bookmarkRow `json:"bookmarks"`
	versionOut
}

// listBookmarks returns the tool that lists the bookmarks of the calling agent.
func (f tools) listBookmarks() *tool.Tool {
	s := spec("list_bookmarks", "List bookmarks")
	s.Role, s.Kind, s.List, s.Unversioned = auth.Reader, tool.Read, "bookmarks", true
	s.Columns = []string{"label", "nodeId", "name", "createdAt"}
	s.Route = tool.Route{Method: "GET", Path: "/bookmarks"}
	s.Commands = []tool.Command{{Words: "bookmark list"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in listBookmarksIn) (listBookmarksOut, error) {
		out := listBookmarksOut{Bookmarks: []bookmarkRow{}}
		r, err := f.read(ctx, c, in.Vault, tool.AsOf{})
		if err != nil {
			return out, err
		}
		out.at(r.view.Version())
		all, err := kept.Of(r.view.Vault).Bookmarks(ctx, ownerOf(c))
		for _, b := range all {
			out.Bookmarks = append(out.Bookmarks, r.bookmarkRow(b))
		}
		out.Note("count", len(all))
		return out, err
	})
}

// bookmarkRow returns a bookmark with the current address and name of its node. If the node does
// not exist, the bookmark is stale and has the stored ones. It is not removed, because its node may
// be restored with the same uid.
func (r *treeView) bookmarkRow(b kept.Bookmark) bookmarkRow {
	n, ok := r.Find(b.UID)
	if !ok {
		return bookmarkRow{b.Label, b.NodeID, b.Name, b.CreatedAt, true}
	}
	return bookmarkRow{b.Label, n.ID(), r.Name(n), b.CreatedAt, false}
}

// A removeBookmarkIn is the input of tree_remove_bookmark.
type removeBookmarkIn struct {
	tool.Vault
	// of the bookmark
	Label string `json:"label" size:"name" names:"target"`
	sessionMutation
}

// removeBookmark returns the tool that removes a bookmark of the calling agent. It returns
// NOT_FOUND if the agent has no bookmark with the label.
func (f tools) removeBookmark() *tool.Tool {
	s := viewSpec("remove_bookmark", "Remove a bookmark")
	s.Route = tool.Route{Method: "DELETE", Path: "/bookmarks/{label}"}
	s.Commands = []tool.Command{{Words: "bookmark remove", Args: []string{"label"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in removeBookmarkIn) (bookmarkOut, error) {
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.Label}, false}
		return changeSession(ctx, f, about, func(ctx context.Context, t *sessionEdit, out *bookmarkOut) error {
			b, found, err := t.store.Bookmark(ctx, t.owner, in.Label)
			switch {
			case err != nil:
				return err
			case !found:
				return fault.New(fault.NotFound, "the agent has no such bookmark").With("argument", "label").
					Try("tree_list_bookmarks", fault.Args{})
			}
			out.Label, out.NodeID = b.Label, b.NodeID
			t.store.RemoveBookmark(t.draft, t.owner, b)
			return nil
		})
	})
}
