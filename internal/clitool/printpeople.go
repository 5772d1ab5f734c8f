package clitool

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// data prints the data of an answer for people. The layout depends only on the shape of the data,
// because this package knows no tool:
//
//   - a text that has a path, or is the only member, is printed as it is, so that it can be piped
//     into another program;
//   - a dry run begins with a line that says so;
//   - lists of objects become tables;
//   - everything else is printed as name: value, with objects indented below their names.
func (p *printer) data(v value) {
	switch path, content := v.get("path"), v.get("content"); {
	case v.isEmpty():
	case v.get("dry_run").text == "true":
		v.remove("dry_run")
		fmt.Fprintln(p.out, "dry run: nothing was changed")
		p.members(v.shown(), "")
	case path.kind == textKind && content.kind == textKind && v.get("action").kind == nullKind:
		p.text(content.text)
	case len(v.members) == 1 && v.get("text").kind == textKind:
		p.text(v.get("text").text)
	default:
		p.whole(v)
	}
}

// text prints a text. On a terminal it escapes control characters and adds a final line feed;
// elsewhere the bytes are unchanged.
func (p *printer) text(s string) {
	if p.terminal {
		s = escapeControls(s)
		if s != "" && !strings.HasSuffix(s, "\n") {
			s += "\n"
		}
	}
	io.WriteString(p.out, s)
}

// whole prints data that is not a text. If it contains only one thing, only that is printed,
// without its name: the name of the only list in an answer says nothing to a person who asked for
// it.
func (p *printer) whole(v value) {
	if shown := v.shown(); len(shown) == 1 && shown[0].isThing() {
		v = shown[0].value
	}
	switch {
	case v.isRows():
		p.table(v.items)
	case v.kind == listKind:
		for _, item := range v.items {
			p.printf("%s\n", item.inline())
		}
	case v.kind == objectKind:
		p.parts(v.shown())
	default:
		p.printf("%s\n", v.inline())
	}
}

// itemsKey is the default name of a list (CONTRACT §1). People do not see it.
const itemsKey = "items"

// parts prints the members of the data, lists of objects as tables. On a terminal, the main list of
// the answer has no heading, because the numbers beside it are about this list. Elsewhere every
// list has one, so that a script can find it.
func (p *printer) parts(members []member) {
	for _, m := range members {
		if m.isRows() {
			if !p.terminal || m.name != cmp.Or(p.list, itemsKey) {
				p.printf("%s:\n", m.title())
			}
			p.table(m.items)
			continue
		}
		p.member(m, "")
	}
}

// members prints members, one after the other.
func (p *printer) members(members []member, indent string) {
	for _, m := range members {
		p.member(m, indent)
	}
}

// member prints a name and its value. A value that does not fit on the line is indented below: a
// text of several lines with a bar before each, a list of objects with dashes, and an object member
// by member.
func (p *printer) member(m member, indent string) {
	inner := indent + "  "
	switch {
	case m.isScalar() && strings.Contains(m.text, "\n"):
		p.printf("%s%s:\n", indent, m.title())
		for line := range strings.Lines(m.text) {
			p.printf("%s| %s\n", inner, strings.TrimSuffix(line, "\n"))
		}
	case m.isRows():
		p.printf("%s%s:\n", indent, m.title())
		for _, item := range m.items {
			p.item(item, inner)
		}
	case m.kind == objectKind && m.branches() != "":
		p.printf("%s%s:\n", indent, m.title())
		p.outline(m.value, m.branches(), inner)
	case m.kind == objectKind:
		p.printf("%s%s:\n", indent, m.title())
		p.members(m.shown(), inner)
	default:
		p.printf("%s%s: %s\n", indent, m.title(), m.inline())
	}
}

// item prints an object in a list: its first member after a dash, the others below:
//
//   - id: people/freya
//     type: person
func (p *printer) item(v value, indent string) {
	dash := indent + "- "
	for _, m := range v.shown() {
		if dash != "" && m.isScalar() && !strings.Contains(m.text, "\n") {
			p.printf("%s%s: %s\n", dash, m.title(), m.inline())
			dash = ""
			continue
		}
		if dash != "" {
			p.printf("%s\n", strings.TrimRight(dash, " "))
			dash = ""
		}
		p.member(m, indent+"  ")
	}
}

// printf prints on Out. On a terminal it escapes control characters, also those in the format.
// Errors of Out are ignored, because they cannot be reported anywhere.
func (p *printer) printf(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if p.terminal {
		s = escapeControls(s)
	}
	io.WriteString(p.out, s)
}

// shown returns the members to show: those that are not empty, except an object with the same id as
// v, whose members are shown beside it: some tools return the whole object in addition to its most
// important members.
func (v value) shown() []member {
	id := v.get("id")
	var members []member
	for _, m := range v.members {
		whole := m.kind == objectKind && id.kind == textKind && m.get("id").text == id.text
		if !m.isEmpty() && !whole {
			members = append(members, m)
		}
	}
	return members
}

// inline formats the value on one line for people: lists with commas, objects as name=value, and a
// value with its number of occurrences as both. Line breaks in texts are kept. The result cannot be
// parsed; a program must use JSON.
func (v value) inline() string {
	var parts []string
	switch v.kind {
	case listKind:
		for _, item := range v.items {
			parts = append(parts, item.inline())
		}
	case objectKind:
		shown := v.shown()
		if len(shown) == 2 && shown[0].kind == textKind && strings.HasSuffix(shown[1].name, "Count") {
			return shown[0].text + " " + shown[1].text // a value and its number of occurrences
		}
		for _, m := range shown {
			parts = append(parts, m.name+"="+m.inline())
		}
	default:
		return v.text
	}
	return strings.Join(parts, ", ")
}

// diffs prints objects with diffs: the columns of each on one line, and its diff below. An object
// without a diff has only its line, and an empty line separates two objects:
//
//	v42  2026-11-26  freya  people/bjorn.md
//	@@ -3,1 +3,1 @@
//	-Paint the north wall
//	+Paint the south wall
func (p *printer) diffs(columns []string, items []value) {
	for i, item := range items {
		if i > 0 {
			p.printf("\n")
		}
		var head []string
		for _, name := range columns {
			if text := textOf(item.get(name)); text != "" {
				head = append(head, text)
			}
		}
		p.coloured(yellow, strings.Join(head, "  "))
		for line := range strings.Lines(item.get(p.diff).text) {
			p.coloured(colourOf(line), strings.TrimSuffix(line, "\n"))
		}
	}
}

// coloured prints a line in a colour, if colours are used, and escapes it on a terminal. An empty
// colour is none.
func (p *printer) coloured(colour, line string) {
	if p.terminal {
		line = escapeControls(strings.TrimSuffix(line, "\r"))
	}
	if colour != "" {
		line = p.paint(colour, line)
	}
	_, _ = io.WriteString(p.out, line+"\n") // an error of Out cannot be reported anywhere else
}

// colourOf returns the colour of a line of a diff, as in git: red for removed lines, green for
// added ones, cyan for positions, and none for the lines around them.
func colourOf(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	}
	return ""
}

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
