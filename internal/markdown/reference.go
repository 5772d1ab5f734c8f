package markdown

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// A Reference is a wikilink, `[[target]]` or `[[target|display]]`, or a Markdown link to a note or
// to another file of the vault. In code and HTML, these are text.
type Reference struct {
	Target  string // as it is written without blanks around it, or the decoded path of a Markdown link
	Display string // as it is written; empty if there is none
	Form    Form
	Place   Place
	Field   string // the key of the field that contains it, if known; empty in the body
	Scope   int    // the index of the heading of its section, -1 for the note itself
	Line    int    // of the file; in a declaration, of its heading
	Span    Span   // including the brackets
	Written Span   // the target alone, as it is written
}

// A Form is the notation of a reference.
type Form uint8

// The forms of references.
const (
	Wikilink     Form = iota
	Embed             // `![[target]]`, or a Markdown image
	MarkdownLink      // `[display](target)`
)

// A Place is a part of a note.
type Place int

// The parts of a note.
const (
	InBody Place = iota
	InFrontmatter
	InDeclaration
)

// reference returns a wikilink as a Reference. shift is added to its offsets.
func (w wiki) reference(src []byte, shift int) Reference {
	return Reference{
		Target:  valid(src[w.target.Start:w.target.End]),
		Display: valid(src[w.display.Start:w.display.End]),
		Span:    Span{w.Start + shift, w.End + shift},
		Written: Span{w.target.Start + shift, w.target.End + shift},
	}
}

// readFrontmatter adds the references and the tags of the frontmatter. References can be anywhere
// in its text, including comments, but not in code.
func (d *Doc) readFrontmatter(text []byte) {
	if d.Frontmatter == nil {
		return
	}
	inner, line := d.Frontmatter.Inner, 2
	if d.Problem == nil && bytes.Contains(text[inner.Start:inner.End], []byte("[[")) {
		for at := inner.Start; at < inner.End; at = lineNext(text, at) {
			d.frontmatterLine(text, Span{at, lineEnd(text, at)}, line)
			line++
		}
	}
	d.frontmatterTags()
}

// frontmatterLine adds the references of one line of the frontmatter. A wikilink that overlaps code
// without containing it is text.
func (d *Doc) frontmatterLine(text []byte, at Span, line int) {
	src := text[at.Start:at.End]
	wikis := wikisIn(src)
	if len(wikis) == 0 {
		return
	}
	code := findAtoms(src, nil, true)
	for _, w := range wikis {
		for len(code) > 0 && code[0].End <= w.Start {
			code = code[1:]
		}
		if len(code) > 0 && code[0].Start < w.End && (code[0].Start < w.Start || code[0].End > w.End) {
			continue
		}
		r := w.reference(src, at.Start)
		r.Place, r.Line, r.Scope = InFrontmatter, line, -1
		r.Field = d.Frontmatter.fieldAt(r.Span.Start)
		d.References = append(d.References, r)
	}
}

// fieldAt returns the key of the field whose lines contain the offset, or "". Entries are in text
// order, so a binary search is enough. It returns "" for fields without positions.
func (f *Frontmatter) fieldAt(at int) string {
	lo, hi := 0, len(f.Entries)
	for lo < hi {
		mid := (lo + hi) / 2
		if f.Entries[mid].Lines.End <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(f.Entries) && f.Entries[lo].Lines.Start <= at {
		return f.Entries[lo].Key
	}
	return ""
}

// declarationRefs adds the references of a declaration. As in Raven, their line is that of the heading.
func (b *bodyReader) declarationRefs(h *Heading) {
	for _, a := range h.Declaration.Fields {
		src := b.text[a.Text.Start:a.Text.End]
		for _, w := range wikisIn(src) {
			r := w.reference(src, a.Text.Start)
			r.Place, r.Field, r.Scope, r.Line = InDeclaration, a.Key, b.scope(), h.Line
			b.doc.References = append(b.doc.References, r)
		}
	}
}

// A Tag is a tag of a note: `#name` in its text, including headings, or an item of the field `tags`
// of its frontmatter (reference/raven.md §1.8).
type Tag struct {
	Name  string // as it is written, without the #
	Place Place
	Scope int // the index of the heading of its section, -1 for the note itself
	Line  int // of the file
}

// tags adds the tags of a line of the block: # at the start of the line or after a blank or an
// opening bracket, and a name. A # in code, an address or a wikilink is text.
func (b *bodyReader) tags(r *rendered, l blockLine) {
	for i := 0; i < len(r.text); i++ {
		next := bytes.IndexByte(r.text[i:], '#')
		if next < 0 || b.full() {
			return
		}
		i += next
		name := tagName(r.text[i+1:])
		if name == "" || !b.prose.begins(r, i, " \t\r\n\v\f([") {
			continue
		}
		b.doc.Tags = append(b.doc.Tags, Tag{name, InBody, b.scope(), l.number})
		i += len(name)
	}
}

// tagName returns the tag name at the beginning of a text, or "". A name consists of letters, marks
// and digits of any script, _, - and /. It contains a character that is not a digit, and one that
// is not - or /.
func tagName(text []byte) string {
	name := text
	if end := bytes.IndexFunc(text, func(r rune) bool { return !isTagRune(r) }); end >= 0 {
		name = text[:end]
	}
	name = bytes.TrimRight(name, "/")
	word := func(r rune) bool { return r != '-' && r != '/' }
	if bytes.IndexFunc(name, word) < 0 || bytes.IndexFunc(name, notDigit) < 0 {
		return ""
	}
	return string(name)
}

// isTagRune reports whether the name of a tag can contain the character. Invalid UTF-8 ends a name.
func isTagRune(r rune) bool {
	return r == '_' || r == '-' || r == '/' || r != utf8.RuneError &&
		(unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func notDigit(r rune) bool { return !unicode.IsDigit(r) }

// frontmatterTags adds the tags of the frontmatter: a list, or a text with blanks or commas between
// tags.
func (d *Doc) frontmatterTags() {
	e, ok := d.Frontmatter.Get("tags")
	if !ok {
		return
	}
	// The text of the node is used and not its value, because YAML parses a tag such as 2024 as a
	// number.
	if e.node.Kind == yaml.ScalarNode && e.Value != nil {
		for _, name := range strings.FieldsFunc(e.node.Value, isTagSeparator) {
			d.tag(name, e.Line)
		}
		return
	}
	for _, n := range e.node.Content {
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			d.tag(n.Value, e.Line+n.Line-e.keyLine)
		}
	}
}

func isTagSeparator(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }

// tag adds a tag of the frontmatter, without # and blanks around it.
func (d *Doc) tag(name string, line int) {
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "#"))
	if name != "" {
		d.Tags = append(d.Tags, Tag{name, InFrontmatter, -1, line})
	}
}
