package clitool

import (
	"slices"
	"strings"
)

// branches returns the name of the list that makes an object a tree: all of its items have a list
// with the same name. It returns "" if there is none. The children of headings in an outline, and
// folders in a vault, have this shape. The levels below are not checked; an item whose list is
// empty is a leaf.
func (v value) branches() string {
	i := slices.IndexFunc(v.members, func(m member) bool {
		return m.isRows() && !slices.ContainsFunc(m.items, func(item value) bool {
			return item.get(m.name).kind != listKind
		})
	})
	if i < 0 {
		return ""
	}
	return v.members[i].name
}

// outline prints a tree: a line for each node that has values, with its children indented below:
//
//	daily  notes 12
//	2026  notes 12
//	people  notes 3
//
// branches is the name of the list of children.
func (p *printer) outline(v value, branches, indent string) {
	if line := v.node(branches); line != "" {
		p.printf("%s%s\n", indent, line)
		indent += "  "
	}
	for _, item := range v.get(branches).items {
		p.outline(item, branches, indent)
	}
}

// node formats a node of a tree on one line: its first text, then the names and values of its other
// members. A root without a name is a dot. It returns "" for a node without values.
func (v value) node(branches string) string {
	var first string
	var others []string
	for i, m := range v.members {
		switch {
		case m.name == branches:
		case i == 0 && m.kind == textKind && m.text == "":
			first = "." // a root without a name
		case i == 0 && m.kind == textKind:
			first = m.inline()
		case !m.isEmpty():
			others = append(others, m.title()+" "+m.inline())
		}
	}
	return strings.TrimSpace(first + "  " + strings.Join(others, ", "))
}
