package markdown

import (
	"bytes"
	"slices"
	"sort"

	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// A prose parses the text of one block: a paragraph, a list item or a heading. It does not use
// goldmark's parser, because that can take quadratic time, and because a wikilink must take
// precedence over emphasis: its target is not parsed.
//
// The caller sets src and calls read, after which marks, atoms, wikis and links describe src. The
// next call reuses their memory. read makes one pass over src: atoms are found before it, brackets
// and delimiters are collected in it, a closing bracket completes a link, and emphasis is paired
// inside each link and at the end.
type prose struct {
	src  []byte
	defs parser.Context // contains the link definitions of the note

	marks    []mark // one for each byte of src
	atoms    []atom // in order
	wikis    []wiki // in order
	links    []inlineLink
	brackets []bracket
	floor    int // brackets below this index cannot begin a link, because a link must not contain a link
	emphasis emphasizer
}

// A mark is the meaning of a byte.
type mark byte

const (
	plain   mark = iota
	hidden       // markup, which is not visible
	literal      // in code, an address or a wikilink: without another meaning
)

// A bracket is a [ or ![ that may begin a link.
type bracket struct {
	at, content int
	image       bool
	delimiters  int // the number of delimiters before it
}

// An inlineLink is `[label](target)` or `![label](target)`.
type inlineLink struct {
	Span
	label, target Span
	image         bool
}

// newProse returns a parser for the blocks of a note with these link definitions.
func newProse(defs parser.Context) *prose {
	p := &prose{defs: defs}
	p.emphasis.hide = p.hide
	return p
}

// read parses src. It takes linear time, apart from sorting the links.
func (p *prose) read() {
	p.marks = slices.Grow(p.marks[:0], len(p.src))[:len(p.src)]
	clear(p.marks)
	p.wikis, p.links, p.brackets = p.wikis[:0], p.links[:0], p.brackets[:0]
	p.floor = 0
	p.atoms = findAtoms(p.src, p.atoms[:0], false)
	p.emphasis.all = p.emphasis.all[:0]
	for i, next := 0, 0; i < len(p.src); {
		for next < len(p.atoms) && p.atoms[next].Start < i {
			next++
		}
		if next < len(p.atoms) && p.atoms[next].Start == i {
			i = p.atom(p.atoms[next])
			continue
		}
		i = p.step(i)
	}
	p.emphasis.pair(0)
	slices.SortFunc(p.links, func(a, b inlineLink) int { return a.Start - b.Start })
}

// step parses the markup or text at the offset, and returns its end, which is greater than the
// offset. An atom does not begin there.
func (p *prose) step(i int) int {
	switch p.src[i] {
	case '\\':
		if hardBreak(p.src, i) {
			p.hide(Span{i, i + 1})
		} else if i+1 < len(p.src) && p.src[i+1] == '[' && p.wiki(i+1) {
			return p.wikis[len(p.wikis)-1].End // unlike in Markdown, a backslash does not escape a wikilink
		}
		return i + 2
	case '!':
		if i+1 < len(p.src) && p.src[i+1] == '[' && !p.wikiAhead(i+1) {
			return p.open(bracket{i, i + 2, true, len(p.emphasis.all)})
		}
	case '[':
		if p.wiki(i) {
			return p.wikis[len(p.wikis)-1].End
		}
		return p.open(bracket{i, i + 1, false, len(p.emphasis.all)})
	case ']':
		return p.close(i)
	case '*', '_':
		d := newDelimiter(p.src, i)
		p.emphasis.all = append(p.emphasis.all, d)
		return i + d.n
	}
	return p.skipText(i + 1)
}

// markupBytes contains the bytes that markup can begin or end with.
var markupBytes = [256]bool{
	'\\': true, '!': true, '[': true, ']': true, '*': true, '_': true, // those that step handles
	'`': true, '<': true, // those of atoms
}

// skipText returns the offset of the next byte that can be markup.
func (p *prose) skipText(at int) int {
	for at < len(p.src) && !markupBytes[p.src[at]] {
		at++
	}
	return at
}

// hide marks bytes as markup.
func (p *prose) hide(at Span) { p.set(at, hidden) }

// set marks bytes with m.
func (p *prose) set(at Span, m mark) {
	for i := at.Start; i < at.End; i++ {
		p.marks[i] = m
	}
}

// atom marks the bytes of an atom, and returns its end. Every byte of code is literal, of an
// address only those between < and >, and of HTML none: it is not visible.
func (p *prose) atom(a atom) int {
	p.hide(a.Span)
	if a.kind == codeAtom {
		p.set(a.Span, literal)
	}
	p.set(a.text, literal)
	return a.End
}

// wiki adds the wikilink at the offset, and reports whether there is one. All of its bytes are
// literal, so nothing in it is markup.
func (p *prose) wiki(at int) bool {
	w, ok := p.findWiki(at)
	if ok {
		p.wikis = append(p.wikis, w)
		p.set(w.Span, literal)
	}
	return ok
}

// wikiAhead reports whether there is a wikilink at the offset.
func (p *prose) wikiAhead(at int) bool {
	_, ok := p.findWiki(at)
	return ok
}

// findWiki returns the wikilink at the offset. ok is false if code or HTML begins inside it and
// ends after it, or if a URL follows, because `[[1]](https://…)` is a Markdown link.
func (p *prose) findWiki(at int) (wiki, bool) {
	w, ok := wikiAt(p.src, at)
	if !ok || !w.counts(p.src) {
		return w, false
	}
	i := sort.Search(len(p.atoms), func(i int) bool { return p.atoms[i].Start >= w.End }) - 1
	if i >= 0 && p.atoms[i].Start >= w.Start && p.atoms[i].End > w.End-2 {
		return w, false
	}
	to, _, isLink := linkTail(p.src, w.End)
	return w, !isLink || schemeOf(valid(p.src[to.Start:to.End])) == SchemeFile
}

// open adds an open bracket, and returns the offset after it.
func (p *prose) open(b bracket) int {
	p.brackets = append(p.brackets, b)
	return b.content
}

// close handles the closing bracket at the offset, and returns the end of the link or of the
// bracket. The last open bracket begins a link if a target follows, or if the label is defined. A
// link must not contain another one, so after a link that is not an image all open brackets before
// it are text; floor records that.
func (p *prose) close(at int) int {
	last := len(p.brackets) - 1
	if last < 0 {
		return at + 1
	}
	b := p.brackets[last]
	p.brackets = p.brackets[:last]
	end, ok := 0, false
	if b.image || last >= p.floor {
		var target Span
		target, end, ok = linkTail(p.src, at+1)
		if ok {
			p.links = append(p.links,
				inlineLink{Span{b.at, end}, Span{b.content, at}, target, b.image})
		} else {
			end, ok = p.reference(b, at)
		}
	}
	if p.floor = min(p.floor, last); !ok {
		return at + 1
	}
	p.emphasis.pair(b.delimiters)
	p.hide(Span{b.at, b.content})
	p.hide(Span{at, end})
	if !b.image {
		p.floor = last
	}
	return end
}

// maxLabel is the longest label of a link definition, in bytes (CommonMark).
const maxLabel = 999

// reference returns the end of `[text][label]`, `[label][]` or `[label]` whose text ends at the
// offset. ok is false if the label is not defined.
func (p *prose) reference(b bracket, at int) (int, bool) {
	if p.defs == nil || len(p.defs.References()) == 0 {
		return 0, false
	}
	end, label := at+1, p.src[b.content:at]
	if rest := p.src[end:]; len(rest) > 0 && rest[0] == '[' {
		n := bytes.IndexAny(rest[1:min(len(rest), maxLabel+2)], "[]")
		if n >= 0 && rest[1+n] == ']' {
			end += n + 2
			if n > 0 {
				label = rest[1 : 1+n]
			}
		}
	}
	if len(label) == 0 || len(label) > maxLabel || bytes.IndexByte(label, '[') >= 0 {
		return 0, false
	}
	_, ok := p.defs.Reference(util.ToLinkReference(label))
	return end, ok
}

// shown returns the visible part of a text of the block, with blanks collapsed. It is called after
// read.
func (p *prose) shown(at Span) string {
	b := make([]byte, 0, at.End-at.Start)
	for i := at.Start; i < at.End; i++ {
		if p.marks[i] != hidden {
			b = append(b, p.src[i])
		}
	}
	return collapse(b)
}

// heading returns the visible text of a heading: without markup, and with the display text of each
// wikilink. Lines are joined without a blank, because slugs are derived from the text.
func (p *prose) heading() string {
	b, wikis, atoms := make([]byte, 0, len(p.src)), p.wikis, p.atoms
	for i := 0; i < len(p.src); i++ {
		for len(atoms) > 0 && atoms[0].Start < i {
			atoms = atoms[1:]
		}
		switch {
		case len(wikis) > 0 && wikis[0].Start == i+1 && p.src[i] == '!': // an embed
		case len(wikis) > 0 && wikis[0].Start == i:
			b = append(b, wikis[0].shown(p.src)...)
			i, wikis = wikis[0].End-1, wikis[1:]
		case len(atoms) > 0 && atoms[0].Start == i && p.marks[i] == literal: // code
			b = append(b, p.src[atoms[0].text.Start:atoms[0].text.End]...)
			i = atoms[0].End - 1
		case p.marks[i] != hidden && p.src[i] != '\n':
			b = append(b, p.src[i])
		}
	}
	return trimTitle(string(b))
}
