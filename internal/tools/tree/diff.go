package tree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/merge"
	kept "github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A diffSubtreeIn is the input of tree_diff_subtree. Both nodes are of the same version of the
// vault.
type diffSubtreeIn struct {
	tool.Vault
	// address or uid of the first node
	A string `json:"aId" complete:"id" size:"id" names:"target" alias:"a_id,a"`
	// address or uid of the second node
	B string `json:"bId" complete:"id" size:"id" names:"target" alias:"b_id,b"`
	diffOptions
	tool.AsOf
}

// A diffOptions is the part of an input that selects what a comparison includes.
//
// Pointers have defaults that the tool model fills in, so they are never nil when a call is
// handled.
type diffOptions struct {
	// compare fields, titles and texts
	IncludePayloads *bool `json:"includePayloads,omitempty" default:"true" alias:"include_payloads"`
	// compare the structure
	IncludeShape *bool `json:"includeStructure,omitempty" default:"true" alias:"include_structure"`
	// compare tags
	IncludeMetadata *bool `json:"includeMetadata,omitempty" default:"true" alias:"include_metadata"`
	// include unified diffs of texts
	IncludeBody bool `json:"includeBody,omitempty" alias:"include_body"`
	// levels below the nodes
	MaxDepth *int `json:"maxDepth,omitempty" min:"0" alias:"max_depth" absent:"all levels"`
}

// A diffSubtreeOut is the output of the tools that compare subtrees.
type diffSubtreeOut struct {
	tree.Diff
	versionOut
}

// maxCompared is the maximum number of nodes of each compared subtree.
//
// A comparison keeps all nodes of both subtrees in memory.
const maxCompared = 10_000

// diffSubtree returns the tool that compares two subtrees at one version. For two versions of one
// subtree there is tree_snapshot_diff.
func (f tools) diffSubtree() *tool.Tool {
	s := spec("diff_subtree", "Compare two subtrees")
	s.Role, s.Kind, s.List = auth.Reader, tool.Read, "structure"
	s.Columns = []string{"op", "nodeId", "from", "to"}
	s.Route = tool.Route{Method: "GET", Path: "/view/diff"}
	s.Commands = []tool.Command{{Words: "node diff", Args: []string{"aId", "bId"}}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in diffSubtreeIn) (diffSubtreeOut, error) {
		var out diffSubtreeOut
		r, err := f.read(ctx, c, in.Vault, in.AsOf)
		if err != nil {
			return out, err
		}
		out.at(r.view.Version())
		a, err := r.comparable("aId", in.A)
		if err != nil {
			return out, err
		}
		b, err := r.comparable("bId", in.B)
		if err != nil {
			return out, err
		}
		out.Diff, err = in.diff(ctx, r, a, b)
		return out, err
	})
}

// comparable returns a node that can be compared with all its descendants. It returns
// BATCH_TOO_LARGE if there are more than maxCompared, and NOT_FOUND if arg names no node. It counts
// by a walk that ends at the limit.
func (r *treeView) comparable(arg, id string) (tree.Node, error) {
	n, err := r.node(arg, id)
	if err != nil {
		return n, err
	}
	count := 0
	for range r.Walk(n, nil) {
		if count++; count > maxCompared {
			return n, fault.New(fault.BatchTooLarge, "there are more than %d nodes to compare", maxCompared).
				With("argument", arg).With("max", maxCompared).Fix("compare a smaller subtree")
		}
	}
	return n, nil
}

// diff compares two nodes with the options of the call.
func (in diffSubtreeIn) diff(ctx context.Context, r *treeView, a, b tree.Node) (tree.Diff, error) {
	d := tree.Differ{Tree: r.Tree}
	failed := in.apply(ctx, &d, r, r)
	out := d.Compare(a, b)
	return in.prune(out), *failed
}

// apply sets the options of a Differ. Texts are read while it compares, so failed is set after the
// comparison: it points to the first error.
//
// d.Body compares the own texts of two nodes; it is set only if payloads are compared. It reads one
// file at a time of each side. A caller must check failed before it uses the result.
func (in diffOptions) apply(ctx context.Context, d *tree.Differ, before, after *treeView) (failed *error) {
	d.MaxDepth, failed = endless, new(error)
	if in.MaxDepth != nil {
		d.MaxDepth = *in.MaxDepth
	}
	if !*in.IncludePayloads {
		return failed
	}
	left, right := texts{read: before.text}, texts{read: after.text}
	// The Differ has no place for an error, so the first one is kept for the caller.
	d.Body = func(a, b tree.Node) (tree.PayloadChange, bool) {
		was, _, err1 := left.load(ctx, a)
		is, _, err2 := right.load(ctx, b)
		for _, err := range []error{err1, err2, ctx.Err()} {
			if *failed == nil && err != nil {
				*failed = err
			}
		}
		if string(was) == string(is) {
			return tree.PayloadChange{}, false
		}
		change := tree.PayloadChange{Before: hash(was), After: hash(is)}
		if in.IncludeBody {
			change.Diff = unified(merge.Hunks(string(was)+"\n", string(is)+"\n"))
		}
		return change, true
	}
	return failed
}

// prune returns a difference without the parts that the call excludes.
//
// The comparison itself always covers the structure and the metadata, which cost little.
func (in diffOptions) prune(out tree.Diff) tree.Diff {
	if !*in.IncludePayloads {
		out.Payload, out.Summary.Payload = []tree.PayloadChange{}, 0
	}
	if !*in.IncludeShape {
		out.Structure = []tree.StructureChange{}
		out.Summary = tree.DiffSummary{Payload: out.Summary.Payload, Metadata: out.Summary.Metadata}
	}
	if !*in.IncludeMetadata {
		out.Metadata, out.Summary.Metadata = []tree.PayloadChange{}, 0
	}
	return out
}

// hash returns a digest of a text, for the output: the first 64 bits of its SHA-256. A caller can
// only compare it with other digests of this family.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// maxDiff is the maximum number of bytes of the difference of two texts.
const maxDiff = 16 << 10

// unified returns hunks in the unified format, truncated to maxDiff bytes of whole lines.
func unified(hunks []merge.Hunk) string {
	var b strings.Builder
	for _, h := range hunks {
		for line := range strings.Lines(h.String()) {
			if b.Len()+len(line) > maxDiff {
				return b.String()
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

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
