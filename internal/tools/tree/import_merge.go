package tree

import (
	"context"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/mutation"
	"github.com/rookeryhq/rookery/internal/tools/state"
	"github.com/rookeryhq/rookery/internal/tree"
	"github.com/rookeryhq/rookery/internal/vault"
)

// The strategies of a merge, and the value of matchBy for paths.
const (
	byUpsert  = "upsert"
	byReplace = "replace"
	bySkip    = "skip"
	byPath    = "path"
)

// An importMergeIn is the input of tree_import_merge. The three strategies say what happens to
// existing nodes; new nodes are created by each of them.
type importMergeIn struct {
	tool.Vault
	// the json output of export_subtree, as an object or as text
	JSON tool.JSON `json:"json"`
	// handling of existing nodes: upsert sets the members in the JSON; replace makes nodes equal to
	// the JSON and removes children that are not in it; skip does not change them
	Strategy string `json:"strategy,omitempty" enum:"upsert,replace,skip" default:"upsert"`
	// nodeId: by uid, otherwise by address; path: by kind and names below the target
	MatchBy string `json:"matchBy,omitempty" enum:"nodeId,path" default:"nodeId" alias:"match_by"`
	// the node below which nodes are matched and created
	TargetID string `json:"targetId,omitempty" default:"/" complete:"id" size:"id" names:"target" alias:"target_id"`
	nodeMutation
}

// A mergedNode is the result for one node of the JSON, or for one that was removed.
type mergedNode struct {
	NodeID string `json:"nodeId"`
	// created, updated, replaced, skipped, unchanged or removed
	Status string `json:"status"`
}

// An importMergeOut is the output of tree_import_merge. The counters are complete, the list is not.
type importMergeOut struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Replaced  int `json:"replaced"`
	Skipped   int `json:"skipped"`
	Unchanged int `json:"unchanged"`
	// nodes that are in the trash
	Removed int `json:"removed"`
	// the first 200, in the order of the JSON, removed ones last; unchanged nodes are not listed
	Nodes []mergedNode `json:"nodes"`
	changeOut
}

// importMerge returns the tool that merges an export of a subtree into the vault. It writes either
// all nodes or none.
//
// The JSON is parsed once outside the draft, to refuse invalid input early, and again in each run
// of it, because a merge writes its results into the nodes of the JSON.
func (f tools) importMerge() *tool.Tool {
	s := spec("import_merge", "Merge an export into the vault")
	s.Role, s.Kind, s.Idempotent, s.List = auth.Editor, tool.Destroy, true, "nodes"
	s.Body = "json"
	s.Columns = []string{"nodeId", "status"}
	s.Route = tool.Route{Method: "POST", Path: "/nodes/merge"}
	s.Commands = []tool.Command{{Words: "node merge"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in importMergeIn) (importMergeOut, error) {
		if _, err := readMerge(in.JSON); err != nil {
			return importMergeOut{}, err
		}
		w := request{c, in.Vault.Vault, &in.nodeMutation}
		out, err := change(ctx, f, w, func(ctx context.Context, e *edit, out *importMergeOut) error {
			root, err := readMerge(in.JSON) // the function can run again
			if err != nil {
				return err
			}
			m := merger{edit: e, in: in, out: out, taken: map[tree.Node]*mergeNode{},
				files: map[vault.Path]*mergedFile{}}
			return m.run(ctx, root)
		})
		if fault.Is(err, fault.BatchTooLarge) {
			err = fault.Of(err).Fix("merge smaller subtrees, one after the other")
		}
		return out, err
	})
}

// A merger is the state of one merge.
//
// The nodes of the JSON are matched with those of the vault first, and nothing is staged before all
// of them are matched, checked and planned. Texts are changed in files, in memory; stage passes
// them to the transaction at the end. A merger is for one run of the draft.
//
// Positions of sections are those of e.tree, the state before the merge. They stay right because
// the properties of all sections of a note are set in one step, which keeps the headings, and the
// structure is changed afterwards, from the last section of a note to the first.
type merger struct {
	*edit
	in     importMergeIn
	out    *importMergeOut
	target tree.Node  // the node below which the JSON is merged
	top    *mergeNode // represents the target, as the parent of the JSON's root

	taken    map[tree.Node]*mergeNode   // the nodes of the vault that are matched
	holding  map[tree.Node]bool         // the matched nodes of the vault and all their ancestors
	files    map[vault.Path]*mergedFile // the files that the merge reads or changes
	order    []vault.Path               // keys of files, in order of insertion
	problems []*fault.Fault             // of the nodes that cannot be merged
	bins     []trashItem                // sections to move to the trash
	removed  []tree.Node                // the removed nodes, without their descendants
}

// A trashItem is a text to move to the trash, with its former path.
type trashItem struct {
	path vault.Path
	text []byte
}

// run drafts the merge, in phases: it matches the nodes of the JSON with those of the vault,
// patches the texts of the matched nodes, places the new nodes and collects the removed ones, and
// stages the files. No problem may remain before it stages anything, so either all nodes are merged
// or none.
//
// A problem of one node does not end a phase, so the fault lists the problems of all nodes. Errors
// that are not about a node, such as those of the store, are returned at once.
func (m *merger) run(ctx context.Context, root *mergeNode) (err error) {
	if m.target, err = m.node("targetId", m.in.TargetID); err != nil {
		return err
	}
	if source, ok := m.tree.Source(m.target); ok {
		// The children of a node that represents another one are those of the other.
		m.target = source
	}
	m.out.Nodes = []mergedNode{}
	m.top = &mergeNode{NodeID: m.target.ID(), match: m.target, matched: true, Children: &[]*mergeNode{root}}
	root.parent = m.top
	m.matchAll(root)
	m.markHolding()
	if err := m.coversBelow(ctx, root); err != nil {
		return err
	}
	if err := m.patchAll(ctx, root); err != nil {
		return err
	}
	if err := m.placeAll(ctx); err != nil {
		return err
	}
	if len(m.problems) > 0 {
		return m.invalid()
	}
	if err := m.stage(ctx); err != nil {
		return err
	}
	if err := m.sortFolders(ctx, root); err != nil {
		return err
	}
	return m.finishMerge(ctx, root)
}

// coversBelow returns CONFLICT if anything in the scope of the merge changed after the version
// token: the notes and folders below the node that the root of the JSON matches or, without a
// match, below the target.
func (m *merger) coversBelow(ctx context.Context, root *mergeNode) error {
	top := m.target
	if root.matched {
		top = root.match
	}
	if top.Kind() == tree.Vault {
		return m.checkAllUnchanged()
	}
	going := state.KeepGoing(ctx)
	for n := range m.tree.Walk(top.Holder(), nil) {
		if !going() {
			return ctx.Err()
		}
		if n.Section == 0 {
			if err := m.checkUnchanged(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchAll matches the nodes of the JSON with those of the vault.
//
// Children are matched even below a node that is not matched: by nodeId they can be anywhere in the
// target. The root must match, or be of a kind that can be created below the target; otherwise
// nothing else is matched. A node of the vault is matched at most once, by the first node of the
// JSON that names it; another one that names it counts as new.
func (m *merger) matchAll(root *mergeNode) {
	m.matchRoot(root)
	if !root.matched && !mayContain(m.target.Kind(), root.Kind) {
		m.problem(root, invalidParameter(kindMismatch, "the top node of the JSON cannot be below the target"))
		return
	}
	m.matchBelow(root)
}

// markHolding records the matched nodes and all their ancestors. Such nodes must not be removed by
// the strategy replace.
func (m *merger) markHolding() {
	m.holding = map[tree.Node]bool{}
	for n := range m.taken {
		// The walk ends at an ancestor that was recorded before, and with it all above.
		for ok := true; ok && !m.holding[n]; n, ok = m.tree.Parent(n) {
			m.holding[n] = true
		}
	}
}

// matchRoot matches the root of the JSON. By path, it matches the node at its address, if that is
// in the target, or else the child of the target with the same name. Otherwise it matches like
// matchID.
func (m *merger) matchRoot(root *mergeNode) {
	if m.in.MatchBy != byPath {
		m.matchID(root)
		return
	}
	if n, ok := m.tree.Find(root.NodeID); ok && m.tree.Within(n, m.target) && m.match(root, n) {
		return
	}
	m.matchNames([]*mergeNode{root}, m.tree.OwnChildren(m.target))
}

// matchID matches a node by its uid or else by its address. Only nodes in the target match.
func (m *merger) matchID(g *mergeNode) {
	if _, isUID := index.ParseUID(g.UID); isUID {
		if n, ok := m.tree.Find(g.UID); ok && m.tree.Within(n, m.target) && m.match(g, n) {
			return
		}
	}
	if n, ok := m.tree.Find(g.NodeID); ok && m.tree.Within(n, m.target) {
		m.match(g, n)
	}
}

// match matches two nodes and reports whether it did. A node of the vault that is already matched
// is not matched again.
func (m *merger) match(g *mergeNode, n tree.Node) bool {
	if m.taken[n] != nil {
		return false
	}
	g.match, g.matched, m.taken[n] = n, true, g
	if n.Kind() != g.Kind {
		m.problem(g, invalidParameter(kindMismatch, "the node of the vault that matches is a %s", n.Kind()))
	}
	return true
}

// matchBelow matches the descendants of a node.
//
// By path, a child matches the child of its parent's match with the same kind and name; below a
// node without a match nothing matches.
func (m *merger) matchBelow(g *mergeNode) {
	if m.in.MatchBy == byPath && g.matched {
		m.matchNames(g.children(), m.tree.OwnChildren(g.match))
	}
	for _, child := range g.children() {
		if m.in.MatchBy != byPath {
			m.matchID(child)
		}
		m.matchBelow(child)
	}
}

// problem records why a node cannot be merged.
func (m *merger) problem(g *mergeNode, err error) {
	m.problems = append(m.problems, fault.Of(err).With("nodeId", g.NodeID))
}

// invalid returns the fault for all nodes that cannot be merged.
//
// It has the reason of the first problem, and at most fault.MaxProblems of them.
func (m *merger) invalid() error {
	first := m.problems[0]
	f := invalidParameter("invalid_nodes", "%d nodes of json cannot be merged; nothing is written. The first: %s",
		len(m.problems), first.Message).
		With("argument", "json").With("nodeId", first.Details["nodeId"])
	if reason, ok := first.Details["reason"]; ok {
		f = f.With("reason", reason)
	}
	f.Errors = m.problems[:min(len(m.problems), fault.MaxProblems)]
	return f
}

// finishMerge rewrites references and fills the output with the results for the nodes.
//
// The statuses are counted after references were rewritten, since only then the final addresses are
// known.
func (m *merger) finishMerge(ctx context.Context, root *mergeNode) error {
	if _, err := m.finish(ctx, tree.Node{}, false, &m.out.changeOut); err != nil {
		return err
	}
	m.out.DryRun = m.in.DryRun
	if m.Touched() {
		m.address()
	}
	if err := root.each(func(g *mergeNode) error {
		m.count(g)
		return ctx.Err()
	}); err != nil {
		return err
	}
	for _, n := range m.removed {
		m.out.Removed++
		m.list(n.ID(), "removed")
	}
	if !m.in.DryRun {
		return nil
	}
	staged, err := m.Staged(ctx)
	m.out.WouldModify = firstChanges(staged)
	return err
}

// firstChanges returns the first changes of a draft, for the output of a dry run. Files in the
// trash are omitted.
func firstChanges(staged []repo.Staged) (all []mutation.FileChange) {
	for _, s := range staged {
		if !vault.InTrash(string(s.Path)) && len(all) < tool.MaxPage {
			all = append(all, mutation.ChangeOf(s))
		}
	}
	return all
}

// count adds the result of a node to the counts. Skipped and unchanged nodes are not listed.
func (m *merger) count(g *mergeNode) {
	id := g.NodeID
	if to, ok := m.out.IDMap[id]; ok {
		id = to
	}
	switch g.status {
	case "created":
		m.out.Created++
	case "updated":
		m.out.Updated++
	case "replaced":
		m.out.Replaced++
	case "skipped":
		m.out.Skipped++
		return
	default:
		m.out.Unchanged++
		return
	}
	m.list(id, g.status)
}

// list adds a node to the listed results, up to tool.MaxPage.
func (m *merger) list(id, status string) {
	if len(m.out.Nodes) < tool.MaxPage {
		m.out.Nodes = append(m.out.Nodes, mergedNode{id, status})
	}
}

// address adds the addresses of created nodes to the id map, by their addresses in the JSON. It
// must be called when everything is staged and the references are rewritten.
//
// A created node has the address that follows from its place and title, which can differ from the
// one in the JSON. Created sections are found by their position among the children of their parent,
// because they have no identity that the JSON knows.
func (m *merger) address() {
	after := tree.New(m.Index())
	var visit func(g *mergeNode, n tree.Node, ok bool)
	visit = func(g *mergeNode, n tree.Node, ok bool) {
		if g.status == "created" && ok && n.ID() != g.NodeID {
			m.out.IDMap[g.NodeID] = n.ID()
		}
		var below []tree.Node
		if ok && n.Note != nil {
			below = after.OwnChildren(n)
		}
		at := map[*mergeNode]tree.Node{}
		for i, child := range g.final {
			// Positions can be compared only if all planned children are there.
			if len(below) == len(g.final) && child != nil {
				at[child] = below[i]
			}
		}
		for _, child := range g.children() {
			next, found := at[child]
			switch {
			case found:
			case child.matched:
				next, found = after.Find(m.tree.UID(child.match))
			case child.path != "":
				next, found = after.Find(addressOf(child.path))
			}
			visit(child, next, found)
		}
	}
	n, ok := after.Find(m.tree.UID(m.target))
	visit(m.top, n, ok)
}

// oneLine returns a title in the form of a heading: with single spaces.
func oneLine(title string) string { return strings.Join(strings.Fields(title), " ") }
