package markdown

import (
	"bytes"
	"slices"
	"strings"
)

// A Sibling is one of the sections that Reorder puts directly below another one: one that is there already, or a new
// one.
type Sibling struct {
	Child int      // of a present one: its position among them, from 0
	New   *Subtree // else nil
}

// A Part says where lines of a text come from. Lines that are only blank, and definitions that went along, are in no
// part.
type Part struct {
	New   int  // 0: the text that was changed; else which of the new subtrees, from 1
	From  Span // in bytes of that text; of a subtree, of its Text
	Lines Span // of the result: from the first, counted from 1, up to, not including, the last
}

// A Reordered is a note with sections in another order.
type Reordered struct {
	Text  []byte
	Parts []Part // of the result, in its order

	// Conflicts are the labels that new sections use and that the note defines in another way; without brackets.
	Conflicts []string

	// Titled says that the first section is the title of the note now: it is the only one left of level 1.
	Titled bool
}

// Reorder puts sections directly below a section of a note, 0 for the note itself, in an order; those that are there
// and not in the order are cut out. Positions are as of SubtreeAt.
//
// A new section gets the level of those that are there, the highest of them; without any it is one deeper than the
// section above it, and below a note it is 2. All under it moves along. A section that would end up below one before it
// gets the level of that. Between sections that were not next to each other there is one blank line; all other bytes
// stay, and line breaks are those of the note. What a new section uses of the definitions of its note goes along; what
// the rest uses of those of a section that is cut out is copied to the end.
//
// The errors are INVALID_VALUE with a reason: heading_depth_exceeded, or malformed_markdown where the result would not
// have the headings that it should have.
func Reorder(text []byte, parent int, order []Sibling) (Reordered, error) {
	r, err := newReordering(text, parent, order)
	if err != nil {
		return Reordered{}, err
	}
	if err := r.level(); err != nil {
		return Reordered{}, err
	}
	r.write()
	return r.done()
}

// A reordering is a Reorder that is under way.
type reordering struct {
	text     []byte
	d        *Doc
	eol      string
	children []int // headings directly below the parent
	region   Span  // of them together
	order    []sibling
	level0   int               // that a new section has
	defs     []Definition      // of the note
	has      map[string][]byte // what is defined by now, by label

	out   []byte
	lines int // line breaks in out, up to the last part
	upTo  int // the offset up to which they are counted
	Reordered
	want []Heading
}

// A sibling is a Sibling with what becomes of it.
type sibling struct {
	Sibling
	Subtree
	by int // how many levels deeper it goes
}

func newReordering(text []byte, parent int, order []Sibling) (*reordering, error) {
	d := Parse(text)
	if d.Crowded {
		return nil, malformed("the note has more than is read")
	}
	r := &reordering{text: text, d: d, eol: lineBreak(text)}
	r.children, r.region = d.below(parent)
	r.defs, r.has = definitionsIn(text, d.Body, nil), map[string][]byte{}
	for _, d := range r.defs {
		r.has[d.Label] = d.Text
	}
	r.level0 = 2
	if parent > 0 {
		r.level0 = d.Headings[d.headingAt(parent)].Level + 1
	}
	ends := r.ends()
	stay := maxLevel + 1
	for _, s := range order {
		one := sibling{Sibling: s}
		if s.New != nil {
			one.Subtree = *s.New
		} else {
			h := d.Headings[r.children[s.Child]]
			at := Span{h.Own.Start, ends[s.Child]}
			one.Subtree = Subtree{Text: bytes.TrimRight(text[at.Start:at.End], " \t\r\n"), Level: h.Level, At: at}
			stay = min(stay, h.Level)
		}
		r.order = append(r.order, one)
	}
	if stay <= maxLevel {
		r.level0 = stay
	}
	r.divide()
	return r, nil
}

// ends are where the children end.
func (r *reordering) ends() []int {
	var all []int
	for _, i := range r.children[min(1, len(r.children)):] {
		all = append(all, r.d.Headings[i].Own.Start)
	}
	return append(all, r.region.End)
}

// divide gives each child that stays its headings.
func (r *reordering) divide() {
	for i := range r.order {
		s := &r.order[i]
		if s.New != nil {
			continue
		}
		from := r.children[s.Child]
		to := from
		for to < len(r.d.Headings) && r.d.Headings[to].Own.Start < s.At.End {
			to++
		}
		s.headings = r.d.Headings[from:to]
	}
}

// level decides how deep each section is.
func (r *reordering) level() error {
	least := maxLevel
	for i := range r.order {
		s := &r.order[i]
		level := s.Level
		if s.New != nil {
			level = r.level0
		}
		if i > 0 {
			level = min(level, least)
		}
		least = min(least, level)
		s.by = level - s.Level
		text, err := s.Relevel(s.by)
		if err != nil {
			return err
		}
		s.Text = text
	}
	return nil
}

// write writes the result.
func (r *reordering) write() {
	head, rest := r.text[:r.region.Start], r.text[r.region.End:]
	r.out = make([]byte, 0, len(r.text)+len(r.text)/8)
	r.keep(head, Span{0, r.region.Start})
	r.want = append(r.want, r.d.Headings[:r.d.headingsBefore(r.region.Start)]...)
	before := -1 // the child that is before the next one
	news := 0
	for i := range r.order {
		s := &r.order[i]
		if s.New == nil && s.Child == before+1 {
			r.between(before)
		} else {
			r.blank()
		}
		before = len(r.children) // none
		if s.New != nil {
			news++
			r.add(news, s)
			continue
		}
		before = s.Child
		r.put(0, s.At.Start, s)
	}
	r.end(before, rest)
}

// between writes what is between a child and the next one, as it was.
func (r *reordering) between(child int) {
	if child >= 0 {
		end := r.d.Headings[r.children[child+1]].Own.Start
		part := bytes.TrimRight(r.text[:end], " \t\r\n")
		r.out = append(r.out, r.text[len(part):end]...)
	}
}

// blank ends what is written with a blank line, if something is.
func (r *reordering) blank() {
	text := bytes.TrimRight(r.out, " \t\r\n")
	if len(text) == 0 {
		return
	}
	switch breaks := bytes.Count(r.out[len(text):], []byte{'\n'}); breaks {
	case 0:
		r.out, r.upTo = append(r.out[:len(text)], r.eol+r.eol...), min(r.upTo, len(text))
	case 1:
		r.out = append(r.out, r.eol...)
	}
}

// keep writes a part of the note.
func (r *reordering) keep(text []byte, from Span) {
	r.out = append(r.out, text...)
	r.part(0, from, len(text))
}

// part notes where the last bytes of what is written come from.
func (r *reordering) part(from int, at Span, n int) {
	start := len(r.out) - n
	r.lines += bytes.Count(r.out[r.upTo:start], []byte{'\n'})
	first := r.lines + 1
	r.lines += bytes.Count(r.out[start:], []byte{'\n'})
	r.upTo = len(r.out)
	end := r.lines + 1
	if !bytes.HasSuffix(r.out, []byte{'\n'}) {
		end++
	}
	if n > 0 {
		r.Parts = append(r.Parts, Part{from, at, Span{first, end}})
	}
}

// put writes a section.
func (r *reordering) put(from, start int, s *sibling) {
	r.out = append(r.out, s.Text...)
	r.part(from, Span{start, start + s.size()}, len(s.Text))
	for _, h := range s.headings {
		if h.Top {
			h.Level += s.by
		}
		r.want = append(r.want, h)
	}
}

// size is how long the section was before its level changed.
func (s *sibling) size() int {
	if s.New != nil {
		return len(s.New.Text)
	}
	return s.At.End - s.At.Start
}

// add writes a new section, with the definitions that it needs.
func (r *reordering) add(number int, s *sibling) {
	s.Text = []byte(withBreaks(string(s.Text), r.eol))
	r.put(number, 0, s)
	own := definitionsIn(s.Text, 0, nil)
	r.define(own)
	var lacking []Definition
	for _, d := range usedIn(s.Text, s.outside) {
		if !slices.ContainsFunc(own, func(o Definition) bool { return o.Label == d.Label }) && r.define([]Definition{d}) {
			lacking = append(lacking, d)
		}
	}
	r.out = withDefinitions(r.out, lacking, r.eol)
}

// define takes definitions into the note, and reports whether it had none of the labels. One that it has otherwise is a
// conflict.
func (r *reordering) define(all []Definition) (fresh bool) {
	fresh = true
	for _, d := range all {
		own, has := r.has[d.Label]
		if fresh = fresh && !has; !has {
			r.has[d.Label] = d.Text
		} else if !bytes.Equal(bytes.TrimSpace(own), bytes.TrimSpace(d.Text)) && !slices.Contains(r.Conflicts, d.Label) {
			r.Conflicts = append(r.Conflicts, d.Label)
		}
	}
	return fresh
}

// end writes what is behind the sections.
func (r *reordering) end(last int, rest []byte) {
	switch {
	case len(rest) == 0:
		if text := bytes.TrimRight(r.out, " \t\r\n"); last == len(r.children)-1 && last >= 0 {
			r.out = append(r.out, r.text[len(bytes.TrimRight(r.text, " \t\r\n")):]...)
		} else {
			r.out = r.out[:len(text)]
		}
		if len(r.out) > 0 && !bytes.HasSuffix(r.out, []byte{'\n'}) {
			r.out = append(r.out, r.eol...)
		}
		return
	case last >= 0 && last == len(r.children)-1:
		text := bytes.TrimRight(r.text[:r.region.End], " \t\r\n")
		r.out = append(r.out, r.text[len(text):r.region.End]...)
	default:
		r.blank()
	}
	r.keep(rest, Span{r.region.End, len(r.text)})
	r.want = append(r.want, r.d.Headings[r.d.headingsBefore(r.region.End):]...)
}

// done is the result, if it reads as it should.
func (r *reordering) done() (Reordered, error) {
	r.orphans()
	after := Parse(r.out)
	if after.Body != r.d.Body || !bytes.Equal(r.out[:after.Body], r.text[:r.d.Body]) || !alike(r.want, after.Headings) {
		return Reordered{}, malformed("the text would read otherwise around the section; close its fences")
	}
	r.Text = r.out
	r.Titled = len(r.want) > 0 && after.Headings[0].Title && !r.want[0].Title
	return r.Reordered, nil
}

// orphans adds the definitions at the end that only a section had that is cut out.
func (r *reordering) orphans() {
	kept := 0
	for _, s := range r.order {
		if s.New == nil {
			kept++
		}
	}
	if len(r.defs) == 0 || kept == len(r.children) {
		return
	}
	left := map[string]bool{}
	for _, d := range definitionsIn(r.out, r.d.Body, nil) {
		left[d.Label] = true
	}
	lacking := slices.DeleteFunc(usedIn(r.out, r.defs), func(d Definition) bool { return left[d.Label] })
	if len(lacking) > 0 {
		end := bytes.Count(bytes.TrimRight(r.out, " \t\r\n"), []byte{'\n'}) + 2
		for i := range r.Parts {
			r.Parts[i].Lines.End = min(r.Parts[i].Lines.End, end)
		}
		r.out = append(withDefinitions(r.out, lacking, r.eol), r.eol...)
	}
}

// alike reports whether headings are as they should be: their levels, texts and declarations. The first may become the
// title of the note.
func alike(want, is []Heading) bool {
	if len(want) != len(is) {
		return false
	}
	for i, w := range want {
		h := is[i]
		if w.Level != h.Level || !sameText(w.Text, h.Text) || w.Top != h.Top || w.Title && !h.Title || h.Title && !w.Title && i > 0 {
			return false
		}
		if !sameDeclared(w.Embedded, h.Embedded) {
			return false
		}
	}
	return true
}

// sameText reports whether two headings have the same text. The lines of one that was underlined are joined without a
// blank, and with one as soon as they are one line.
func sameText(a, b string) bool {
	return a == b || strings.ReplaceAll(a, " ", "") == strings.ReplaceAll(b, " ", "")
}

// sameDeclared reports whether two declarations say the same.
func sameDeclared(a, b *Embedded) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type == b.Type && len(a.Fields) == len(b.Fields)
}

// CutSection cuts a section out of a note, by its position as of SubtreeAt. The errors are those of SubtreeAt and Reorder.
func CutSection(text []byte, section int) (Reordered, Subtree, error) {
	s, err := SubtreeAt(text, section)
	if err != nil {
		return Reordered{}, s, err
	}
	parent, at, order := siblingsOf(text, section)
	r, err := Reorder(text, parent, slices.Delete(order, at, at+1))
	return r, s, err
}

// PlaceSections puts new sections directly below a section of a note, 0 for the note itself: before the one at a position, from
// 0; -1: behind all. The errors are those of Reorder.
func PlaceSections(text []byte, parent, at int, more ...*Subtree) (Reordered, error) {
	order := Siblings(text, parent)
	if at < 0 || at > len(order) {
		at = len(order)
	}
	for i, s := range more {
		order = slices.Insert(order, at+i, Sibling{New: s})
	}
	return Reorder(text, parent, order)
}

// Siblings are the sections directly below a section of a note, 0 for the note itself, in their order.
func Siblings(text []byte, parent int) []Sibling {
	children, _ := Parse(text).below(parent)
	all := make([]Sibling, len(children))
	for i := range all {
		all[i].Child = i
	}
	return all
}

// siblingsOf are the section above another one, the position of this among those directly below, and these.
func siblingsOf(text []byte, section int) (parent, at int, order []Sibling) {
	d := Parse(text)
	i := d.headingAt(section)
	if above := d.Headings[i].TopParent; above >= 0 {
		parent = above + 1
		if _, titled := d.title(); titled {
			parent--
		}
	}
	children, _ := d.below(parent)
	order = Siblings(text, parent)
	return parent, slices.Index(children, i), order
}

// LevelBelow returns the level that a new section directly below a section of a note has, 0 for the note itself.
func LevelBelow(text []byte, parent int) int {
	d := Parse(text)
	children, _ := d.below(parent)
	level := maxLevel + 1
	for _, i := range children {
		level = min(level, d.Headings[i].Level)
	}
	switch {
	case len(children) > 0:
		return level
	case parent > 0:
		return d.Headings[d.headingAt(parent)].Level + 1
	}
	return 2
}
