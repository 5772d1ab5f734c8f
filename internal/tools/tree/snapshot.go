package tree

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	kept "github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A snapshot is a labelled version of a subtree, as answers show it.
type snapshot struct {
	SnapshotID string `json:"snapshotId"`
	Label      string `json:"label"`
	// the top node, with its address and name at the version
	NodeID string `json:"nodeId"`
	Name   string `json:"name"`
	// of the vault
	Version string `json:"version"`
	// the node and its descendants
	NodeCount int       `json:"nodeCount"`
	CreatedAt time.Time `json:"createdAt"`
	// the agent
	CreatedBy string `json:"createdBy"`
	// created by a restore; kept for 30 days
	Automatic bool `json:"automatic,omitempty"`
}

// snapshotOf converts a stored snapshot for an answer. Its address and name are those at its
// version, not the current ones.
func snapshotOf(s kept.Snapshot) snapshot {
	return snapshot{
		s.ID, s.Label, s.NodeID, s.Name, eventlog.Version(s.Seq), s.NodeCount, s.CreatedAt, s.Owner.Agent, s.Automatic,
	}
}

// A snapshotCreateIn is the input of tree_snapshot_create.
type snapshotCreateIn struct {
	tool.Vault
	// a label of 1 to 128 printable characters
	Label string `json:"label" size:"name" names:"target"`
	// root of the subtree
	RootNodeID string `json:"rootNodeId,omitempty" default:"/" complete:"id" size:"id" names:"target" alias:"root_node_id,rootId"`
	sessionMutation
}

// A snapshotCreateOut is the output of tree_snapshot_create.
type snapshotCreateOut struct {
	snapshot
	versionOut
}

// snapshotCreate returns the tool that labels the current version of a subtree. It copies no data.
// The log keeps every version, so a label and the version are enough to restore or compare the
// subtree later. The store limits the number of snapshots of a vault.
func (f tools) snapshotCreate() *tool.Tool {
	s := viewSpec("snapshot_create", "Label the version of a subtree")
	s.Route.Path = "/snapshots"
	s.Commands = []tool.Command{{Words: "snapshot create", Args: []string{"label"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in snapshotCreateIn) (snapshotCreateOut, error) {
		if err := checkLabel(in.Label); err != nil {
			return snapshotCreateOut{}, err
		}
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.RootNodeID, in.Label}, true}
		return changeSession(ctx, f, about, func(ctx context.Context, t *sessionEdit, out *snapshotCreateOut) error {
			n, err := t.node("rootNodeId", in.RootNodeID)
			if err != nil {
				return err
			}
			label, err := labelOf(ctx, t.Tree, n)
			if err != nil {
				return err
			}
			label.Label, label.Owner, label.CreatedAt = in.Label, t.owner, t.store.Now().UTC()
			if label.ID, err = t.store.FreeSnapshotID(ctx, label); err != nil {
				return err
			}
			out.snapshot = snapshotOf(label)
			return t.store.AddSnapshot(ctx, t.draft, label)
		})
	})
}

// labelOf returns a snapshot of a node with its descendants at the version of the tree, without
// label and owner. It counts the nodes by a walk, and does not follow references. If the call ends
// before the walk does, it returns the error of the context.
func labelOf(ctx context.Context, t *tree.Tree, n tree.Node) (kept.Snapshot, error) {
	label := kept.Snapshot{Seq: t.Index.Version(), UID: t.UID(n), NodeID: n.ID(), Name: t.Name(n)}
	going := state.KeepGoing(ctx)
	for range t.Walk(n, nil) {
		if !going() {
			return label, ctx.Err()
		}
		label.NodeCount++
	}
	return label, nil
}

// A snapshotListIn is the input of tree_snapshot_list.
type snapshotListIn struct {
	tool.Vault
	page
}

// A snapshotListOut is the output of tree_snapshot_list.
type snapshotListOut struct {
	// newest first
	Snapshots []snapshot `json:"snapshots"`
	pageOut
}

// snapshotList returns the tool that lists the snapshots of the vault, in pages. The ids of
// snapshots sort by time, so the page token is the id of the last one.
func (f tools) snapshotList() *tool.Tool {
	s := spec("snapshot_list", "List snapshots")
	s.Role, s.Kind, s.List, s.Unversioned = auth.Reader, tool.Read, "snapshots", true
	s.Columns = []string{"snapshotId", "label", "nodeId", "version", "createdAt"}
	s.Route = tool.Route{Method: "GET", Path: "/snapshots"}
	s.Commands = []tool.Command{{Words: "snapshot list"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in snapshotListIn) (snapshotListOut, error) {
		out := snapshotListOut{Snapshots: []snapshot{}}
		v, err := f.View(ctx, c, in.Vault.Vault)
		if err != nil {
			return out, err
		}
		out.at(v.Version())
		after, err := tool.ReadToken("pageToken", in.PageToken, Family)
		if err != nil {
			return out, err
		}
		more := false
		err = kept.Of(v.Vault).EachSnapshot(ctx, after, func(s kept.Snapshot) bool {
			if more = len(out.Snapshots) == in.Limit; more {
				return false
			}
			out.Snapshots = append(out.Snapshots, snapshotOf(s))
			return true
		})
		out.Note("count", len(out.Snapshots))
		out.Note("has_more", more)
		if more {
			out.Note("next_page_token", tool.Token(out.Snapshots[in.Limit-1].SnapshotID))
		}
		return out, err
	})
}

// A snapshotArg is the part of an input that names a snapshot.
type snapshotArg struct {
	tool.Vault
	// snapshotId, or the label if one snapshot has it
	SnapshotID string `json:"snapshotId" size:"name" names:"target" alias:"snapshot_id,id"`
}

// A snapshotGetOut is the output of tree_snapshot_get.
type snapshotGetOut struct {
	Snapshot snapshot `json:"snapshot"`
	versionOut
}

// snapshotGet returns the tool that returns one snapshot.
func (f tools) snapshotGet() *tool.Tool {
	s := spec("snapshot_get", "Get a snapshot")
	s.Role, s.Kind, s.Unversioned = auth.Reader, tool.Read, true
	s.Route = tool.Route{Method: "GET", Path: "/snapshots/{snapshotId}"}
	s.Commands = []tool.Command{{Words: "snapshot get", Args: []string{"snapshotId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in snapshotArg) (snapshotGetOut, error) {
		var out snapshotGetOut
		v, err := f.View(ctx, c, in.Vault.Vault)
		if err != nil {
			return out, err
		}
		out.at(v.Version())
		found, err := snapshotNamed(ctx, kept.Of(v.Vault), "snapshotId", in.SnapshotID)
		out.Snapshot = snapshotOf(found.Snapshot)
		return out, err
	})
}

// snapshotNamed returns the snapshot that an argument names by id or label. It returns NOT_FOUND if
// there is none, and a fault with the reason ambiguous if several have the label. An id takes
// precedence over a label. The search by label reads all snapshots of the vault.
func snapshotNamed(ctx context.Context, store kept.Store, arg, name string) (kept.SnapshotItem, error) {
	item, found, err := store.Snapshot(ctx, name)
	if found || err != nil {
		return item, err
	}
	var ids []string
	err = store.EachSnapshot(ctx, "", func(s kept.Snapshot) bool {
		if s.Label == name {
			ids = append(ids, s.ID)
		}
		return len(ids) < maxSame
	})
	switch {
	case err != nil:
		return item, err
	case len(ids) > 1:
		return item, invalidParameter("ambiguous",
			"several snapshots have this label").With("argument", arg).With("matches", ids).
			Fix("use the snapshotId of one of them")
	case len(ids) == 1:
		if item, found, err = store.Snapshot(ctx, ids[0]); found || err != nil {
			return item, err
		}
	}
	return item, fault.New(fault.NotFound, "there is no such snapshot").With("argument", arg).
		Try("tree_snapshot_list", fault.Args{})
}

// maxSame is the maximum number of listed snapshots with the same label.
const maxSame = 10

// A snapshotDeleteIn is the input of tree_snapshot_delete.
type snapshotDeleteIn struct {
	snapshotArg
	sessionMutation
}

// A snapshotDeleteOut is the output of tree_snapshot_delete.
type snapshotDeleteOut struct {
	SnapshotID string `json:"snapshotId"`
	Label      string `json:"label"`
	versionOut
}

// snapshotDelete returns the tool that deletes a snapshot. Only the agent that created it and
// admins can do so. The labelled version of the vault is not affected.
func (f tools) snapshotDelete() *tool.Tool {
	s := viewSpec("snapshot_delete", "Delete a snapshot")
	s.Route = tool.Route{Method: "DELETE", Path: "/snapshots/{snapshotId}"}
	s.Commands = []tool.Command{{Words: "snapshot delete", Args: []string{"snapshotId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in snapshotDeleteIn) (snapshotDeleteOut, error) {
		about := sessionCall{c, in.Vault.Vault, &in.sessionMutation, []string{in.SnapshotID}, true}
		return changeSession(ctx, f, about, func(ctx context.Context, t *sessionEdit, out *snapshotDeleteOut) error {
			item, err := snapshotNamed(ctx, t.store, "snapshotId", in.SnapshotID)
			if err != nil {
				return err
			}
			if item.Owner != t.owner && !c.Role(t.vault).Allows(auth.Admin) {
				return fault.New(fault.PermissionDenied,
					"another agent created the snapshot; only that agent and admins can delete it").
					With("argument", "snapshotId")
			}
			out.SnapshotID, out.Label = item.ID, item.Label
			t.store.RemoveSnapshot(t.draft, item)
			return nil
		})
	})
}

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
