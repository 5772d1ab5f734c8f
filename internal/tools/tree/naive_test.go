package tree_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
)

// A naive is a node of a tree that writes its own files: what a vault is held against.
type naive struct {
	above    *naive
	children []*naive
	kind     string // vault, folder, note or section
	path     string // of the file, or of the folder with a slash at the end
	uid      string // that the vault gave it
	level    int    // of the heading of a section
	title    string
	fields   []naiveField // in text order; tags are one of them
	body     string
	refers   *naive // what the body refers to at its end
	version  uint64 // with which the file of the node changed last
}

// A naiveField is a text, a whole number, or a list of tags.
type naiveField struct {
	name  string
	value any
}

// all are a node and all below it, in the order of the tree.
func (n *naive) all() []*naive {
	nodes := []*naive{n}
	for _, child := range n.children {
		nodes = append(nodes, child.all()...)
	}
	return nodes
}

// find is the node below another one with an address.
func (n *naive) find(id string) *naive {
	for _, below := range n.all() {
		if below.id() == id {
			return below
		}
	}
	return nil
}

// file is the note or the folder whose file has a node.
func (n *naive) file() *naive {
	for n.kind == "section" {
		n = n.above
	}
	return n
}

// filePath is the path of the file that has a node.
func (n *naive) filePath() string {
	if f := n.file(); f.kind == "note" {
		return f.path
	}
	return n.file().path + "_folder.md"
}

// id is the address of a node: that of a section has the slug of its title, with a number from the second of that
// title in the note on.
func (n *naive) id() string {
	switch n.kind {
	case "vault":
		return "/"
	case "folder":
		return n.path
	case "note":
		return strings.TrimSuffix(n.path, ".md")
	}
	slug, same := strings.ToLower(n.title), 1
	for _, other := range n.file().all() {
		if other == n {
			break
		}
		if other.kind == "section" && other.title == n.title {
			same++
		}
	}
	if same > 1 {
		slug = fmt.Sprintf("%s-%d", slug, same)
	}
	return n.file().id() + "#" + slug
}

// name is what a node is called.
func (n *naive) name() string {
	if n.title == "" {
		return strings.TrimSuffix(path.Base("/"+n.path), "/")
	}
	return n.title
}

// depth is how many nodes are above.
func (n *naive) depth() int {
	depth := 0
	for above := n.above; above != nil; above = above.above {
		depth++
	}
	return depth
}

// field is the value of a field; nil: there is none.
func (n *naive) field(name string) any {
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// set sets a field, behind those that are there; nil removes it.
func (n *naive) set(name string, value any) {
	i := slices.IndexFunc(n.fields, func(f naiveField) bool { return f.name == name })
	switch {
	case value == nil && i >= 0:
		n.fields = slices.Delete(n.fields, i, i+1)
	case value == nil:
	case i >= 0:
		n.fields[i].value = value
	default:
		n.fields = append(n.fields, naiveField{name, value})
	}
}

// tags are the tags of a node.
func (n *naive) tags() []string {
	tags, _ := n.field("tags").([]string)
	return tags
}

// setTags sets the tags of a node; without any, the field goes.
func (n *naive) setTags(tags []string) {
	if len(tags) == 0 {
		n.set("tags", nil)
		return
	}
	n.set("tags", slices.Clone(tags))
}

// text is the body of a node.
func (n *naive) text() string {
	if n.refers == nil {
		return n.body
	}
	return n.body + " [[" + n.refers.id() + "]]"
}

// write is the text of a file.
func (n *naive) write() string {
	var w strings.Builder
	w.WriteString("---\n")
	for _, f := range n.fields {
		if tags, is := f.value.([]string); is {
			w.WriteString(f.name + ":\n  - " + strings.Join(tags, "\n  - ") + "\n")
			continue
		}
		fmt.Fprintf(&w, "%s: %v\n", f.name, f.value)
	}
	w.WriteString("---\n")
	if n.kind == "folder" {
		return w.String()
	}
	w.WriteString("\n# " + n.title + "\n\n" + n.text() + "\n")
	for _, s := range n.all()[1:] {
		w.WriteString("\n" + strings.Repeat("#", s.level) + " " + s.title + "\n" + s.declaration())
		w.WriteString("\n" + s.text() + "\n")
	}
	return w.String()
}

// declaration is the line with the fields of a section, by name.
func (n *naive) declaration() string {
	var all []string
	for _, f := range n.fields {
		if tags, is := f.value.([]string); is {
			all = append(all, "tags=["+strings.Join(tags, ", ")+"]")
			continue
		}
		all = append(all, fmt.Sprintf("%s=%v", f.name, f.value))
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return "::section(" + strings.Join(all, ", ") + ")\n"
}

// writeAll are the files of a tree by path.
func (n *naive) writeAll() map[string]string {
	files := map[string]string{}
	for _, below := range n.all() {
		if below.kind == "folder" || below.kind == "note" {
			files[below.filePath()] = below.write()
		}
	}
	return files
}

// add adds a node below another one.
func (n *naive) add(child *naive) *naive {
	child.above = n
	n.children = append(n.children, child)
	return child
}

// Titles of sections, of which several in one note may have the same.
var sectionTitles = []string{"Goals", "Risks", "Notes", "Plans"}

// grow is a tree of a random shape: two folders, one in the other, with notes, and notes of the vault itself.
func grow(r *rand.Rand) *naive {
	root := &naive{kind: "vault"}
	made := []naiveField{{"made", "here"}}
	outer := root.add(&naive{kind: "folder", path: "a/", title: "A", fields: append(slices.Clone(made), naiveField{"title", "A"})})
	inner := outer.add(&naive{kind: "folder", path: "a/b/", title: "B", fields: append(slices.Clone(made), naiveField{"title", "B"})})
	for i, dir := range []*naive{inner, inner, outer, root, root} {
		note := dir.add(&naive{
			kind: "note", path: fmt.Sprintf("%sn%d.md", dir.path, i), title: fmt.Sprint("Note ", i),
			fields: slices.Clone(made), body: "Intro.",
		})
		for range r.IntN(4) {
			section := note.add(growSection(r, 2))
			for range r.IntN(3) {
				section.add(growSection(r, 3))
			}
		}
	}
	nodes := root.all()
	for _, n := range nodes {
		if to := nodes[r.IntN(len(nodes))]; n.body != "" && to.kind == "section" {
			n.refers = to
		}
	}
	return root
}

func growSection(r *rand.Rand, level int) *naive {
	s := &naive{kind: "section", level: level, title: sectionTitles[r.IntN(len(sectionTitles))], body: "Some text."}
	if r.IntN(2) == 0 {
		s.set("status", fmt.Sprint("s", r.IntN(3)))
	}
	return s
}

// leave takes a node out of the tree.
func (n *naive) leave() {
	n.above.children = slices.DeleteFunc(n.above.children, func(o *naive) bool { return o == n })
}

// levelBelow is the level that a section gets that comes below a node.
func (n *naive) levelBelow() int {
	switch {
	case len(n.children) > 0:
		return n.children[0].level
	case n.kind == "section":
		return n.level + 1
	}
	return 2
}

// deepest is the level of the deepest section of a node.
func (n *naive) deepest() int {
	level := 0
	for _, below := range n.all() {
		level = max(level, below.level)
	}
	return level
}

// goBelow puts a section behind the children of a node.
func (n *naive) goBelow(to *naive) {
	by := to.levelBelow() - n.level
	for _, below := range n.all() {
		below.level += by
	}
	to.add(n)
}

// copied is a copy of a section, alone or with all below it. What refers to something that is copied too refers to the
// copy of that.
func (n *naive) copied(alone bool) *naive {
	made := map[*naive]*naive{}
	var copyOf func(*naive) *naive
	copyOf = func(o *naive) *naive {
		c := *o
		c.uid, c.above, c.children, c.fields = "", nil, nil, slices.Clone(o.fields)
		made[o] = &c
		if !alone {
			for _, child := range o.children {
				c.add(copyOf(child))
			}
		}
		return &c
	}
	top := copyOf(n)
	for _, c := range made {
		if to := made[c.refers]; to != nil {
			c.refers = to
		}
	}
	return top
}

// isIn reports whether a node is another one, or below it.
func (n *naive) isIn(top *naive) bool { return slices.Contains(top.all(), n) }

// entries are the names of the children of a folder, as its order lists them.
func (n *naive) entries() (all []string) {
	for _, child := range n.children {
		name := path.Base(strings.TrimSuffix(child.path, ".md"))
		if child.kind == "folder" {
			name += "/"
		}
		all = append(all, name)
	}
	return all
}

// arrange puts the children of a folder in their order: those that its order lists, then folders, then notes.
func (n *naive) arrange() {
	listed, _ := n.field("order").([]string)
	names := map[*naive]string{}
	for i, name := range n.entries() {
		names[n.children[i]] = name
	}
	rank := func(c *naive) string {
		if i := slices.Index(listed, names[c]); i >= 0 {
			return fmt.Sprintf("0 %03d", i)
		}
		return map[string]string{"folder": "1 ", "note": "2 "}[c.kind] + names[c]
	}
	slices.SortFunc(n.children, func(a, b *naive) int { return strings.Compare(rank(a), rank(b)) })
}

// goInto moves a note into another folder.
func (n *naive) goInto(to *naive) {
	from := n.above
	name := strings.TrimSuffix(path.Base(n.path), ".md")
	if listed, _ := from.field("order").([]string); slices.Contains(listed, name) {
		from.setOrder(slices.DeleteFunc(slices.Clone(listed), func(o string) bool { return o == name }))
	}
	n.leave()
	if to.field("order") != nil {
		to.setOrder(append(to.entries(), name))
	}
	n.path = to.path + path.Base(n.path)
	to.add(n)
	to.arrange()
}

// setOrder sets the order of a folder; an empty one goes.
func (n *naive) setOrder(names []string) {
	if len(names) == 0 {
		n.set("order", nil)
		return
	}
	n.set("order", names)
}
