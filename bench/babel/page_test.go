package babel_test

import (
	"fmt"
	"slices"
	"strings"
)

// A page is a note that is being written.
type page struct {
	*world
	*plan
	lines []string
	note  Note
}

// write writes the note of a plan.
func (w *world) write(p *plan) Note {
	g := &page{world: w, plan: p}
	g.note = Note{Path: p.id + ".md", ID: p.id, Language: p.code}
	for part := range strings.SplitSeq(p.id, "/") {
		g.say(part)
	}
	g.frontmatter()
	g.line("# " + g.sentence(2))
	g.line("")
	g.body()
	if p.heading != "" {
		g.line("## " + g.say(p.heading))
	}
	g.traits()
	g.identifiers()
	g.code()
	g.note.Text = strings.Join(g.lines, g.ending()) + g.ending()
	g.note.Words = distinct(g.note.Words)
	return g.note
}

// ending returns the line break of a note: one note in five has that of Windows.
func (g *page) ending() string {
	if g.number%5 == 3 {
		return "\r\n"
	}
	return "\n"
}

func (g *page) line(text string) { g.lines = append(g.lines, text) }

// say returns a word that is written, and that a search must find.
func (g *page) say(word string) string {
	g.note.Words = append(g.note.Words, word)
	return word
}

// frontmatter writes the name, the alias, and references in two of the forms that fields can have.
func (g *page) frontmatter() {
	switch {
	case g.day:
		return
	case g.name == "":
		g.fields("tags: [" + g.say(g.word(g.language)) + "]")
		return
	}
	for part := range strings.SplitSeq(g.name, " ") {
		g.say(part)
	}
	g.fields("type: person", "name: "+g.name, "alias: \""+g.say(g.alias)+"\"")
	g.lines = g.lines[:len(g.lines)-1]
	g.line(`friend: "` + g.refer(g.known()) + `"`)
	bare := g.known()
	g.line("mentor: '" + bare.Target + "'")
	bare.Line = len(g.lines)
	g.note.References = append(g.note.References, bare)
	g.line("---")
}

func (g *page) fields(lines ...string) {
	g.line("---")
	for _, l := range lines {
		g.line(l)
	}
	g.line("---")
}

// body writes a reference of each kind, with words around it.
func (g *page) body() {
	for _, kind := range []func() Reference{
		g.byPath, g.byFile, g.byLoudPath, g.bySuffix, g.known, g.known, g.loud, g.bySlug, g.shared,
		g.inSection, g.sectionName, g.byDay, g.noWord, g.noPath, g.noSection,
	} {
		g.line(g.sentence(3) + " " + g.refer(kind()))
		g.line("")
	}
}

// refer returns a reference in brackets, for the next line that is written.
func (g *page) refer(r Reference) string {
	r.Line = len(g.lines) + 1
	g.note.References = append(g.note.References, r)
	if g.rand.IntN(4) == 0 {
		return "[[" + r.Target + "|" + g.say(g.word(g.language)) + "]]"
	}
	return "[[" + r.Target + "]]"
}

// sentence returns some words.
func (g *page) sentence(n int) string {
	words := []string{g.say(g.word(g.language))}
	if g.cased {
		words[0] = capital(words[0])
	}
	for range n - 1 {
		words = append(words, g.say(g.word(g.language)))
	}
	return strings.Join(words, g.gap) + g.stop
}

// traits writes list items with traits, one of them with a reference as its value.
func (g *page) traits() {
	g.line("- @due(2026-03-02) @urgent " + g.sentence(2))
	g.line("- @owner(" + g.refer(g.known()) + ") " + g.sentence(2))
}

// identifiers writes words in the form of identifiers in programs.
func (g *page) identifiers() {
	parts := strings.Fields("parse config file read snake case name kebab server mode vault list")
	g.rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	a, b, c := parts[0], parts[1], parts[2]
	own := []string{
		a + capital(b) + capital(c), a + "_" + b + "_" + c, b + "-" + c,
		fmt.Sprintf("v%d.%d.%d", g.rand.IntN(9), g.rand.IntN(9), g.rand.IntN(9)),
		g.word(g.language) + "_" + g.latin(),
	}
	g.line("")
	for _, id := range own {
		g.line(g.word(g.language) + " " + id + ", ")
	}
	g.note.Identifiers = own
	g.note.Words = append(append(g.note.Words, own...), a, b, c)
}

// latin returns a short word of Latin letters.
func (g *page) latin() string { return "x" + g.plan.code }

// code writes code, in which nothing is a reference.
func (g *page) code() {
	g.line("")
	g.line("`[[" + g.say(g.word(g.language)) + "]]`")
	g.line("```")
	g.line("[[" + g.say(g.word(g.language)) + "]] @due(never)")
	g.line("```")
}

func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
