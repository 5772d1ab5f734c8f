package markdown

import "bytes"

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
type Form int

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
