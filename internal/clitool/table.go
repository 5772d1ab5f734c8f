package clitool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// table prints objects as rows, with a column for each name that has a value in any of them, in the
// order of first occurrence:
//
//	path            version  modified
//	--------------------------------
//	people/freya    v42      3 minutes ago
//
// If a terminal is too narrow for the table, each object is printed as a list of its values.
// Elsewhere than on a terminal, a table is lines with tabs, and nothing is cut.
func (p *printer) table(items []value) {
	columns := p.chosen(columnsOf(items))
	if slices.ContainsFunc(items, func(v value) bool { return v.get(p.diff).text != "" }) {
		p.diffs(columns, items)
		return
	}
	if !p.terminal {
		p.rows(columns, items)
		return
	}
	grid := [][]cell{titles(columns, items)}
	for _, item := range items {
		grid = append(grid, p.marked(columns, item))
	}
	widths, ok := p.fit(columnWidths(grid))
	if !ok {
		p.records(columns, items)
		return
	}
	t := table.NewWriter()
	t.SetStyle(style(widths))
	for i, width := range widths {
		for _, row := range grid {
			row[i] = row[i].within(width)
		}
	}
	t.AppendHeader(p.row(grid[0]))
	for _, cells := range grid[1:] {
		t.AppendRow(p.row(cells))
	}
	p.printTable(t.Render())
}

// printTable prints a rendered table, without the blanks at the ends of lines. Its cells are
// already escaped, and may contain colours, so it must not be escaped again.
func (p *printer) printTable(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		fmt.Fprintln(p.out, strings.TrimRight(line, " "))
	}
}

// records prints objects one below the other, with a line for each column that has a value. It is
// for terminals that are too narrow for a table.
func (p *printer) records(columns []string, items []value) {
	for _, item := range items {
		var record value
		for _, name := range columns {
			if m, ok := item.member(name); ok && m.inline() != "" {
				record.members = append(record.members, m)
			}
		}
		p.item(record, "")
	}
}

// rows prints a line of names and a line for each object, with tabs between the cells. The names
// are those of the data, so that a script can rely on them.
func (p *printer) rows(columns []string, items []value) {
	p.printf("%s\n", strings.Join(columns, "\t"))
	for _, item := range items {
		var texts []string
		for _, name := range columns {
			texts = append(texts, textOf(item.get(name)))
		}
		p.printf("%s\n", strings.Join(texts, "\t"))
	}
}

// gap is the number of spaces between columns.
const gap = 2

// style returns the style of a table: gaps between columns and a line below the headings. The
// widths are those of the cells, which are cut already.
func style(widths []int) table.Style {
	s := table.StyleLight
	s.Options = table.Options{SeparateHeader: true}
	s.Format.Header = text.FormatDefault
	s.Box.PaddingLeft, s.Box.PaddingRight = "", strings.Repeat(" ", gap)
	s.Size.WidthMax, s.Box.UnfinishedRow = (len(widths)-1)*gap, "" // no gap after the last
	for _, width := range widths {
		s.Size.WidthMax += width
	}
	return s
}

// titles returns the headings of the columns, marked as bold: the label of the first object that
// has the member, or its name in words.
func titles(columns []string, items []value) []cell {
	var all []cell
	for _, name := range columns {
		title := words(name)
		for _, item := range items {
			if m, ok := item.member(name); ok {
				title = m.title()
				break
			}
		}
		title = escapeControls(title)
		all = append(all, cell{text: title, marks: [][2]int{{0, len(title)}}})
	}
	return all
}

// marked returns the cells of an object. A text in which a search has found words has the ranges of
// these words as its marks.
func (p *printer) marked(columns []string, item value) []cell {
	var all []cell
	for _, name := range columns {
		v := item.get(name)
		c := cell{text: textOf(v), whole: v.whole}
		if ranges := p.marks[name]; ranges != "" && c.text == v.text {
			c.marks = rangesOf(item.get(ranges), len(c.text))
		}
		all = append(all, c)
	}
	return all
}

// row returns the cells of a row in the form of the table package, with their colours. Cells must
// have their final width, because the package does not know how to cut them.
func (p *printer) row(cells []cell) table.Row {
	var r table.Row
	for _, c := range cells {
		r = append(r, c.painted(p))
	}
	return r
}

// A columnWidth is the current and the minimum width of a column.
type columnWidth struct{ now, least int }

// Minimum widths of columns.
const (
	leastLast = 20 // minimum width of the last column while others are not cut
	leastCell = 6
)

// columnWidths returns the width of the widest cell of each column, and its minimum: that of the
// cells that must not be cut, and of leastCell columns of others. grid must not be empty.
func columnWidths(grid [][]cell) []columnWidth {
	all := make([]columnWidth, len(grid[0]))
	for _, row := range grid {
		for i, c := range row {
			width := c.width()
			all[i].now = max(all[i].now, width)
			if !c.whole {
				width = min(width, leastCell)
			}
			all[i].least = max(all[i].least, width)
		}
	}
	return all
}

// fit returns the widths of the columns on the terminal, and reports whether they fit. Excess is
// taken first from the last column, which usually contains long texts, and then from the widest
// columns that can be narrower. With --wide, nothing is cut, and every table fits.
func (p *printer) fit(columns []columnWidth) (widths []int, ok bool) {
	excess := gap*(len(columns)-1) - p.width
	for _, c := range columns {
		excess += c.now
	}
	ok = true
	if n := len(columns); n > 0 && !p.wide {
		last := &columns[n-1]
		give := max(0, min(excess, last.now-max(last.least, leastLast)))
		last.now -= give
		ok = narrow(columns, excess-give)
	}
	for _, c := range columns {
		widths = append(widths, c.now)
	}
	return widths, ok
}

// narrow takes an excess evenly from the widest columns, one terminal column at a time. So short
// columns, such as versions and dates, keep their width as long as a longer one can give. It
// returns false if the columns cannot become narrow enough. The cost is the excess times the number
// of columns, both of which are small.
func narrow(columns []columnWidth, excess int) bool {
	for ; excess > 0; excess-- {
		var widest *columnWidth
		for i := range columns {
			c := &columns[i]
			if c.now > c.least && (widest == nil || c.now > widest.now) {
				widest = c
			}
		}
		if widest == nil {
			return false
		}
		widest.now--
	}
	return true
}

// chosen returns the columns to show: those that the line selects, otherwise those of the tool that
// have a value, or all columns if there are none. columns are those that the objects have.
func (p *printer) chosen(columns []string) []string {
	if len(p.only) > 0 {
		return p.only
	}
	var chosen []string
	for _, name := range p.columns {
		if slices.Contains(columns, name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) == 0 {
		return columns
	}
	return chosen
}

// columnsOf returns the names of members that any of the objects shows, in the order in which they
// first occur. Members without a value for people are not among them, so a table has no empty
// columns.
func columnsOf(items []value) []string {
	var columns []string
	seen := map[string]bool{}
	for _, item := range items {
		for _, m := range item.shown() {
			if !seen[m.name] {
				seen[m.name] = true
				columns = append(columns, m.name)
			}
		}
	}
	return columns
}

// textOf formats a value as one line without control characters. Runs of blanks and line breaks
// become one space, so a cell has one line and a line with tabs keeps its columns.
func textOf(v value) string {
	return escapeControls(strings.Join(strings.Fields(v.inline()), " "))
}

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
