package search

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// snippetLength is the maximum length of a snippet in bytes if Options.Snippet is 0.
const snippetLength = 240

// A marker finds the words of a query in texts. It must be used by one goroutine.
//
// It derives the terms of each distinct word of a text once, and skips words whose first letter no
// term of the query can have, mostly without reading the rest of the word.
type marker struct {
	analyzer *analyzer
	scan     *scanner
	worth    []float64        // idf, by concept
	terms    map[string][]int // concepts, by term
	prefixes []prefixMark
	words    map[string][]int // concepts, by word: a cache
	starts   initials         // of words that can match
	grams    bool             // a term of the query is of a spaceless script
	empty    bool             // the query has no concepts
	length   int              // maximum length of a snippet in bytes

	// Memory that is used again for each text.
	found []mark
	seen  []int
	sums  sums
	line  []byte
	place []int
}

// A prefixMark is a prefix that the query looks for.
type prefixMark struct {
	prefix  string
	concept int
}

// A mark is a part of a text that matches some concepts.
type mark struct {
	start, end int
	concepts   []int
}

// newMarker returns a marker for the concepts of a query.
func newMarker(a *analyzer, concepts []*concept) *marker {
	m := &marker{
		analyzer: a, scan: a.scanner(), terms: map[string][]int{}, words: map[string][]int{},
		starts: newInitials(a), empty: len(concepts) == 0, length: snippetLength,
	}
	for i, c := range concepts {
		m.worth = append(m.worth, c.idf)
		for _, f := range c.forms {
			if f.prefix {
				m.prefixes = append(m.prefixes, prefixMark{f.term, i})
			} else {
				m.terms[f.term] = append(m.terms[f.term], i)
			}
			m.starts.add(f.term)
			first, _ := utf8.DecodeRuneInString(f.term)
			m.grams = m.grams || a.classes.of(first)&spaceless != 0
		}
	}
	return m
}

// snippet returns the part of a text with the matches that are worth most, in one line, and the
// ranges of the matches. Without a match, it returns the beginning of the text.
//
// It finds the matches in the text, selects the window of matches that is worth most, and extends it to
// the length of a snippet. has says which concepts the text has; nil: any.
func (m *marker) snippet(text []byte, has []bool) (string, [][2]int) {
	var marks []mark
	if !m.empty {
		marks = m.marksUntil(text, m.gathering(has))
	}
	first, last, _ := m.window(marks)
	from, to := 0, 0
	if len(marks) > 0 {
		from, to = marks[first].start, marks[last].end
	}
	from, to = m.widen(text, from, to)
	return m.oneLine(text, from, to, marks)
}

// marks returns the matches in a text, ordered by their start. They are valid until the next call.
func (m *marker) marks(text []byte) []mark { return m.marksUntil(text, gathering{}) }

// marksUntil returns the matches in a text that a snippet needs, ordered by their start: those up to
// the end of g. They are valid until the next call.
func (m *marker) marksUntil(text []byte, g gathering) []mark {
	marks, starts := m.found[:0], &m.starts.ascii
	if m.starts.all {
		starts = nil
	}
	for r := range m.scan.runsIf(text, starts, m.mayMatch) {
		if g.isPast(r.start) {
			break
		}
		before := len(marks)
		marks = m.run(marks, text, r)
		if g.isComplete(marks[before:]) {
			sortMarks(marks)
			_, _, worth := m.window(marks)
			g.decide(worth)
		}
	}
	sortMarks(marks)
	m.found = marks
	return marks
}

// sortMarks sorts marks by their start. Marks with the same start keep their order.
func sortMarks(marks []mark) {
	slices.SortStableFunc(marks, func(a, b mark) int { return a.start - b.start })
}

// run appends the marks of a run.
func (m *marker) run(marks []mark, text []byte, r *run) []mark {
	if r.whole != nil {
		// A match of a whole identifier is marked as a whole, and its parts are not.
		if found := m.word(r.whole); found != nil {
			return append(marks, mark{r.start, r.end, found})
		}
	}
	for _, a := range r.atoms {
		marks = m.atom(marks, text, a)
	}
	return marks
}

// mayMatch reports whether a run can contain a word that matches; see runsIf. Of a run with capital
// letters or joiners, every letter that can begin an atom is examined. A run with a letter that is
// neither simple nor of class asIs must be read first.
func (m *marker) mayMatch(raw []byte, plain bool) bool {
	if plain {
		return m.starts.has(raw)
	}
	begins := true
	for i, r := range string(raw) {
		k := m.scan.classes.of(r)
		// A word can begin after each spaceless character.
		if joiner(raw[i:]) > 0 || !m.grams && isWhole(r) && k&spaceless != 0 {
			begins = true
			continue
		}
		// A mark on a spaceless character makes a word of it.
		known := isSimple(r) || k&asIs != 0 && (k&opening != 0 || !begins)
		if r >= utf8.RuneSelf && !known || (begins || k&upper != 0) && m.starts.hasLetter(simpleFold(r)) {
			return true
		}
		begins = false
	}
	return false
}

// atom appends the marks of an atom.
func (m *marker) atom(marks []mark, text []byte, a atom) []mark {
	if !a.spaceless {
		if found := m.word(a.text); found != nil {
			marks = append(marks, mark{a.start, a.end, found})
		}
		return marks
	}
	asIs := bytes.Equal(a.text, text[a.start:a.end])
	for at, term := range grams(a.text) {
		found := m.terms[string(term)]
		switch {
		case found == nil:
		case asIs:
			marks = append(marks, mark{a.start + at, a.start + at + len(term), found})
		default: // the offset in the text is unknown: mark the whole atom
			marks = append(marks, mark{a.start, a.end, found})
		}
	}
	return marks
}

// word returns the concepts that a word matches.
func (m *marker) word(word []byte) []int {
	if !m.starts.has(word) {
		return nil
	}
	found, ok := m.words[string(word)]
	if ok {
		return found
	}
	for _, term := range m.analyzer.terms(string(word)) {
		found = append(found, m.terms[term]...)
		for _, p := range m.prefixes {
			if strings.HasPrefix(term, p.prefix) {
				found = append(found, p.concept)
			}
		}
	}
	m.words[string(word)] = found
	return found
}

// window returns the first and the last mark of the best window of a text, and its worth. A
// window fits into a snippet; its worth is the sum of the idf of its distinct concepts. Of
// windows with equal worth, it returns the first.
func (m *marker) window(marks []mark) (first, last int, best float64) {
	// By concept: the last window, from 1, that contained it.
	m.seen = slices.Grow(m.seen[:0], len(m.worth))[:len(m.worth)]
	seen := m.seen
	clear(seen)
	for i := range marks {
		worth := 0.0
		for j := i; j < len(marks) && marks[j].end-marks[i].start <= m.length; j++ {
			gain := 0.0
			// Only the first occurrence of a concept in a window counts.
			for _, c := range marks[j].concepts {
				if seen[c] <= i {
					seen[c] = i + 1
					gain += m.worth[c]
				}
			}
			worth += gain
			if gain > 0 && worth > best {
				best, first, last = worth, i, j
			}
		}
	}
	return first, last, best
}

// widen extends a stretch of a text on both sides to the length of a snippet. It cuts at spaces
// if possible, and otherwise between characters.
func (m *marker) widen(text []byte, from, to int) (int, int) {
	if to-from >= m.length {
		return from, atCharacter(text, from+m.length)
	}
	// A third of the free space is used before the matches, the rest after them.
	room := m.length - (to - from)
	start := max(from-room/3, 0)
	end := min(start+m.length, len(text))
	start = max(min(start, end-m.length), 0)
	if start > 0 {
		start = wordStart(text, start, from)
	}
	if end < len(text) {
		end = wordEnd(text, to, end)
	}
	return start, end
}

// wordStart returns the start of the first word after an offset, at most limit.
func wordStart(text []byte, at, limit int) int {
	if i := bytes.IndexAny(text[at:limit], " \t\r\n"); i >= 0 {
		return at + i + 1
	}
	for at < limit && !startsCharacter(text[at:]) {
		at++
	}
	return at
}

// wordEnd returns the end of the last word before an offset, at least limit.
func wordEnd(text []byte, limit, at int) int {
	if i := bytes.LastIndexAny(text[limit:at], " \t\r\n"); i >= 0 {
		return limit + i
	}
	return max(limit, atCharacter(text, at))
}

// atCharacter returns the last offset, at most at, where a character begins.
func atCharacter(text []byte, at int) int {
	for at > 0 && at < len(text) && !startsCharacter(text[at:]) {
		at--
	}
	return at
}

// startsCharacter reports whether a text begins with a character that is not a combining mark.
func startsCharacter(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return utf8.RuneStart(text[0]) && !unicode.IsMark(r)
}

// oneLine returns a stretch of a text in one line, and the ranges of the marks in it. White space
// and control characters become single spaces, and invalid bytes become U+FFFD.
//
// Ranges are offsets in the result, in ascending order.
func (m *marker) oneLine(text []byte, from, to int, marks []mark) (string, [][2]int) {
	line := m.line[:0]
	m.place = slices.Grow(m.place[:0], to-from+1)
	place := m.place[:to-from+1] // by byte of the stretch: its offset in the snippet
	spaces := false
	for at := from; at < to; {
		r, n := rune(text[at]), 1
		blank := r <= ' ' || r == 0x7F
		if r >= utf8.RuneSelf {
			r, n = decode(text[:to], at)
			blank = m.scan.classes.of(r) == 0 && (unicode.IsSpace(r) || unicode.IsControl(r))
		}
		// A space is written only before a character, so that the line does not end with one.
		if !blank && spaces && len(line) > 0 {
			line = append(line, ' ')
		}
		for i := range n {
			place[at-from+i] = len(line)
		}
		if !blank {
			line = utf8.AppendRune(line, r)
		}
		spaces = blank
		at += n
		place[at-from] = len(line)
	}
	m.line = line
	return string(line), ranges(place, from, marks)
}

// ranges returns the start and end offsets of the marks in a snippet. Overlapping ones are
// merged.
func ranges(place []int, from int, marks []mark) [][2]int {
	list := make([][2]int, 0, countIn(marks, from, from+len(place)-1))
	for _, m := range marks {
		start, end := max(m.start-from, 0), min(m.end-from, len(place)-1)
		// The mark is outside of the snippet.
		if start >= end || place[start] == place[end] {
			continue
		}
		r := [2]int{place[start], place[end]}
		if n := len(list); n > 0 && r[0] < list[n-1][1] {
			list[n-1][1] = max(list[n-1][1], r[1])
			continue
		}
		list = append(list, r)
	}
	return list
}

// countIn returns how many marks overlap a stretch of a text.
func countIn(marks []mark, from, to int) (n int) {
	for _, m := range marks {
		if m.start < to && m.end > from {
			n++
		}
	}
	return n
}

// A passage is the part of a note that a hit shows.
type passage struct {
	text []byte
	unit Passage
	slot uint32 // of the passage; 0, which is a head, for a field of the frontmatter
}

// passage returns the best passage of a note. It returns a field of the frontmatter only if no
// passage of the body that matches as well is worth as much, and then the field that is worth
// most.
func (s *searcher) passage(m *marker, f scored, text []byte) passage {
	l := &s.x.layers[f.layer]
	body := markdown.BodyStart(text)
	// The best passage is in the body already.
	if int(l.slots[f.slot].start) >= body {
		return l.passage(f.slot, text)
	}
	head := text[:body]
	best, most := f.slot, m.worthOf(head)
	found := most > 0
	phrases := s.phrasesIn(head)
	for slot := l.docs[f.doc].head + 1; slot < l.end(f.doc); slot++ {
		part := l.slots[slot].of(text)
		// Most passages cannot be worth as much, as their postings show.
		if int(l.slots[slot].start) < body || s.mostWorth(f.layer, slot) < most || !s.containsAll(part, phrases) {
			continue
		}
		worth := m.worthOf(part)
		// A passage of the body with the same worth is preferred to the frontmatter.
		if worth > most || worth == most && best == f.slot {
			best, most, found = slot, worth, false
		}
	}
	if found {
		// Only here the fields matter: parsing the YAML of each hit takes longer than all else.
		if fields, _ := markdown.ReadHead(text); fields != nil {
			return m.field(text, fields)
		}
	}
	return l.passage(best, text)
}

// passage returns the passage of a slot.
func (l *liveSegment) passage(slot uint32, text []byte) passage {
	u := l.slots[slot].span
	return passage{u.of(text), Passage{int(u.line), l.heading(slot)}, slot}
}

// mostWorth returns an upper bound of the worth of a passage: the sum of the idf of the concepts that
// it has.
func (s *searcher) mostWorth(layer int, slot uint32) (worth float64) {
	for _, c := range s.concepts {
		// The postings of a late concept are not complete.
		if c.late || c.isIn(layer, slot) {
			worth += c.idf
		}
	}
	// The order of a sum changes its rounding.
	return worth * (1 + 1e-9)
}

// conceptsIn sets has to which concepts a passage has. It returns nil if its postings do not show that.
func (s *searcher) conceptsIn(has []bool, f scored, p passage) []bool {
	if p.slot == 0 {
		return nil
	}
	has = has[:0]
	for _, c := range s.concepts {
		if c.late {
			return nil
		}
		has = append(has, c.isIn(f.layer, p.slot))
	}
	return has
}

// isIn reports whether a slot of a layer has a concept.
func (c *concept) isIn(layer int, slot uint32) bool {
	_, ok := slices.BinarySearchFunc(c.lists[layer], slot, weighted.compareSlot)
	return ok
}

// compareSlot compares the slot of w with another.
func (w weighted) compareSlot(slot uint32) int { return cmp.Compare(w.slot, slot) }

// phrasesIn returns the required phrases that a text contains.
func (s *searcher) phrasesIn(text []byte) (phrases [][]atom) {
	scan := s.x.analyzer.scanner()
	for _, r := range s.must {
		if r.phrase != nil && scan.contains(text, r.phrase) {
			phrases = append(phrases, r.phrase)
		}
	}
	return phrases
}

// containsAll reports whether a text contains all of some phrases.
func (s *searcher) containsAll(text []byte, phrases [][]atom) bool {
	scan := s.x.analyzer.scanner()
	for _, phrase := range phrases {
		if !scan.contains(text, phrase) {
			return false
		}
	}
	return true
}

// field returns the field of the frontmatter that is worth most for the query.
func (m *marker) field(text []byte, fields *markdown.Frontmatter) passage {
	best := fields.Inner
	most := 0.0
	for _, e := range fields.Entries {
		if worth := m.worthOf(text[e.Lines.Start:e.Lines.End]); worth > most {
			best, most = e.Lines, worth
		}
	}
	line := 1 + bytes.Count(text[:best.Start], []byte{'\n'})
	return passage{text: text[best.Start:best.End], unit: Passage{LineStart: line}}
}

// worthOf returns the worth of a text for the query, which is that of its best window; see
// window.
func (m *marker) worthOf(text []byte) float64 {
	if m.empty {
		return 0
	}
	_, _, worth := m.window(m.marks(text))
	return worth
}
