package tree

import (
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
)

// matchNames matches children of the JSON with the children of a node of the vault by their names:
// the last parts of their addresses. Sections that have no match so match by their headings, those
// with the same heading in their order.
//
// The number of a slug such as notes-2 depends on all other headings of the note, so a section has
// another one in the note to which it is merged; and a merge does not keep declared ids. By the
// addresses alone, a merge that is repeated would create such sections once more. For the same
// reason the addresses of several sections with one heading count only if all of them match.
func (m *merger) matchNames(given []*mergeNode, there []tree.Node) {
	byKey := map[string]tree.Node{}
	for _, n := range there {
		byKey[n.Key()] = n
	}
	shifted := map[string]bool{} // the headings of numbered sections of which one has no match
	for _, child := range given {
		if _, ok := byKey[child.key()]; !ok && child.isNumbered() {
			shifted[markdown.Slug(child.title())] = true
		}
	}
	matchKey := func(child *mergeNode) {
		if n, ok := byKey[child.key()]; ok && !child.matched {
			m.match(child, n)
		}
	}
	for _, child := range given {
		if !child.isNumbered() || !shifted[markdown.Slug(child.title())] {
			matchKey(child)
		}
	}
	m.matchHeadings(given, there)
	for _, child := range given {
		matchKey(child)
	}
}

// matchHeadings matches the sections that have no match yet by their headings, in their order.
func (m *merger) matchHeadings(given []*mergeNode, there []tree.Node) {
	byHeading := map[string][]tree.Node{}
	for _, n := range there {
		if n.Section > 0 && m.taken[n] == nil {
			h := markdown.Slug(m.tree.Name(n))
			byHeading[h] = append(byHeading[h], n)
		}
	}
	for _, child := range given {
		if child.matched || child.Kind != tree.Section {
			continue
		}
		if h := markdown.Slug(child.title()); len(byHeading[h]) > 0 {
			m.match(child, byHeading[h][0])
			byHeading[h] = byHeading[h][1:]
		}
	}
}

// isNumbered reports whether the last part of the address of a section is the slug of its title,
// with or without a number.
func (g *mergeNode) isNumbered() bool {
	slug, ok := strings.CutPrefix(g.key(), "#"+markdown.Slug(g.title()))
	if g.Kind != tree.Section || !ok {
		return false
	}
	number, ok := strings.CutPrefix(slug, "-")
	_, err := strconv.Atoi(number)
	return slug == "" || ok && err == nil
}
