package markdown

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// A rendered line is one line of a block as Raven shows it: without markup.
type rendered struct {
	text   []byte
	from   []int // the offset in the block that each byte comes from
	closed int   // where the last search for a closing parenthesis ended

	rest []byte // what without leaves
}

// render shows a line of the text. The line ends before its line break.
func (p *prose) render(r *rendered, at Span) {
	r.text, r.from = slices.Grow(r.text[:0], at.End-at.Start), slices.Grow(r.from[:0], at.End-at.Start)
	r.closed = 0
	next := sort.Search(len(p.atoms), func(i int) bool { return p.atoms[i].Start >= at.Start })
	for i := at.Start; i < at.End; {
		for next < len(p.atoms) && p.atoms[next].Start < i {
			next++
		}
		if next < len(p.atoms) && p.atoms[next].Start == i && p.marks[i] == literal {
			if a := p.atoms[next]; a.kind == codeAtom && a.End <= at.End && !p.inWiki(a.Span) {
				p.renderCode(r, a)
				i = a.End
				continue
			}
		}
		if p.marks[i] != hidden {
			r.add(p.src[i], i)
		}
		i++
	}
}

// inWiki reports whether a piece of code is part of a wikilink, where it counts as written.
func (p *prose) inWiki(at Span) bool {
	i := sort.Search(len(p.wikis), func(i int) bool { return p.wikis[i].End >= at.End })
	return i < len(p.wikis) && p.wikis[i].Start <= at.Start
}

// renderCode shows code as Raven does: between backticks that are one more than it has in it.
func (p *prose) renderCode(r *rendered, a atom) {
	code := p.src[a.text.Start:a.text.End]
	longest := 0
	for i := 0; i < len(code); i++ {
		if code[i] == '`' {
			n := runLen(code, i)
			longest = max(longest, n)
			i += n - 1
		}
	}
	for range longest + 1 {
		r.add('`', a.Start)
	}
	for i, c := range code {
		r.add(c, a.text.Start+i)
	}
	for range longest + 1 {
		r.add('`', a.End-1)
	}
}

func (r *rendered) add(c byte, from int) {
	r.text = append(r.text, c)
	r.from = append(r.from, from)
}

// closing is the first closing parenthesis from the offset on, the length of the text if there is
// none. Asked for later and later places, it searches every byte once.
func (r *rendered) closing(at int) int {
	if r.closed < at || r.closed < len(r.text) && r.text[r.closed] != ')' {
		r.closed = len(r.text)
		if n := bytes.IndexByte(r.text[at:], ')'); n >= 0 {
			r.closed = at + n
		}
	}
	return r.closed
}

// without is the text but for the annotations, which are in order, its blanks collapsed.
func (r *rendered) without(all []annotation) string {
	r.rest = r.rest[:0]
	at := 0
	for _, a := range all {
		r.rest = append(r.rest, r.text[at:a.whole.Start]...)
		at = a.whole.End
	}
	r.rest = append(r.rest, r.text[at:]...)
	return collapse(r.rest)
}

// collapse is a text with one blank for many, and none around it. It writes over the text.
func collapse(text []byte) string {
	out := text[:0]
	for word := range bytes.FieldsSeq(text) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(out, word...)
	}
	return valid(out)
}

// valid is a text as a string of valid UTF-8.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}
