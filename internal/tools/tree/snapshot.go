package tree

import (
	"context"
	"time"

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
