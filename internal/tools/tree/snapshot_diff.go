package tree

import (
	"context"
	"iter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	kept "github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A snapshotDiffIn is the input of tree_snapshot_diff.
type snapshotDiffIn struct {
	tool.Vault
	// snapshotId or label of the older state
	A string `json:"a" size:"name"`
	// snapshotId or label of the newer state; current is the vault now, or at as_of
	B string `json:"b,omitempty" default:"current" size:"name"`
	diffOptions
	tool.AsOf
}

// current is the name of the current state in place of a snapshot.
const current = "current"

// snapshotDiff returns the tool that compares a snapshot with another one or with the current
// state.
func (f tools) snapshotDiff() *tool.Tool {
	s := spec("snapshot_diff", "Compare a snapshot with another one, or with the current vault")
	s.Role, s.Kind, s.List = auth.Reader, tool.Read, "structure"
	s.Columns = []string{"op", "nodeId", "from", "to"}
	s.Route = tool.Route{Method: "GET", Path: "/snapshots/diff"}
	s.Commands = []tool.Command{{Words: "snapshot diff", Args: []string{"a", "b?"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in snapshotDiffIn) (diffSubtreeOut, error) {
		var out diffSubtreeOut
		r, err := f.read(ctx, c, in.Vault, in.AsOf)
		if err != nil {
			return out, err
		}
		out.at(r.view.Version())
		out.Diff, err = in.diff(ctx, r, &out.Aside)
		return out, err
	})
}

// A subtreeAt is a subtree at a version.
//
// If top is nil, everything below the other side was added or removed.
type subtreeAt struct {
	tree *tree.Tree
	top  *tree.Node // nil: it does not exist
}

// sideNames are the arguments that name the two sides.
var sideNames = [2]string{"a", "b"}

// diff compares the two subtrees that the call names.
//
// The subtree of the current state is that of the snapshot on the other side, wherever its node is
// now.
func (in snapshotDiffIn) diff(ctx context.Context, r *treeView, a *tool.Aside) (tree.Diff, error) {
	store := kept.Of(r.view.Vault)
	var labels [2]*kept.Snapshot
	for i, name := range []string{in.A, in.B} {
		if name == current {
			continue
		}
		found, err := snapshotNamed(ctx, store, sideNames[i], name)
		if err != nil {
			return tree.Diff{}, err
		}
		labels[i] = &found.Snapshot
	}
	var sides [2]subtreeAt
	for i, label := range labels {
		var err error
		if sides[i], err = r.side(ctx, label, labels[1-i]); err != nil {
			return tree.Diff{}, state.InArgument(err, sideNames[i])
		}
	}
	return in.compare(ctx, r, sides, a)
}

// side returns the subtree of a snapshot. For a nil label it returns the current state of the
// subtree of the other snapshot, or the whole vault.
//
// If the node of the other snapshot no longer exists, top is nil and there is no error. A snapshot
// whose node was erased from the log is NOT_FOUND.
func (r *treeView) side(ctx context.Context, label, other *kept.Snapshot) (subtreeAt, error) {
	if label == nil {
		top := r.Root()
		if other != nil {
			var ok bool
			if top, ok = r.labelled(other); !ok {
				return subtreeAt{r.Tree, nil}, nil
			}
		}
		return subtreeAt{r.Tree, &top}, nil
	}
	x, err := r.view.Vault.At(ctx, label.Seq)
	if err != nil {
		return subtreeAt{}, err
	}
	then := &treeView{Tree: tree.New(x)}
	top, ok := then.labelled(label)
	if !ok {
		return subtreeAt{}, fault.New(fault.NotFound,
			"the node of the snapshot was erased").With("nodeId", label.NodeID)
	}
	return subtreeAt{then.Tree, &top}, nil
}

// labelled returns the node of a snapshot, by uid or else by address.
func (r *treeView) labelled(label *kept.Snapshot) (tree.Node, bool) {
	if n, ok := r.Find(label.UID); ok {
		return n, true
	}
	return r.Find(label.NodeID)
}

// compare compares two subtrees with the options of the call.
//
// If the answer is full, further changes are only counted, and the answer has a warning.
func (in snapshotDiffIn) compare(
	ctx context.Context, r *treeView, sides [2]subtreeAt, a *tool.Aside,
) (tree.Diff, error) {
	d := tree.Differ{Tree: sides[0].tree, After: sides[1].tree, Fits: a.Fits}
	changes := in.apply(ctx, &d, r.withTree(sides[0].tree), r.withTree(sides[1].tree))
	r.prefetch(ctx, sides)
	going := state.KeepGoing(ctx)
	out := d.CompareVersions(sides[0].top, sides[1].top, going)
	if err := ctx.Err(); err != nil {
		return out, err // the list is incomplete
	}
	if out.Truncated {
		a.Warn("TREE_LIMIT_EXCEEDED", "the lists have the first changes; summary counts all of them", nil)
	}
	return in.prune(out), *changes
}

// withTree returns a treeView of another version of the vault. It has no session, because a
// comparison shows all properties.
func (r *treeView) withTree(t *tree.Tree) *treeView {
	other := &treeView{Tree: t, view: r.view}
	other.view.Index = t.Index
	other.texts.read = other.text
	return other
}

// prefetch prefetches the texts of the notes that differ between the two versions.
//
// Notes with the same text are not read at all.
func (r *treeView) prefetch(ctx context.Context, sides [2]subtreeAt) {
	for i, side := range sides {
		if side.top == nil {
			continue
		}
		other := sides[1-i].tree.Index
		view := r.view
		view.Index = side.tree.Index
		view.Prefetch(ctx, iter.Seq[string](func(yield func(string) bool) {
			for f := range filesBelow(view.Index, side.top.Holder()) {
				if o, ok := other.File(f.Path); ok && o.Digest != f.Digest && !yield(f.Path) {
					return
				}
			}
		}))
	}
}
