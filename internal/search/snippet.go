package search

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// snippetLength is how many bytes of a text a snippet shows at most, if Options do not say it.
const snippetLength = 240

// A marker finds in texts what a query looks for. It is used by one goroutine.
type marker struct {
	analyzer *analyzer
	scan     *scanner
	worth    []float64        // by concept
	terms    map[string][]int // the concepts of each term
	prefixes []prefixMark
	words    map[string][]int // the concepts of each word that was looked at
	starts   [256]bool        // the first bytes of words that may have any
	empty    bool
	length   int // of a snippet, in bytes
}

// A prefixMark is a word of the query that is typed in part.
type prefixMark struct {
	prefix  string
	concept int
}

// A mark is a place in a text that has some of the concepts.
type mark struct {
	start, end int
	concepts   []int
}

func newMarker(a *analyzer, concepts []*concept) *marker {
	m := &marker{
		analyzer: a, scan: a.scanner(), terms: map[string][]int{}, words: map[string][]int{},
		empty: len(concepts) == 0, length: snippetLength,
	}
	for i, c := range concepts {
		m.worth = append(m.worth, c.idf)
		for _, f := range c.forms {
			if f.prefix {
				m.prefixes = append(m.prefixes, prefixMark{f.term, i})
			} else {
				m.terms[f.term] = append(m.terms[f.term], i)
			}
			m.startsWith(f.term)
		}
	}
	return m
}

// startsWith notes what the words begin with that a term may stand for: as the term does, or as an
// irregular form. A letter with an accent may have become any other.
func (m *marker) startsWith(term string) {
	bare := strings.TrimPrefix(strings.TrimPrefix(term, asWritten), unaccented)
	for i := range len(m.starts) {
		m.starts[i] = m.starts[i] || i >= utf8.RuneSelf || m.analyzer.mutates
	}
	for _, c := range []byte(bare[:min(1, len(bare))] + m.analyzer.starts[bare]) {
		m.starts[c] = true
	}
}

// snippet is the part of a text that says most about the query, in one line, and what in it was
// looked for. Where nothing was, it is the beginning.
func (m *marker) snippet(text []byte) (string, [][2]int) {
	var marks []mark
	if !m.empty {
		marks = m.marks(text)
	}
	first, last, _ := m.window(marks)
	from, to := 0, 0
	if len(marks) > 0 {
		from, to = marks[first].start, marks[last].end
	}
	from, to = m.widen(text, from, to)
	return oneLine(text, from, to, marks)
}

// marks are the places of a text that have any of the concepts, from first to last.
func (m *marker) marks(text []byte) []mark {
	var marks []mark
	for r := range m.scan.runs(text) {
		if r.whole != nil {
			if found := m.word(r.whole); found != nil {
				marks = append(marks, mark{r.start, r.end, found})
				continue
			}
		}
		for _, a := range r.atoms {
			marks = m.atom(marks, text, a)
		}
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return a.start - b.start })
	return marks
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
		default: // it is not known which of the characters these are
			marks = append(marks, mark{a.start, a.end, found})
		}
	}
	return marks
}

// word are the concepts that a word has.
func (m *marker) word(word []byte) []int {
	if !m.starts[word[0]] {
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

// window is the first and the last of the marks whose distinct concepts are worth most of all that
// a snippet has room for, and that worth; of equal ones the first.
func (m *marker) window(marks []mark) (first, last int, best float64) {
	seen := make([]int, len(m.worth)) // the window, from 1, that a concept was last seen in
	for i := range marks {
		worth := 0.0
		for j := i; j < len(marks) && marks[j].end-marks[i].start <= m.length; j++ {
			gain := 0.0
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

// widen adds to a stretch of a text what goes before and behind it, as far as there is room, and
// cuts at spaces, or else between characters.
func (m *marker) widen(text []byte, from, to int) (int, int) {
	if to-from >= m.length {
		return from, atCharacter(text, from+m.length)
	}
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

// wordStart is where the first word begins behind an offset, and not behind a limit.
func wordStart(text []byte, at, limit int) int {
	if i := bytes.IndexAny(text[at:limit], " \t\r\n"); i >= 0 {
		return at + i + 1
	}
	for at < limit && !startsCharacter(text[at:]) {
		at++
	}
	return at
}

// wordEnd is where the last word ends before an offset, and not before a limit.
func wordEnd(text []byte, limit, at int) int {
	if i := bytes.LastIndexAny(text[limit:at], " \t\r\n"); i >= 0 {
		return limit + i
	}
	return max(limit, atCharacter(text, at))
}

// atCharacter is the last place up to an offset where a character begins.
func atCharacter(text []byte, at int) int {
	for at > 0 && at < len(text) && !startsCharacter(text[at:]) {
		at--
	}
	return at
}

// startsCharacter reports whether a text begins with a character that is not a mark on another.
func startsCharacter(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return utf8.RuneStart(text[0]) && !unicode.IsMark(r)
}

// oneLine is a stretch of a text in one line: spaces and control characters are one space, and
// bytes that are no UTF-8 the character that stands for such. The ranges are those of the marks.
func oneLine(text []byte, from, to int, marks []mark) (string, [][2]int) {
	var b strings.Builder
	place := make([]int, to-from+1) // of each byte, in the snippet
	spaces := false
	for at := from; at < to; {
		r, n := utf8.DecodeRune(text[at:to])
		blank := unicode.IsSpace(r) || unicode.IsControl(r)
		if !blank && spaces && b.Len() > 0 {
			b.WriteByte(' ')
		}
		for i := range n {
			place[at-from+i] = b.Len()
		}
		if !blank {
			b.WriteRune(r)
		}
		spaces = blank
		at += n
		place[at-from] = b.Len()
	}
	return b.String(), ranges(place, from, marks)
}

// ranges are the marks that a snippet shows, as its bytes. Those that overlap are one.
func ranges(place []int, from int, marks []mark) [][2]int {
	list := [][2]int{}
	for _, m := range marks {
		start, end := max(m.start-from, 0), min(m.end-from, len(place)-1)
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
