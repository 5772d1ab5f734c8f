package tree

import (
	"context"
	_ "embed"
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

//go:embed import_merge.md
var importMergeDoc string

// The strategies of a merge, and what nodes match by.
const (
	byUpsert  = "upsert"
	byReplace = "replace"
	bySkip    = "skip"
	byPath    = "path"
)

type importMergeIn struct {
	tool.Vault
	JSON     tool.JSON `json:"json" jsonschema:"the json output of export_subtree, as an object or as text"`
	Strategy string    `json:"strategy,omitempty" enum:"upsert,replace,skip" default:"upsert" jsonschema:"handling of existing nodes: upsert sets the members in the JSON; replace makes nodes equal to the JSON and removes children that are not in it; skip does not change them"`
	MatchBy  string    `json:"matchBy,omitempty" enum:"nodeId,path" default:"nodeId" alias:"match_by" jsonschema:"nodeId: by uid, otherwise by address; path: by kind and names below the target"`
	TargetID string    `json:"targetId,omitempty" default:"/" complete:"id" size:"id" names:"target" alias:"target_id" jsonschema:"the node below which nodes are matched and created"`
	nodeMutation
}

// A mergedNode is what became of a node of the JSON, or of one that was removed.
type mergedNode struct {
	NodeID string `json:"nodeId"`
	Status string `json:"status" jsonschema:"created, updated, replaced, skipped, unchanged or removed"`
}

type importMergeOut struct {
	Created   int          `json:"created"`
	Updated   int          `json:"updated"`
	Replaced  int          `json:"replaced"`
	Skipped   int          `json:"skipped"`
	Unchanged int          `json:"unchanged"`
	Removed   int          `json:"removed" jsonschema:"nodes that are in the trash"`
	Nodes     []mergedNode `json:"nodes" jsonschema:"the first 200, in the order of the JSON, removed ones last; unchanged nodes are not listed"`
	changed
}

func (f tools) importMerge() *tool.Tool {
	s := spec("import_merge", "Merge an export into the vault", importMergeDoc)
	s.Role, s.Kind, s.Idempotent, s.List = auth.Editor, tool.Destroy, true, "nodes"
	s.Body = "json"
	s.Columns = []string{"nodeId", "status"}
	s.Route = tool.Route{Method: "POST", Path: "/nodes/merge"}
	s.Commands = []tool.Command{{Words: "node merge"}}
	return tool.New(s, func(ctx context.Context, c auth.Caller, in importMergeIn) (importMergeOut, error) {
		if _, err := readMerge(in.JSON); err != nil {
			return importMergeOut{}, err
		}
		w := writing{c, in.Vault.Vault, &in.nodeMutation}
		out, err := change(ctx, f, w, func(ctx context.Context, e *edit, out *importMergeOut) error {
			root, err := readMerge(in.JSON) // the function may run again
			if err != nil {
				return err
			}
			m := merging{edit: e, in: in, out: out, taken: map[tree.Node]*mergeNode{}, files: map[vault.Path]*mergedFile{}}
			return m.run(ctx, root)
		})
		if fault.Is(err, fault.BatchTooLarge) {
			err = fault.Of(err).Fix("merge smaller subtrees, one after the other")
		}
		return out, err
	})
}

// A merging is a merge that is under way.
type merging struct {
	*edit
	in     importMergeIn
	out    *importMergeOut
	target tree.Node
	top    *mergeNode // stands for the target, above the root of the JSON

	taken    map[tree.Node]*mergeNode
	holding  map[tree.Node]bool // those that are taken, and all that have one of them below
	files    map[vault.Path]*mergedFile
	order    []vault.Path // of files, as they came
	problems []*fault.Fault
	bins     []binned
	removed  []tree.Node
}

// A binned is a text that goes into the trash, and the path that it had.
type binned struct {
	path vault.Path
	text []byte
}

// run drafts the merge. All nodes are looked at before anything is staged.
func (m *merging) run(ctx context.Context, root *mergeNode) (err error) {
	if m.target, err = m.node("targetId", m.in.TargetID); err != nil {
		return err
	}
	if source, ok := m.tree.Source(m.target); ok {
		m.target = source // below a node that stands for another one are the nodes of that
	}
	m.out.Nodes = []mergedNode{}
	m.top = &mergeNode{NodeID: m.target.ID(), match: m.target, matched: true, Children: &[]*mergeNode{root}}
	root.parent = m.top
	m.matchAll(root)
	m.hold()
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
	return m.settleMerge(ctx, root)
}

// coversBelow is CONFLICT if something changed that the merge could be about: what is below the node that the root of the
// JSON matches, else below the target.
func (m *merging) coversBelow(ctx context.Context, root *mergeNode) error {
	top := m.target
	if root.matched {
		top = root.match
	}
	if top.Kind() == tree.Vault {
		return m.coversAll()
	}
	going := state.Going(ctx)
	for n := range m.tree.Walk(top.Holder(), nil) {
		if !going() {
			return ctx.Err()
		}
		if n.Section == 0 {
			if err := m.covers(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchAll finds the node of the vault for each of the JSON.
func (m *merging) matchAll(root *mergeNode) {
	m.matchRoot(root)
	if !root.matched && !mayContain(m.target.Kind(), root.Kind) {
		m.problem(root, wrong(kindMismatch, "the top node of the JSON cannot be below the target"))
		return
	}
	m.matchBelow(root)
}

// hold notes which nodes the JSON has, or has something below.
func (m *merging) hold() {
	m.holding = map[tree.Node]bool{}
	for n := range m.taken {
		for ok := true; ok && !m.holding[n]; n, ok = m.tree.Parent(n) {
			m.holding[n] = true
		}
	}
}

// matchRoot matches the node at the top: at its address below the target, else as the child of the target with its name.
func (m *merging) matchRoot(root *mergeNode) {
	if m.in.MatchBy != byPath {
		m.matchID(root)
		return
	}
	if n, ok := m.tree.Find(root.NodeID); ok && m.tree.Within(n, m.target) && m.take(root, n) {
		return
	}
	for _, n := range m.tree.OwnChildren(m.target) {
		if n.Key() == root.key() && m.take(root, n) {
			return
		}
	}
}

// matchID matches a node by its uid, else by its address.
func (m *merging) matchID(g *mergeNode) {
	if _, isUID := index.ParseUID(g.UID); isUID {
		if n, ok := m.tree.Find(g.UID); ok && m.tree.Within(n, m.target) && m.take(g, n) {
			return
		}
	}
	if n, ok := m.tree.Find(g.NodeID); ok && m.tree.Within(n, m.target) {
		m.take(g, n)
	}
}

// take matches two nodes, unless the one of the vault is matched already.
func (m *merging) take(g *mergeNode, n tree.Node) bool {
	if m.taken[n] != nil {
		return false
	}
	g.match, g.matched, m.taken[n] = n, true, g
	if n.Kind() != g.Kind {
		m.problem(g, wrong(kindMismatch, "the node of the vault that matches is a %s", n.Kind()))
	}
	return true
}

// matchBelow matches the nodes below one.
func (m *merging) matchBelow(g *mergeNode) {
	keys := map[string]tree.Node{}
	if m.in.MatchBy == byPath && g.matched {
		for _, n := range m.tree.OwnChildren(g.match) {
			keys[n.Key()] = n
		}
	}
	for _, child := range g.children() {
		if m.in.MatchBy != byPath {
			m.matchID(child)
		} else if n, ok := keys[child.key()]; ok {
			m.take(child, n)
		}
		m.matchBelow(child)
	}
}

// problem notes why a node cannot be merged.
func (m *merging) problem(g *mergeNode, err error) {
	m.problems = append(m.problems, fault.Of(err).With("nodeId", g.NodeID))
}

// invalid is the fault of nodes that cannot be merged.
func (m *merging) invalid() error {
	first := m.problems[0]
	f := wrong("invalid_nodes", "%d nodes of json cannot be merged; nothing is written. The first: %s", len(m.problems), first.Message).
		With("argument", "json").With("nodeId", first.Details["nodeId"])
	if reason, ok := first.Details["reason"]; ok {
		f = f.With("reason", reason)
	}
	f.Errors = m.problems[:min(len(m.problems), fault.MaxProblems)]
	return f
}

// settleMerge says what became of the nodes, and rewrites references.
func (m *merging) settleMerge(ctx context.Context, root *mergeNode) error {
	if _, err := m.settle(ctx, tree.Node{}, false, &m.out.changed); err != nil {
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

// firstChanges are the first files of a draft as a dry run shows them.
func firstChanges(staged []repo.Staged) (all []mutation.FileChange) {
	for _, s := range staged {
		if !vault.InTrash(string(s.Path)) && len(all) < tool.MaxPage {
			all = append(all, mutation.ChangeOf(s))
		}
	}
	return all
}

// count counts what became of a node.
func (m *merging) count(g *mergeNode) {
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

func (m *merging) list(id, status string) {
	if len(m.out.Nodes) < tool.MaxPage {
		m.out.Nodes = append(m.out.Nodes, mergedNode{id, status})
	}
}

// address adds the addresses of new nodes to the map, by those that they have in the JSON.
func (m *merging) address() {
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

// oneLine is a title as a heading has it.
func oneLine(title string) string { return strings.Join(strings.Fields(title), " ") }
