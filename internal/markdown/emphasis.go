package markdown

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A delimiter is a run of * or _ that may begin or end emphasis. at and n shrink as parts of the
// run are paired; size stays, because the rules depend on the length of the whole run.
type delimiter struct {
	at, n       int // the offset and length of the part that is not paired yet
	size        int // the length of the whole run
	char        byte
	open, close bool
}

// newDelimiter returns the run at the offset, with its flanking by the rules of CommonMark.
//
// The start and the end of the text count as blanks. An underscore inside a word neither opens nor
// closes (CommonMark §6.2).
func newDelimiter(src []byte, at int) delimiter {
	d := delimiter{at: at, n: runLen(src, at), char: src[at]}
	d.size = d.n
	before, _ := utf8.DecodeLastRune(src[:at])
	after, _ := utf8.DecodeRune(src[at+d.n:])
	if at == 0 {
		before = ' '
	}
	if at+d.n == len(src) {
		after = ' '
	}
	left := !unicode.IsSpace(after) && (!isPunct(after) || unicode.IsSpace(before) || isPunct(before))
	right := !unicode.IsSpace(before) && (!isPunct(before) || unicode.IsSpace(after) || isPunct(after))
	d.open, d.close = left, right
	if d.char == '_' {
		d.open = left && (!right || isPunct(before))
		d.close = right && (!left || isPunct(after))
	}
	return d
}

func isPunct(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// An emphasizer pairs delimiters in linear time: it does not repeat an unsuccessful search. It is
// the algorithm "process emphasis" of the appendix of CommonMark, with its lower bounds by kind of
// closing run. It does not build a tree; it only reports which bytes are markup.
type emphasizer struct {
	all   []delimiter
	open  []int      // indices of the runs that may begin emphasis
	floor [12]int    // how many of open were searched without success, by kind of closing run
	hide  func(Span) // is called with the bytes that are markup
}

// pair pairs the delimiters from the given index on, hides their marks, and drops them.
//
// from is the number of delimiters before the label of a link, or 0 for a whole block: emphasis
// must not begin inside a link and end outside.
func (e *emphasizer) pair(from int) {
	// A run can be longer than the emphasis that it ends: it closes as often as an opening run
	// matches, and its rest may open.
	e.open, e.floor = e.open[:0], [12]int{}
	for k := from; k < len(e.all); k++ {
		d := &e.all[k]
		for d.close && d.n > 0 && e.end(d) {
		}
		if d.open && d.n > 0 {
			e.open = append(e.open, k)
		}
	}
	e.all = e.all[:from]
}

// end pairs a part of a closing run with the nearest opening run that matches. It reports whether
// there is one.
func (e *emphasizer) end(d *delimiter) bool {
	kind := d.kind()
	j := len(e.open) - 1
	for ; j >= e.floor[kind] && !e.matches(&e.all[e.open[j]], d); j-- {
	}
	if j < e.floor[kind] {
		e.floor[kind] = len(e.open)
		return false
	}
	o := &e.all[e.open[j]]
	n := 1
	if o.n > 1 && d.n > 1 {
		n = 2
	}
	e.hide(Span{o.at + o.n - n, o.at + o.n})
	e.hide(Span{d.at, d.at + n})
	o.n, d.n, d.at = o.n-n, d.n-n, d.at+n
	e.drop(j, o.n == 0)
	return true
}

// kind returns the number of the kind of a closing run, from 0 to 11. Runs of the same kind match
// the same opening runs, so a search without success need not be repeated for another run of the
// kind.
func (d *delimiter) kind() int {
	kind := d.size % 3
	if d.open {
		kind += 3
	}
	if d.char == '_' {
		kind += 6
	}
	return kind
}

// matches reports whether the run o can open emphasis that the run d closes: they have the same
// character, and the rule of three of CommonMark allows it.
func (e *emphasizer) matches(o, d *delimiter) bool {
	if o.char != d.char {
		return false
	}
	both := o.close || d.open
	return !both || (o.size+d.size)%3 != 0 || o.size%3 == 0 && d.size%3 == 0
}

// drop removes the open runs after the j-th, and that one too if used is set. Runs between the two
// ends of an emphasis cannot begin another one. The floors are lowered to the number of runs that
// are left.
func (e *emphasizer) drop(j int, used bool) {
	if !used {
		j++
	}
	e.open = e.open[:j]
	for kind, n := range e.floor {
		e.floor[kind] = min(n, j)
	}
}

// hardBreak reports whether the backslash at the offset is a hard line break.
func hardBreak(src []byte, at int) bool {
	rest := src[at+1:]
	return bytes.HasPrefix(rest, []byte{'\n'}) || bytes.HasPrefix(rest, []byte("\r\n"))
}
