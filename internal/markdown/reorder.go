package markdown

import (
	"bytes"
	"slices"
	"strings"
)

// A Sibling is one of the sections that Reorder puts directly below another section: an existing
// one or a new one.
type Sibling struct {
	Child int      // of an existing section: its position among the children, from 0
	New   *Subtree // a new section; nil for an existing one

	// Keep makes a new section keep its level if the sections around it allow that.
	Keep bool
}

// A Part says where lines of the result come from. Blank lines between sections, and definitions
// that were copied, are in no part.
type Part struct {
	New   int  // 0: the text that was changed; otherwise the number of the new subtree, from 1
	From  Span // bytes of that text; for a subtree, of its Text
	Lines Span // lines of the result, from 1; End is exclusive
}

// A ReorderResult is the result of Reorder.
type ReorderResult struct {
	Text  []byte
	Doc   *Doc   // of Text
	Parts []Part // of the result, in order

	// Conflicts contains the labels, without brackets, that new sections use but the note defines
	// differently.
	Conflicts []string

	// Titled reports whether the first section has become the title of the note, because it is the
	// only section of level 1 that is left.
	Titled bool
}

// Reorder sets the sections directly below a section of a note (0: the note itself) to order.
// Existing sections that are not in order are removed. parent is a position as in SubtreeAt.
//
// A new section gets the highest level of the existing sections in order. If there are none, it
// gets the level below the parent; for the note itself that is 2. See also Sibling.Keep. The
// sections under it are shifted by the same number of levels. A section that would become a
// subsection of one before it gets the level of that one. Sections that were not neighbours before are separated by one blank line. All
// other bytes stay, and line breaks are those of the note. Definitions that a new section uses are
// copied with it; definitions in removed sections that the rest of the note uses are copied to the
// end.
//
// The errors are INVALID_VALUE with a reason: heading_depth_exceeded, or malformed_markdown if the
// result would not have the expected headings.
func Reorder(text []byte, parent int, order []Sibling) (ReorderResult, error) {
	return Parse(text).Reorder(parent, order)
}

// Reorder is the function Reorder for a parsed text.
func (d *Doc) Reorder(parent int, order []Sibling) (ReorderResult, error) {
	r, err := newReordering(d, parent, order)
	if err != nil {
		return ReorderResult{}, err
	}
	if err := r.level(); err != nil {
		return ReorderResult{}, err
	}
	r.write()
	return r.result()
}

// A reordering is the state of one call of Reorder. Its steps are newReordering, which resolves the
// order to subtrees; level, which sets their levels; write, which writes the result to out and
// records the headings that it must have in want; and done, which compares want with the parsed
// result.
type reordering struct {
	text        []byte
	d           *Doc
	eol         string
	children    []int // indexes of the headings directly below the parent
	region      Span  // of all children together
	order       []sibling
	parentLevel int               // the level of the parent, or of the title; 0: there is none
	newLevel    int               // the level of a new section
	defs        []Definition      // of the note
	known       map[string][]byte // the text of each definition so far, by label

	out   []byte
	lines int // number of line breaks in out, up to the last part
	upTo  int // the offset up to which lines counts
	ReorderResult
	want []Heading
}

// A sibling is a Sibling with its subtree and its new level.
type sibling struct {
	Sibling
	Subtree
	by int // the number of levels that it is shifted down
}

// newReordering returns the state of a call before any step. Each section of the order has its text
// and headings; the level of new ones is not decided yet. It returns malformed_markdown for a note
// that is too large to be parsed completely.
func newReordering(d *Doc, parent int, order []Sibling) (*reordering, error) {
	text := d.text
	if d.Crowded {
		return nil, malformed("the note is too large to be parsed")
	}
	r := &reordering{text: text, d: d, eol: lineBreak(text)}
	r.children, r.region = d.below(parent)
	r.defs, r.known = definitionsIn(text, d.Body, nil), map[string][]byte{}
	for _, d := range r.defs {
		r.known[d.Label] = d.Text
	}
	r.newLevel = 2
	if _, titled := d.title(); titled {
		r.parentLevel = 1
	}
	if parent > 0 {
		r.parentLevel = d.Headings[d.headingAt(parent)].Level
		r.newLevel = r.parentLevel + 1
	}
	// stay is the smallest level number of the existing sections that stay. New sections get the
	// same level as these, so that they become siblings.
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
		r.newLevel = stay
	}
	r.divide()
	return r, nil
}

// ends returns the offsets where the children end: each at the start of the next one, the last at
// the end of the region.
func (r *reordering) ends() []int {
	var all []int
	for _, i := range r.children[min(1, len(r.children)):] {
		all = append(all, r.d.Headings[i].Own.Start)
	}
	return append(all, r.region.End)
}

// divide sets the headings of each child that stays.
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

// level sets the level of each section, and shifts its headings. The numbers of the levels must not
// increase from section to section: a deeper section after a higher one would become its
// subsection. least is the smallest number so far. The error is that of Relevel.
func (r *reordering) level() error {
	least := maxLevel
	for i := range r.order {
		s := &r.order[i]
		level := s.Level
		keeps := s.New == nil || s.Keep && r.fits(i, least)
		if !keeps {
			level = r.newLevel
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

// fits reports whether a new section can keep its level. It must be deeper than the parent, no
// deeper than least, the highest level of the sections before it, and at least as deep as the
// existing sections after it, because these keep their levels.
func (r *reordering) fits(i, least int) bool {
	level := r.order[i].Level
	return level > r.parentLevel && level <= least &&
		!slices.ContainsFunc(r.order[i+1:], func(s sibling) bool { return s.New == nil && s.Level > level })
}

// write writes the result to r.out: the text before the region, the sections in their order, and
// the text after the region. Two sections that were neighbours keep the blank lines between them;
// all others are separated by one blank line.
func (r *reordering) write() {
	head, rest := r.text[:r.region.Start], r.text[r.region.End:]
	r.out = make([]byte, 0, len(r.text)+len(r.text)/8)
	r.keep(head, Span{0, r.region.Start})
	r.want = append(r.want, r.d.Headings[:r.d.headingsBefore(r.region.Start)]...)
	before := -1 // the child that was written last
	news := 0
	for i := range r.order {
		s := &r.order[i]
		if s.New == nil && s.Child == before+1 {
			r.between(before)
		} else {
			r.blank()
		}
		before = len(r.children) // no child
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

// between writes the blank lines between a child and the next one, unchanged.
func (r *reordering) between(child int) {
	if child >= 0 {
		end := r.d.Headings[r.children[child+1]].Own.Start
		part := bytes.TrimRight(r.text[:end], " \t\r\n")
		r.out = append(r.out, r.text[len(part):end]...)
	}
}

// blank makes r.out end with a blank line, unless it is empty.
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

// keep writes an unchanged part of the note.
func (r *reordering) keep(text []byte, from Span) {
	r.out = append(r.out, text...)
	r.part(0, from, len(text))
}

// part records where the last n bytes of r.out come from: the span at of the text from, which is 0
// for the note and otherwise the number of a new section. It counts lines only from the last part
// on.
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

// put writes a section with the number from and records its headings as expected. start is the
// offset of the section in its source.
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

// size returns the length of the section before its level changed.
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
		if !slices.ContainsFunc(own, func(o Definition) bool { return o.Label == d.Label }) &&
			r.define([]Definition{d}) {
			lacking = append(lacking, d)
		}
	}
	r.out = withDefinitions(r.out, lacking, r.eol)
}

// define adds definitions to those of the note, and reports whether it had none of the labels. A
// label that it defines differently is recorded as a conflict.
func (r *reordering) define(all []Definition) (fresh bool) {
	fresh = true
	for _, d := range all {
		own, has := r.known[d.Label]
		if fresh = fresh && !has; !has {
			r.known[d.Label] = d.Text
		} else if !bytes.Equal(bytes.TrimSpace(own), bytes.TrimSpace(d.Text)) &&
			!slices.Contains(r.Conflicts, d.Label) {
			r.Conflicts = append(r.Conflicts, d.Label)
		}
	}
	return fresh
}

// end writes the rest of the note after the sections. last is the child that was written last; it
// is -1 or len(r.children) if that is none. If the last child is still the last one, the blank
// lines after it stay. A text that ends with the sections ends with a line break.
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

// result returns the result, or malformed_markdown if it does not have the expected headings or
// frontmatter. That happens if the text before a section leaves a block open, such as a fence,
// which then contains the section.
func (r *reordering) result() (ReorderResult, error) {
	r.orphans()
	after := r.d.Reparse(r.out)
	if after.Body != r.d.Body || !bytes.Equal(r.out[:after.Body], r.text[:r.d.Body]) ||
		!sameStructure(r.want, after.Headings) {
		return ReorderResult{}, malformed("the text around the section would be parsed differently; close its fences")
	}
	r.Text, r.Doc = r.out, after
	r.Titled = len(r.want) > 0 && after.Headings[0].Title && !r.want[0].Title
	return r.ReorderResult, nil
}

// orphans appends the definitions that only a removed section had and that the rest of the note
// uses. Otherwise links outside of the section would become text. No part contains the added lines.
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
		r.insertDefinitions(r.placeForDefinitions(), lacking)
	}
}

// placeForDefinitions returns the offset in r.out after which definitions are written: the end of
// the last own text that is not a lone embed, which would no longer stand for its target.
func (r *reordering) placeForDefinitions() int {
	bodies := r.d.Reparse(r.out).Bodies(r.out)
	slices.SortFunc(bodies, func(a, b Body) int { return b.End - a.End })
	if !bodies[0].Embeds {
		return len(r.out)
	}
	for _, b := range bodies {
		if !b.Embeds && b.End > 0 {
			return b.End
		}
	}
	return r.d.Body
}

// insertDefinitions writes definitions after an offset in r.out, with blank lines around them. Parts
// after it move, and one that contains it is split.
func (r *reordering) insertDefinitions(at int, all []Definition) {
	before := bytes.TrimRight(r.out[:at], " \t\r\n")
	rest := r.out[len(before):]
	out := bytes.TrimLeft(withDefinitions(before, all, r.eol), "\r\n")
	if len(bytes.TrimSpace(rest)) == 0 {
		rest = []byte(r.eol)
	} else if bytes.Count(rest[:len(rest)-len(bytes.TrimLeft(rest, " \t\r\n"))], []byte{'\n'}) < 2 {
		out = append(out, r.eol...)
	}
	last := bytes.Count(before, []byte{'\n'}) + 1 // the line before the definitions
	if len(before) == 0 {
		last, rest = 0, append([]byte(r.eol+r.eol), bytes.TrimLeft(rest, "\r\n")...)
	}
	end := bytes.Count(r.out, []byte{'\n'})
	r.out = slices.Concat(out, rest)
	added := bytes.Count(r.out, []byte{'\n'}) - end
	var parts []Part
	for _, p := range r.Parts {
		switch {
		case p.Lines.Start > last:
			p.Lines = Span{p.Lines.Start + added, p.Lines.End + added}
		case p.Lines.End > last+1 && len(bytes.TrimSpace(rest)) == 0: // only blank lines follow
			p.Lines.End = last + 1
		case p.Lines.End > last+1 && p.New > 0:
			p.Lines.End += added
		case p.Lines.End > last+1:
			middle := p.From.Start
			for range last + 1 - p.Lines.Start {
				middle = lineNext(r.text, middle)
			}
			parts = append(parts, Part{0, Span{p.From.Start, middle}, Span{p.Lines.Start, last + 1}})
			p.From.Start, p.Lines = middle, Span{last + 1 + added, p.Lines.End + added}
		}
		parts = append(parts, p)
	}
	r.Parts = parts
}

// sameStructure reports whether headings have the expected levels, texts and declarations. Slugs may
// differ, because a section that moves can get another number. The first heading may have become
// the title of the note.
func sameStructure(want, is []Heading) bool {
	if len(want) != len(is) {
		return false
	}
	for i, w := range want {
		h := is[i]
		if w.Level != h.Level || !sameText(w.Text, h.Text) || w.Top != h.Top ||
			w.Title && !h.Title || h.Title && !w.Title && i > 0 {
			return false
		}
		if !sameDeclared(w.Declaration, h.Declaration) {
			return false
		}
	}
	return true
}

// sameText reports whether two headings have the same text. It ignores spaces, because Parse joins
// the lines of an underlined heading without a space, and Relevel joins them with one.
func sameText(a, b string) bool {
	return a == b || strings.ReplaceAll(a, " ", "") == strings.ReplaceAll(b, " ", "")
}

// sameDeclared reports whether two declarations have the same type and the same number of fields.
func sameDeclared(a, b *Declaration) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Type == b.Type && len(a.Fields) == len(b.Fields)
}

// CutSection removes a section from a note, by its position as in SubtreeAt, and returns it as
// well. The errors are those of SubtreeAt and Reorder.
func CutSection(text []byte, section int) (ReorderResult, Subtree, error) {
	return Parse(text).CutSection(section)
}

// CutSection is the function CutSection for a parsed text.
func (d *Doc) CutSection(section int) (ReorderResult, Subtree, error) {
	s, err := d.SubtreeAt(section)
	if err != nil {
		return ReorderResult{}, s, err
	}
	parent, at, order := d.siblingsOf(section)
	r, err := d.Reorder(parent, slices.Delete(order, at, at+1))
	return r, s, err
}

// PlaceSections inserts new sections directly below a section of a note (0: the note itself),
// before the child at a position from 0, or after all if there is no such child. The errors are those of Reorder.
func PlaceSections(text []byte, parent, at int, more ...*Subtree) (ReorderResult, error) {
	return Parse(text).PlaceSections(parent, at, more...)
}

// PlaceSections is the function PlaceSections for a parsed text.
func (d *Doc) PlaceSections(parent, at int, more ...*Subtree) (ReorderResult, error) {
	order := d.Siblings(parent)
	if at < 0 || at > len(order) {
		at = len(order)
	}
	for i, s := range more {
		order = slices.Insert(order, at+i, Sibling{New: s})
	}
	return d.Reorder(parent, order)
}

// Siblings returns the sections directly below a section of a note (0: the note itself), in order.
func (d *Doc) Siblings(parent int) []Sibling {
	children, _ := d.below(parent)
	all := make([]Sibling, len(children))
	for i := range all {
		all[i].Child = i
	}
	return all
}

// siblingsOf returns the position of the parent of a section, the index of the section among the
// children of the parent, and all these children. It is the order for Reorder that changes nothing,
// which a caller then modifies. section must be at the top.
func (d *Doc) siblingsOf(section int) (parent, at int, order []Sibling) {
	i := d.headingAt(section)
	if above := d.Headings[i].TopParent; above >= 0 {
		parent = above + 1
		if _, titled := d.title(); titled {
			parent--
		}
	}
	children, _ := d.below(parent)
	return parent, slices.Index(children, i), d.Siblings(parent)
}

// LevelBelow returns the level of a new section directly below a section of a note (0: the note
// itself).
func LevelBelow(text []byte, parent int) int { return Parse(text).LevelBelow(parent) }

// LevelBelow is the function LevelBelow for a parsed text.
func (d *Doc) LevelBelow(parent int) int {
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
