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
			w.WriteString("tags:\n  - " + strings.Join(tags, "\n  - ") + "\n")
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
