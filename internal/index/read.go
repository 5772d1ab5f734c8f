package index

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Parsed is the parsed text of a note, so that With need not parse it again. It is immutable, and
// does not depend on an index.
type Parsed struct{ file *File }

// NewParsed returns the parsed text of the note at a path. doc must be the result of markdown.Parse
// for text. was is the note before a change, or nil: it shares its Mentions, which need not be computed
// again. It returns nil, which is a valid Parsed that has nothing, if the file is not a note.
func NewParsed(path string, text []byte, doc *markdown.Doc, was *Note) *Parsed {
	if !isNote(path) {
		return nil
	}
	f := &File{Path: path, Size: len(text), Digest: DigestOf(text)}
	f.Note = newNote(f, text, doc, was)
	return &Parsed{f}
}

// Note returns the note as it is in the text, without what the schema adds. The caller must not
// change it.
func (p *Parsed) Note() *Note { return p.file.Note }

// ParseText returns the parsed text of the file at a path; see NewParsed.
func ParseText(path string, text []byte, was *Note) *Parsed {
	if !isNote(path) {
		return nil
	}
	return NewParsed(path, text, markdown.Parse(text), was)
}

// of returns the file of a change if p is its parsed text, and nil otherwise. The result is a copy
// that the caller may change.
func (p *Parsed) of(version uint64, ch Change) *File {
	if p == nil || p.file.Path != ch.Path || p.file.Size != len(ch.Text) || p.file.Digest != DigestOf(ch.Text) {
		return nil
	}
	f := p.file.Note.mutableCopy().File
	f.Body, f.Version = ch.Body, version
	return f
}

// newFile returns the parsed file that a commit changed. It does not depend on the index, so several
// goroutines can call it at once.
func newFile(version uint64, ch Change) *File {
	if f := ch.Parsed.of(version, ch); f != nil {
		return f
	}
	f := &File{
		Path: ch.Path, Size: len(ch.Text), Digest: DigestOf(ch.Text), Body: ch.Body, Version: version,
	}
	if isNote(f.Path) {
		f.Note = newNote(f, ch.Text, markdown.Parse(ch.Text), nil)
	}
	if isFolder(f.Path) {
		f.Folder = newFolder(f, ch.Text)
	}
	return f
}

// newNote returns the note in a text, of which doc is the parsed form. It does not set the parts
// that depend on the schema, the times and the ids; see applySchema and identify. It does not
// retain text. was is the note before a change, or nil; see NewParsed.
func newNote(f *File, text []byte, doc *markdown.Doc, was *Note) *Note {
	head := doc.Head()
	n := &Note{
		File: f, ID: strings.TrimSuffix(f.Path, ".md"), lineCount: small[int32](doc.LineCount),
		bodyStart: small[int32](doc.Body), bodyLine: small[int32](doc.BodyLine),
		problem: problemOf(doc), facets: facetsOf(head), card: cardOf(doc.StrictHead(text, head)),
	}
	n.readFields(doc.Frontmatter)
	// The note has too many things. Only its title and its fields are indexed, and it counts as one
	// node.
	if n.leaveOut(doc) {
		n.BodyBytes = int32(len(bytes.TrimSpace(text[doc.Body:])))
		n.names = n.ownBuckets()
		n.units = small[int32](n.countUnits(text))
		return n
	}
	number := n.readSections(doc.Headings, text)
	n.readNodes(doc, text, number)
	section := func(heading int) int {
		if heading < 0 {
			return -1
		}
		return number[heading]
	}
	n.readTraits(doc, section)
	n.readRefs(doc.References, section, was)
	n.readLinks(doc.Links, section)
	n.readTags(doc.Tags, section)
	n.readBlocks(doc.Blocks)
	n.names = n.ownBuckets()
	n.units = small[int32](n.countUnits(text))
	return n
}

// problemOf returns the reason why the head of a note cannot be used; nil if it can, or if a whole
// value in it is a placeholder, as in templates.
func problemOf(doc *markdown.Doc) *markdown.Problem {
	if doc.Template {
		return nil
	}
	return doc.Problem
}

// SearchSections returns the sections of a note for package search: their titles and the offsets of
// their headings in text, which must be the text of the note. The index has lines and no offsets,
// so the offsets are counted.
func (n *Note) SearchSections(text []byte) []search.Section {
	all := make([]search.Section, len(n.Sections))
	at, line := 0, 1
	for i := range n.Sections {
		for ; line < n.Sections[i].Line(); line++ {
			at += bytes.IndexByte(text[at:], '\n') + 1
		}
		all[i] = search.Section{Heading: n.Sections[i].Title, Start: at}
	}
	return all
}

// countUnits returns the number of passages into which search splits the text of the note. It is
// counted while the text is at hand, because the index has no texts.
func (n *Note) countUnits(text []byte) int {
	return search.CountUnits(&search.Note{
		Text: text, Body: n.BodyStart(), Sections: n.SearchSections(text),
	})
}

// readFields sets the fields and the declared type from the frontmatter.
func (n *Note) readFields(fm *markdown.Frontmatter) {
	if fm == nil {
		return
	}
	for _, e := range fm.Entries {
		if e.Key != "type" {
			n.Fields = append(n.Fields, Field{e.Key, e.Value, e.Line})
			continue
		}
		n.DeclaredType = declaredType(e.Value)
	}
}

// declaredType returns the type that a note declares with this value. A value that is not a text,
// or that contains control characters, counts as page (reference/raven.md §1.3).
func declaredType(v any) string {
	s, ok := v.(string)
	if v != nil && (!ok || strings.ContainsFunc(s, unicode.IsControl)) {
		return vault.Page
	}
	return s
}

// readSections adds the sections, and returns the position of the section of each heading. A title
// heading becomes a name of the note, and not a section; its position is -1. Positions in
// n.Sections therefore differ from those in headings, and every Scope of the parser is converted
// with the result.
func (n *Note) readSections(headings []markdown.Heading, text []byte) []int {
	number := make([]int, len(headings))
	n.Sections = slices.Grow(n.Sections, untitled(headings))
	for i, h := range headings {
		number[i] = -1
		if h.Title {
			n.Title, n.TitleSlug = h.Text, h.Slug
			continue
		}
		s := Section{
			Slug: h.Slug, Title: h.Text, level: small[int8](h.Level), parent: -1,
			line: small[int32](h.Line), lineEnd: small[int32](h.LineEnd), subtreeEnd: small[int32](h.SubtreeLineEnd),
			number: small[int16](len(n.Sections)), ownDigest: DigestOf(text[h.Own.Start:h.Own.End]),
		}
		if h.Parent >= 0 {
			s.parent = small[int16](number[h.Parent])
		}
		s.setDeclaration(h.Declaration, text)
		number[i] = len(n.Sections)
		n.Sections = append(n.Sections, s)
	}
	return number
}

// untitled returns the number of headings that are not titles.
func untitled(headings []markdown.Heading) int {
	count := 0
	for i := range headings {
		if !headings[i].Title {
			count++
		}
	}
	return count
}

// setDeclaration sets the declaration of a section; e is nil if it has none.
func (s *Section) setDeclaration(e *markdown.Declaration, text []byte) {
	if e == nil {
		return
	}
	lines := strings.Count(string(text[e.Span.Start:e.Span.End]), "\n")
	d := &declaration{declared: e.Type, first: small[int32](e.Line), last: small[int32](e.Line + lines)}
	for _, a := range e.Fields {
		d.fields = append(d.fields, Field{a.Key, a.Value, a.Line})
	}
	s.declaration = d
}

// readTraits adds the annotations and the checkboxes of a text in reading order, each with a
// TraitValue of its own. applySchema replaces these by shared ones. Line and id come from the
// Place.
func (n *Note) readTraits(doc *markdown.Doc, section func(int) int) {
	traits := withTasks(doc.Traits, doc.Tasks)
	if len(traits) == 0 {
		return
	}
	sayings := make([]TraitValue, len(traits))
	places := n.readPlaces(traits, doc.Tasks, section)
	n.Annotations = make([]Trait, len(traits))
	for i, t := range traits {
		sayings[i] = TraitValue{Type: t.Name, Raw: t.Raw, Task: t.Name == ""}
		if sayings[i].Task {
			sayings[i].Type = TaskType
		}
		// A value that is equal to its text is not stored twice; see TraitValue.Value.
		if t.Value != nil && t.Value != any(t.Raw) {
			sayings[i].value = t.Value
		}
		n.Annotations[i] = Trait{Place: places[i], TraitValue: &sayings[i], position: small[int32](t.Span.Start)}
	}
}

// readPlaces returns the place of each annotation. Annotations on the same line share one. Places
// are allocated together, which is why the lines are counted first. It also records the pins of the
// lines. Both lists must be sorted by line.
func (n *Note) readPlaces(traits []markdown.Trait, tasks []markdown.Task, section func(int) int) []*Place {
	lines := 0
	for i := range traits {
		if i == 0 || !onSameLine(traits[i-1], traits[i]) {
			lines++
		}
	}
	places, all := make([]*Place, len(traits)), make([]Place, 0, lines)
	for i, t := range traits {
		if i == 0 || !onSameLine(traits[i-1], t) {
			p := Place{
				Note: n, line: small[int32](t.Line), scope: small[int16](section(t.Scope)), Content: t.Content,
			}
			for len(tasks) > 0 && tasks[0].Line < t.Line {
				tasks = tasks[1:]
			}
			checkbox := ""
			if len(tasks) > 0 && tasks[0].Line == t.Line {
				checkbox = tasks[0].Mark
			}
			p.setTexts(t.ContentText, strings.Index(t.Content, t.ContentText), checkbox)
			all = append(all, p)
			n.pin(t)
		}
		places[i] = &all[len(all)-1]
	}
	return places
}

// onSameLine reports whether two annotations are on the same line.
func onSameLine(a, b markdown.Trait) bool {
	return a.Line == b.Line && a.Scope == b.Scope && a.Content == b.Content &&
		a.ContentText == b.ContentText && a.Pin == b.Pin
}

// pin records the `@id(…)` on the line of an annotation.
func (n *Note) pin(t markdown.Trait) {
	if t.Pin == "" {
		return
	}
	r := n.rareTexts()
	if r.pins == nil {
		r.pins = map[int]string{}
	}
	r.pins[t.Line] = t.Pin
}

// readBlocks sets the lines of blocks. If an id occurs twice, the first counts.
func (n *Note) readBlocks(blocks []markdown.Block) {
	for _, b := range blocks {
		if n.Blocks == nil {
			n.Blocks = map[string]int{}
		}
		if _, known := n.Blocks[b.ID]; !known {
			n.Blocks[b.ID] = b.Line
		}
	}
}

// readTags adds the distinct tags of a text.
func (n *Note) readTags(tags []markdown.Tag, section func(int) int) {
	seen := map[string]bool{}
	for _, t := range tags {
		if name := clean(t.Name); !seen[TagKey(name)] {
			seen[TagKey(name)] = true
			n.Tags = append(n.Tags, Tag{name, t.Line, section(t.Scope)})
		}
	}
	n.Tags = slices.Clip(n.Tags)
}
