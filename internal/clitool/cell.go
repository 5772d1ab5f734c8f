package clitool

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"
)

// A cell is one line of text in a table. Its text is already escaped. Widths are columns of a
// terminal: a wide character has two, and a combining mark none. Offsets of marks are in bytes;
// they must be moved whenever text before them is cut.
type cell struct {
	text  string
	marks [][2]int // byte ranges to emphasize, as start and end, in order
	whole bool     // must not be cut
}

// cut marks omitted text.
const cut = "…"

// width returns the number of columns of the text on a terminal. It differs from the number of
// bytes and from that of characters.
func (c cell) width() int { return text.StringWidthWithoutEscSequences(c.text) }

// within returns the cell cut to a width. If the first mark would be cut off, it also omits text
// before the mark: a search result must show the words that were found. Omitted text is replaced by
// an ellipsis.
func (c cell) within(width int) cell {
	if c.width() <= width {
		return c
	}
	if len(c.marks) > 0 {
		c = c.from(width)
	}
	c.text = text.Snip(c.text, width, cut)
	kept := len(strings.TrimSuffix(c.text, cut))
	marks := c.marks
	c.marks = nil
	for _, m := range marks {
		c.marks = append(c.marks, [2]int{min(m[0], kept), min(m[1], kept)})
	}
	return c
}

// from returns the cell without its beginning, so that the first mark is within the first third of
// a width. It begins with a whole word if possible. A cell whose first mark fits is returned
// unchanged.
func (c cell) from(width int) cell {
	start, end := c.marks[0][0], c.marks[0][1]
	if start == 0 || text.StringWidthWithoutEscSequences(c.text[:end]) < width {
		return c
	}
	for room := width / 3; start > 0; {
		r, n := utf8.DecodeLastRuneInString(c.text[:start])
		if room -= text.RuneWidth(r); room < 1 {
			break
		}
		start -= n
	}
	start = wordFrom(c.text, start, c.marks[0][0])
	short := cell{text: cut + c.text[start:]}
	for _, m := range c.marks {
		short.marks = append(short.marks, [2]int{m[0] - start + len(cut), m[1] - start + len(cut)})
	}
	return short
}

// wordFrom returns the offset of the first whole word in s[from:end]; if there is no space in it,
// an offset that does not separate a character from its combining marks.
func wordFrom(s string, from, end int) int {
	if from == 0 || from == end {
		return from
	}
	if i := strings.IndexByte(s[from:end], ' '); i >= 0 {
		return from + i + 1
	}
	for from < end { // no spaces: do not cut between a character and a combining mark
		r, n := utf8.DecodeRuneInString(s[from:])
		if !unicode.IsMark(r) {
			break
		}
		from += n
	}
	return from
}

// painted returns the text with its marks in bold, if colours are used. Marks that overlap are
// joined.
func (c cell) painted(p *printer) string {
	var b strings.Builder
	at := 0
	for _, m := range c.marks {
		from, to := min(max(m[0], at), len(c.text)), min(m[1], len(c.text))
		if from >= to {
			continue
		}
		b.WriteString(c.text[at:from])
		b.WriteString(p.paint(bold, c.text[from:to]))
		at = to
	}
	return b.String() + c.text[at:]
}

// rangesOf returns the byte ranges in a list of pairs, as an answer has them: start and end in the
// text of another member. Ranges that are invalid for a text of this length are ignored.
func rangesOf(list value, length int) [][2]int {
	var all [][2]int
	for _, pair := range list.items {
		if len(pair.items) != 2 {
			continue
		}
		from, err1 := strconv.Atoi(pair.items[0].text)
		to, err2 := strconv.Atoi(pair.items[1].text)
		if err1 == nil && err2 == nil && 0 <= from && from < to && to <= length {
			all = append(all, [2]int{from, to})
		}
	}
	return all
}
