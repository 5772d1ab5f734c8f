package tree_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tools/state"
)

// modelSteps is how many calls a random history has.
const modelSteps = 300

// TestTreesAreThatOfTheModel makes random calls of the tools that change the vault or what sessions keep, a fifth of
// them refused, on a vault and on a naive tree. After each call both have the same nodes, identities, views of three
// sessions, bookmarks, and bytes; and so they have after restarts and after the index is rebuilt.
func TestTreesAreThatOfTheModel(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 26))
		m := &model{T: t, Rand: r, root: grow(r), dir: t.TempDir(), labels: map[string]*naive{}, snapshots: map[string]map[*naive]naiveState{}}
		m.place = openAt(t, m.dir)
		defer func() { m.close() }()
		for i := range m.views {
			m.views[i] = &naiveView{collapsed: map[*naive]bool{}, excluded: map[string]bool{}}
		}
		m.fill(t, m.root.writeAll())
		m.newest = m.seq()
		m.learn()
		m.check("the beginning")
		for i := range modelSteps {
			m.step()
			if i == modelSteps/2 {
				m.restart()
			}
		}
		m.restart()
		m.rebuild()
		m.askSnapshots()
		t.Logf("%d calls, %d refused, %d changes of the vault", m.calls, m.refusals, m.newest)
	})
}

// A model is a vault and the naive tree that it is held against.
type model struct {
	*testing.T
	*rand.Rand
	*place
	root   *naive
	dir    string
	newest uint64
	views  [3]*naiveView
	labels map[string]*naive // bookmarks

	// snapshots are the nodes of each snapshot, by its label; nil if the structure has changed since: what a restore
	// does to the structure is not modelled.
	snapshots map[string]map[*naive]naiveState

	calls, refusals, fresh int
}

// A naiveView is what a session has set.
type naiveView struct {
	collapsed map[*naive]bool
	excluded  map[string]bool // members that it does not show
}

// everything are the properties that the nodes are compared by.
var everything = []string{
	"uid", "kind", "name", "path", "depth", "level", "tags", "title", "payload", "body", "bodyBytes",
}

func (m *model) seq() uint64 {
	seq, ok := eventlog.ParseVersion(m.token(m.T))
	require.True(m, ok)
	return seq
}

// session is the place as the session with a number has it.
func (m *model) session(i int) *place { return m.as("agent", fmt.Sprint("session ", i)) }

// learn takes over the identities and versions that the vault gave the nodes.
func (m *model) learn() {
	var take func(args)
	take = func(shape args) {
		n := m.root.find(shape["nodeId"].(string))
		require.NotNil(m, n, shape["nodeId"])
		n.uid = shape["uid"].(string)
		n.version, _ = eventlog.ParseVersion(shape["version"].(string))
		children, _ := shape["children"].([]any)
		for _, child := range children {
			take(child.(args))
		}
	}
	take(m.data(m.T, "get_subtree", args{"nodeId": "/", "limit": 200})["node"].(args))
}

// restart opens the place anew.
func (m *model) restart() {
	m.close()
	m.place = openAt(m.T, m.dir)
	m.check("a restart")
}

// rebuild makes the index anew from the log.
func (m *model) rebuild() {
	v, err := state.Source{Teams: m.teams}.Vault(m.Context(), auth.LocalCaller(), "v")
	require.NoError(m, err)
	_, err = v.Rebuild(m.Context(), true)
	require.NoError(m, err)
	m.check("a rebuild")
}

// check holds the vault against the tree.
func (m *model) check(after string) {
	m.Helper()
	require.Equal(m, m.newest, m.seq(), after)
	answer := m.data(m.T, "get_subtree", args{"nodeId": "/", "limit": 200, "includedProperties": everything})
	require.Equal(m, m.round(m.shape(m.root)), answer["node"], after)
	require.Equal(m, m.root.writeAll(), m.files(m.T), after)
	for i, v := range m.views {
		answer := m.session(i).data(m.T, "get_view", args{"limit": 200})
		require.Equal(m, m.round(m.view(v, m.root)), answer["view"], "%s: session %d", after, i)
	}
	bookmarks := map[string]any{}
	for _, b := range m.session(0).data(m.T, "list_bookmarks", nil)["bookmarks"].([]any) {
		bookmarks[b.(args)["label"].(string)] = b.(args)["nodeId"]
	}
	want := map[string]any{}
	for label, n := range m.labels {
		want[label] = n.id()
	}
	require.Equal(m, want, bookmarks, after)
}

// round is a value as JSON has it.
func (m *model) round(v args) args { return decode(m.T, marshalled(m.T, v)) }

// payload are the fields of a node that it does not show beside them.
func (n *naive) payload() args {
	all := args{}
	for _, f := range n.fields {
		if f.name != "tags" && f.name != "title" && f.name != "order" {
			all[f.name] = f.value
		}
	}
	return all
}

// shape is a node of the tree with all below it, as get_subtree has it.
func (m *model) shape(n *naive) args {
	shape := args{
		"nodeId": n.id(), "uid": n.uid, "kind": n.kind, "payloadType": n.payloadType(), "name": n.name(), "title": n.name(),
		"depth": n.depth(), "childrenCount": len(n.children), "isExpanded": true, "payload": n.payload(),
		"version": eventlog.Version(n.version), "body": n.text(),
	}
	if n.path != "" || n.kind == "section" {
		shape["path"] = n.file().path
	}
	if n.kind != "vault" {
		shape["bodyBytes"] = len(n.text())
	}
	if n.level > 0 {
		shape["level"] = n.level
	}
	if len(n.tags()) > 0 {
		shape["tags"] = n.tags()
	}
	var children []any
	for _, child := range n.children {
		children = append(children, m.shape(child))
	}
	if len(children) > 0 {
		shape["children"] = children
	}
	return shape
}

func (n *naive) payloadType() string {
	if n.kind == "note" {
		return "page"
	}
	return n.kind
}

// view is a node with all that a session shows below it, as get_view has it.
func (m *model) view(v *naiveView, n *naive) args {
	shape := n.payload()
	maps.Copy(shape, args{
		"nodeId": n.id(), "uid": n.uid, "kind": n.kind, "payloadType": n.payloadType(), "name": n.name(), "title": n.name(),
		"childrenCount": len(n.children), "isExpanded": !v.collapsed[n], "version": eventlog.Version(n.version),
	})
	if n.kind != "vault" {
		shape["bodyBytes"] = len(n.text())
	}
	if len(n.tags()) > 0 {
		shape["tags"] = n.tags()
	}
	for name := range v.excluded {
		delete(shape, name)
	}
	var children []any
	for _, child := range n.children {
		children = append(children, m.view(v, child))
	}
	if len(children) > 0 && !v.collapsed[n] {
		shape["children"] = children
	}
	return shape
}

// pick is one of some.
func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// node is a random node: not the vault, which has no file.
func (m *model) node(kinds ...string) *naive {
	return pick(m.Rand, slices.DeleteFunc(m.root.all(), func(n *naive) bool {
		return n.kind == "vault" || len(kinds) > 0 && !slices.Contains(kinds, n.kind)
	}))
}

// name is an address or the identity of a node.
func (m *model) name(n *naive) string {
	if m.IntN(3) == 0 {
		return n.uid
	}
	return n.id()
}

// step makes one call.
func (m *model) step() {
	m.calls++
	switch k := m.IntN(20); {
	case k < 4:
		m.refusals++
		m.refuse()
	case k < 9:
		m.change()
	case k < 13:
		m.restructure()
	case k < 14:
		m.edit()
	default:
		m.look()
	}
}

// A deed is a call that changes the vault, and the same on the tree.
type deed struct {
	tool    string
	in      args
	touches []*naive
	do      func()
}

// change makes a call that changes the vault: with any token that covers what it touches, and sometimes only tried.
func (m *model) change() { m.carryOut(m.deed()) }

// carryOut makes a call that changes the vault, and does the same on the tree.
func (m *model) carryOut(d deed) {
	covers := uint64(0)
	for _, n := range d.touches {
		covers = max(covers, n.version)
	}
	if len(d.touches) == 0 {
		covers = m.newest
	}
	in := args{"versionToken": eventlog.Version(covers + m.Uint64N(m.newest-covers+1))}
	maps.Copy(in, d.in)
	what := fmt.Sprint(d.tool, " ", in)
	if m.IntN(8) == 0 {
		in["dryRun"] = true
		m.data(m.T, d.tool, in)
		m.check("tried: " + what)
		return
	}
	before, ids, sets := m.root.writeAll(), m.ids(), m.childSets()
	d.do()
	m.commit(before)
	m.touchFolders(sets)
	answer := m.data(m.T, d.tool, in)
	require.Equal(m, eventlog.Version(m.newest), answer["versionToken"], what)
	m.meet()
	moved, there := args{}, m.root.all()
	for n, was := range ids {
		if slices.Contains(there, n) && n.id() != was {
			moved[was] = n.id()
		}
	}
	require.Equal(m, moved, answer["idMap"], what)
	m.check(what)
}

// ids are the addresses of all nodes.
func (m *model) ids() map[*naive]string {
	all := map[*naive]string{}
	for _, n := range m.root.all() {
		all[n] = n.id()
	}
	return all
}

// commit gives the nodes of the files that changed a new version, if there are such.
func (m *model) commit(before map[string]string) {
	after := m.root.writeAll()
	if maps.Equal(before, after) {
		return
	}
	m.newest++
	for _, n := range m.root.all() {
		if n.kind != "vault" && before[n.filePath()] != after[n.filePath()] {
			n.version = m.newest
		}
	}
}

// deed is a random change.
func (m *model) deed() deed {
	n := m.node()
	switch m.IntN(8) {
	case 7:
		if m.label() != "" {
			return m.restoring()
		}
	case 0, 1:
		name, v, do := m.property(n)
		return deed{"update_payload_property", args{"nodeId": m.name(n), "propertyName": name, "newValue": v}, []*naive{n}, do}
	case 2:
		name, v, do := m.property(n)
		prio := m.IntN(9)
		return deed{"update_payload", args{"nodeId": m.name(n), "patch": args{name: v, "prio": prio}}, []*naive{n}, func() {
			if name < "prio" { // the order in which fields are set
				do()
				n.set("prio", prio)
				return
			}
			n.set("prio", prio)
			do()
		}}
	case 3:
		return m.bulk()
	case 4:
		tags := m.tags()
		return deed{"untag_node", args{"nodeId": m.name(n), "tags": tags}, []*naive{n}, func() {
			n.setTags(slices.DeleteFunc(slices.Clone(n.tags()), func(tag string) bool { return slices.Contains(tags, tag) }))
		}}
	}
	tags, replace := m.tags(), m.IntN(3) == 0
	in := args{"nodeId": m.name(n), "tags": tags, "replaceExisting": replace}
	return deed{"tag_node", in, []*naive{n}, func() {
		var has []string
		if !replace {
			has = n.tags()
		}
		for _, tag := range tags {
			if !slices.Contains(has, tag) {
				has = append(slices.Clip(has), tag)
			}
		}
		n.setTags(has)
	}}
}

// tags are some tags, each once.
func (m *model) tags() []string {
	all := []string{"red", "blue", "green"}
	m.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+m.IntN(2)]
}

// property is a property of a node, a value for it, and the change of the tree.
func (m *model) property(n *naive) (name string, v any, do func()) {
	switch k := m.IntN(4); {
	case k == 0 && n.kind != "folder":
		body, to := fmt.Sprint("Text ", m.IntN(1000), "."), m.node("section")
		if m.IntN(2) == 0 {
			to = nil
		}
		next := naive{body: body, refers: to}
		return "body", next.text(), func() { n.body, n.refers = body, to }
	case k == 1:
		title := fmt.Sprint("Page ", m.IntN(9))
		if n.kind == "section" {
			title = pick(m.Rand, sectionTitles)
		}
		return pick(m.Rand, []string{"title", "name"}), title, func() {
			n.title = title
			if n.kind == "folder" {
				n.set("title", title)
			}
		}
	case k == 2 && n.field("status") != nil:
		return "status", nil, func() { n.set("status", nil) }
	}
	status := fmt.Sprint("s", m.IntN(3))
	return pick(m.Rand, []string{"status", "payload.status"}), status, func() { n.set("status", status) }
}

// bulk changes all nodes of a status.
func (m *model) bulk() deed {
	status, prio := fmt.Sprint("s", m.IntN(3)), m.IntN(9)
	var all []*naive
	for _, n := range m.root.all() {
		if n.field("status") == status {
			all = append(all, n)
		}
	}
	in := args{"filter": "status = " + status, "patch": args{"prio": prio}}
	return deed{"update_nodes", in, all, func() {
		for _, n := range all {
			n.set("prio", prio)
		}
	}}
}

// edit replaces the file of a note from outside: the body of one node in it is another one.
func (m *model) edit() {
	n, before := m.node("note", "section"), m.root.writeAll()
	n.body = fmt.Sprint("Outside ", m.IntN(1000), ".")
	m.commit(before)
	m.put(m.T, map[string]string{n.filePath(): n.file().write()})
	m.check("an edit from outside of " + n.id())
}

// refuse makes a call that is refused.
func (m *model) refuse() {
	n, newest := m.node("note", "section"), eventlog.Version(m.newest)
	id := m.name(n)
	sound := args{"nodeId": id, "propertyName": "prio", "newValue": -1, "versionToken": newest}
	tool, code, in := "update_payload_property", fault.InvalidParameter, args{}
	switch m.IntN(11) {
	case 0:
		code, in = fault.Conflict, args{"versionToken": ""}
	case 1:
		code, in = fault.Conflict, args{"versionToken": eventlog.Version(m.newest + 1)}
	case 2:
		code, in = fault.Conflict, args{"versionToken": eventlog.Version(n.version - 1)}
	case 3:
		code, in = fault.NotFound, args{"nodeId": n.file().id() + "#absent"}
	case 4:
		in = args{"propertyName": pick(m.Rand, []string{"nodeId", "uid", "children", "version"})}
	case 5:
		in = args{"propertyName": "body", "newValue": "x\n\n## Escape"}
	case 6:
		in = args{"propertyName": "title", "newValue": "two\nlines"}
	case 7:
		tool, sound = "update_payload", args{"nodeId": id, "versionToken": newest, "atomic": true, "patch": args{"prio": -1, "uid": 1}}
	case 8:
		tool, sound = pick(m.Rand, []string{"tag_node", "untag_node"}), args{"nodeId": id, "versionToken": newest, "tags": []string{"w", "a,b"}}
	case 9:
		tool, sound = "update_nodes", args{"filter": "made = here AND", "versionToken": newest, "patch": args{"prio": -1}}
	case 10:
		tool, code = "collapse_node", fault.Conflict
		sound = args{"nodeId": id, "versionToken": eventlog.Version(m.newest + 1)}
	}
	maps.Copy(sound, in)
	what := fmt.Sprint(tool, " ", sound)
	p := m.session(m.IntN(len(m.views)))
	require.Equal(m, code, p.refused(m.T, tool, sound).Code, what)
	m.check("refused: " + what)
}

// look makes a call that changes what a session or an agent keeps.
func (m *model) look() {
	i := m.IntN(len(m.views))
	p, v, n := m.session(i), m.views[i], pick(m.Rand, m.root.all())
	in := args{"nodeId": m.name(n)}
	var tool string
	switch m.IntN(18) {
	case 13, 14, 15, 16:
		m.ask(n)
		return
	case 17:
		m.removeBookmark()
		return
	case 12:
		m.mergeBack(n)
		return
	case 9, 10:
		m.snapshot()
		return
	case 11:
		m.compare()
		return
	case 0:
		tool = "toggle_node"
		v.collapsed[n] = !v.collapsed[n]
	case 1:
		tool = "collapse_node"
		v.collapsed[n] = true
	case 2:
		tool = "expand_node"
		v.collapsed[n] = false
	case 3, 4:
		collapse := m.IntN(2) == 0
		tool, in = map[bool]string{true: "collapse_all", false: "expand_all"}[collapse], args{"rootNodeId": m.name(n)}
		v.setBelow(n, func(int) bool { return collapse })
	case 5:
		levels := m.IntN(3)
		tool, in = "set_expansion_recursive", args{"nodeId": m.name(n), "expanded": true, "maxDepth": levels}
		v.setBelow(n, func(depth int) bool { return depth >= levels })
	case 6:
		names := []string{"status", "prio", "tags", "title"}[m.IntN(3):]
		tool, in = "set_filters", args{"excluded": names, "scope": "view"}
		v.excluded = map[string]bool{}
		for _, name := range names {
			v.excluded[name] = true
		}
	case 7:
		label := pick(m.Rand, []string{"one", "two", "three"})
		tool, in = "bookmark", args{"nodeId": m.name(n), "label": label, "overwrite": true}
		m.labels[label] = n
	case 8:
		m.copyView(i)
		return
	}
	what := fmt.Sprint(tool, " ", in, " of session ", i)
	p.write(m.T, tool, in)
	m.check(what)
}

// setBelow sets what is collapsed of a node and all below it, by the depth below the node.
func (v *naiveView) setBelow(top *naive, collapsed func(depth int) bool) {
	for _, n := range top.all() {
		v.collapsed[n] = collapsed(n.depth() - top.depth())
	}
}

// copyView exports the view of a session, and imports it into the next one. What the view does not show is expanded then.
func (m *model) copyView(i int) {
	from, to := m.views[i], (i+1)%len(m.views)
	exported := m.session(i).data(m.T, "export_view", args{"rootNodeId": "/"})["viewJson"]
	next := m.session(to)
	next.write(m.T, "import_view", args{"viewJson": exported})
	v := &naiveView{collapsed: map[*naive]bool{}, excluded: maps.Clone(from.excluded)}
	for _, n := range m.root.all() {
		v.collapsed[n] = from.collapsed[n] && from.shows(n)
	}
	m.views[to] = v
	m.check(fmt.Sprint("the view of session ", i, " in session ", to))
}

// shows reports whether nothing above a node is collapsed.
func (v *naiveView) shows(n *naive) bool {
	for above := n.above; above != nil; above = above.above {
		if v.collapsed[above] {
			return false
		}
	}
	return true
}

// childSets are the children of each folder.
func (m *model) childSets() map[*naive]string {
	all := map[*naive]string{}
	for _, n := range m.root.all() {
		if n.kind == "folder" || n.kind == "vault" {
			names := n.entries()
			slices.Sort(names)
			all[n] = fmt.Sprint(names)
		}
	}
	return all
}

// touchFolders gives folders whose children came or went a new version.
func (m *model) touchFolders(before map[*naive]string) {
	for n, now := range m.childSets() {
		if before[n] != now {
			n.version = m.newest
		}
	}
}

// meet takes over the identities of nodes that are new.
func (m *model) meet() {
	for _, n := range m.root.all() {
		if n.uid == "" {
			n.uid = m.data(m.T, "get_node", args{"nodeId": n.id()})["node"].(args)["uid"].(string)
		}
		n.version = max(n.version, n.file().version)
	}
}

// restructure makes a call by which nodes come, go or move. All sessions show all nodes before it: what a rule shows of
// a node depends on where it is.
func (m *model) restructure() {
	for i, v := range m.views {
		m.session(i).write(m.T, "expand_all", args{"rootNodeId": "/"})
		v.collapsed = map[*naive]bool{}
	}
	for {
		if d, ok := m.structural(); ok {
			m.carryOut(d)
			for label := range m.snapshots {
				m.snapshots[label] = nil
			}
			return
		}
	}
}

// structural is a random change of the structure; ok is false if it cannot be made on the nodes that were drawn.
func (m *model) structural() (d deed, ok bool) {
	k := m.IntN(13)
	if k > 9 {
		return m.merged(), len(m.root.all()) < 120
	}
	if k == 9 || !slices.ContainsFunc(m.root.all(), func(n *naive) bool { return n.kind == "section" }) {
		to := m.node("note", "section")
		title := pick(m.Rand, sectionTitles)
		made := &naive{kind: "section", level: to.levelBelow(), title: title, body: "Fresh."}
		in := args{"parentNodeId": m.name(to), "payloadType": "section", "payloadProps": args{"title": title, "body": "Fresh."}}
		return deed{"add_child", in, []*naive{to}, func() { to.add(made) }}, made.level <= 6 && len(m.root.all()) < 120
	}
	if k > 6 {
		return m.rearranged()
	}
	n, to := m.node("section"), m.node("note", "section")
	depth := to.levelBelow() + n.deepest() - n.level
	touches := []*naive{n, to}
	switch k {
	case 0, 1, 2:
		in := args{"nodeId": m.name(n), "newParentId": m.name(to)}
		was := slices.DeleteFunc(slices.Clone(to.children), func(o *naive) bool { return o == n })
		return deed{"move_node", in, touches, func() {
			n.leave()
			n.goBelow(to)
		}}, !to.isIn(n) && depth <= 6 && len(was) == len(to.children)
	case 3:
		in := args{"sourceId": m.name(n), "targetParentId": m.name(to)}
		return deed{"copy_subtree", in, touches, func() { n.copied(false).goBelow(to) }}, depth <= 6 && len(m.root.all()) < 120
	case 4:
		in := args{"nodeId": m.name(n), "targetParentId": m.name(to)}
		return deed{"clone_node", in, touches, func() { n.copied(true).goBelow(to) }}, to.levelBelow() <= 6 && len(m.root.all()) < 120
	case 5:
		return deed{"remove_node", args{"nodeId": m.name(n)}, []*naive{n}, n.leave}, m.isFree(n)
	}
	parent := n.above
	return deed{"sort_children", args{"parentId": m.name(parent), "byProp": "title"}, []*naive{parent}, func() {
		slices.SortStableFunc(parent.children, func(a, b *naive) int { return strings.Compare(a.title, b.title) })
	}}, true
}

// isFree reports whether nothing else is about a node or what is below it: no reference, and no bookmark.
func (m *model) isFree(n *naive) bool {
	for _, other := range m.root.all() {
		if other.refers != nil && other.refers.isIn(n) && !other.isIn(n) {
			return false
		}
	}
	for _, marked := range m.labels {
		if marked.isIn(n) {
			return false
		}
	}
	return true
}

// rearranged is a change of the order of a folder or of sections, or a move of a note.
func (m *model) rearranged() (d deed, ok bool) {
	n := m.node("section", "note")
	siblings := n.above.children
	other := pick(m.Rand, siblings)
	if n.kind == "note" && n.above.kind == "vault" {
		return d, false // the vault has no file here
	}
	if n.kind == "note" && m.IntN(2) == 0 {
		to := m.node("folder")
		in := args{"nodeId": m.name(n), "newParentId": m.name(to)}
		return deed{"move_node", in, []*naive{n, n.above, to}, func() { n.goInto(to) }}, to != n.above
	}
	behind := m.IntN(2)
	tool := []string{"move_before", "move_after"}[behind]
	touched := n
	if n.kind == "note" {
		touched = n.above
	}
	in := args{"nodeId": m.name(n), "siblingId": m.name(other)}
	return deed{tool, in, []*naive{touched}, func() {
		above, was := n.above, slices.Clone(siblings)
		if other == n {
			return
		}
		n.leave()
		above.children = slices.Insert(above.children, slices.Index(above.children, other)+behind, n)
		if n.kind == "note" && !slices.Equal(was, above.children) {
			above.setOrder(above.entries())
		}
	}}, true
}

// A naiveState is what a node was at a snapshot.
type naiveState struct {
	naive
	id, text string
}

// snapshot makes a snapshot of the vault, in place of one with its label.
func (m *model) snapshot() {
	label := pick(m.Rand, []string{"first", "second"})
	if _, there := m.snapshots[label]; there {
		m.write(m.T, "snapshot_delete", args{"snapshotId": label})
	}
	m.write(m.T, "snapshot_create", args{"label": label})
	m.snapshots[label] = map[*naive]naiveState{}
	for _, n := range m.root.all() {
		was := naiveState{*n, n.id(), n.text()}
		was.fields = slices.Clone(n.fields)
		m.snapshots[label][n] = was
	}
	m.check("a snapshot")
}

// label is a random label of a snapshot whose nodes are known; empty: there is none.
func (m *model) label() string {
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(m.snapshots)), func(label string) bool {
		return m.snapshots[label] == nil
	})
	if len(known) == 0 {
		return ""
	}
	return pick(m.Rand, known)
}

// restoring is the way back to a snapshot.
func (m *model) restoring() deed {
	label := m.label()
	return deed{"snapshot_restore", args{"snapshotId": label}, nil, func() {
		for n, was := range m.snapshots[label] {
			n.title, n.fields, n.body, n.refers = was.title, slices.Clone(was.fields), was.body, was.refers
		}
	}}
}

// compare holds the difference between a snapshot and now against the tree.
func (m *model) compare() {
	label, renamed, payload, metadata := m.label(), 0, 0, 0
	if label == "" {
		return
	}
	for n, was := range m.snapshots[label] {
		_, slug, _ := strings.Cut(n.id(), "#")
		if _, before, _ := strings.Cut(was.id, "#"); slug != before {
			renamed++
		}
		if n.name() != was.name() {
			payload++
		}
		if n.text() != was.text {
			payload++
		}
		names := map[string]bool{}
		for _, f := range slices.Concat(n.fields, was.fields) {
			names[f.name] = f.name != "tags" && f.name != "title"
		}
		for name, counts := range names {
			if counts && !reflect.DeepEqual(n.field(name), was.field(name)) {
				payload++
			}
		}
		if !slices.Equal(n.tags(), was.tags()) {
			metadata++
		}
	}
	diff := m.data(m.T, "snapshot_diff", args{"a": label})
	require.Equal(m, m.round(args{
		"added": 0, "removed": 0, "moved": 0, "reordered": 0, "renamed": renamed, "payload": payload, "metadata": metadata,
	}), diff["summary"], diff)
}

// mergeBack merges the export of a node back, which changes nothing.
func (m *model) mergeBack(n *naive) {
	root := m.data(m.T, "export_subtree", args{"nodeId": m.name(n)})["json"]
	in := args{
		"json": root, "strategy": pick(m.Rand, []string{"upsert", "replace", "skip"}), "matchBy": pick(m.Rand, []string{"nodeId", "path"}),
	}
	m.write(m.T, "import_merge", in)
	m.check(fmt.Sprint("the export of ", n.id(), " merged back: ", in["strategy"], " ", in["matchBy"]))
}

// A mergePlan is an export that is changed, and what its merge does to the tree.
type mergePlan struct {
	*model
	strategy string
	do       []func()
}

// merged merges the export of a node with random changes: by each strategy, and each way to match.
func (m *model) merged() deed {
	top := m.node()
	root := m.data(m.T, "export_subtree", args{"nodeId": m.name(top)})["json"].(args)
	plan := mergePlan{model: m, strategy: pick(m.Rand, []string{"upsert", "replace", "skip"})}
	plan.edit(top, root)
	in := args{"json": root, "strategy": plan.strategy, "matchBy": pick(m.Rand, []string{"nodeId", "path"})}
	touches := []*naive{top.file()}
	if top.kind == "folder" {
		touches = top.all()
	}
	return deed{"import_merge", in, touches, func() {
		for _, do := range plan.do {
			do()
		}
	}}
}

// edit changes the JSON of a node and of those below it at random.
func (p *mergePlan) edit(n *naive, json args) {
	p.editPayload(n, json)
	if n.kind != "folder" && p.IntN(6) == 0 {
		delete(json, "children") // what is below is not spoken of
		return
	}
	children := json["children"].([]any)
	var kept []*naive
	var left []any
	for i, child := range n.children {
		if child.kind == "section" && p.IntN(6) == 0 && p.isFree(child) {
			continue
		}
		p.edit(child, children[i].(args))
		kept, left = append(kept, child), append(left, children[i])
	}
	if n.kind == "folder" {
		return
	}
	if p.IntN(4) == 0 {
		slices.Reverse(kept)
		slices.Reverse(left)
	}
	if p.strategy == "replace" {
		p.do = append(p.do, func() { n.children = kept })
	}
	if p.IntN(4) == 0 && max(n.levelBelow(), n.level+1) <= 6 {
		p.fresh++
		title := fmt.Sprint("Fresh", p.fresh)
		left = append(left, args{
			"nodeId": n.file().id() + "#" + strings.ToLower(title), "title": title, "body": "Fresh.", "payload": args{"prio": 1}, "children": []any{},
		})
		p.do = append(p.do, func() {
			n.add(&naive{kind: "section", level: n.levelBelow(), title: title, body: "Fresh.", fields: []naiveField{{"prio", 1}}})
		})
	}
	json["children"] = append([]any{}, left...)
}

// editPayload changes what the JSON says of the node itself.
func (p *mergePlan) editPayload(n *naive, json args) {
	var do func()
	switch k := p.IntN(8); {
	case k == 0 && n.kind != "folder":
		body := fmt.Sprint("Merged ", p.IntN(1000), ".")
		json["body"] = body
		do = func() { n.body, n.refers = body, nil }
	case k == 1:
		prio := p.IntN(9)
		json["payload"].(args)["prio"] = prio
		do = func() { n.set("prio", prio) }
	case k == 2 && n.kind == "section":
		title := pick(p.Rand, sectionTitles)
		json["title"] = title
		do = func() { n.title = title }
	case k == 3 && n.field("prio") != nil:
		payload := json["payload"].(args)
		if delete(payload, "prio"); p.strategy == "upsert" {
			payload["prio"] = nil
		}
		do = func() { n.set("prio", nil) }
	}
	if do != nil && p.strategy != "skip" {
		p.do = append(p.do, do)
	}
}
