package markdown

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// A delimiter is a run of * or _ that may begin or end emphasis.
type delimiter struct {
	at, n       int // what is left of the run
	size        int // how long it was
	char        byte
	open, close bool
}

// newDelimiter reads the run at the offset, by the rules of CommonMark.
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

// An emphasizer pairs delimiters. The time is linear: what was searched in vain is not searched again.
type emphasizer struct {
	all   []delimiter
	open  []int      // indices of those that may begin emphasis
	floor [12]int    // how much of open has been searched in vain, by kind of end
	hide  func(Span) // is told which bytes are markup
}

// pair finds the emphasis between the delimiters from the given one on, hides its marks, and forgets
// the delimiters.
func (e *emphasizer) pair(from int) {
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

// end pairs some of a run with the nearest run that can begin what it ends.
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

// kind numbers the kinds of ends: the same runs can begin what they end.
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

// matches reports whether the first run can begin what the second ends.
func (e *emphasizer) matches(o, d *delimiter) bool {
	if o.char != d.char {
		return false
	}
	both := o.close || d.open
	return !both || (o.size+d.size)%3 != 0 || o.size%3 == 0 && d.size%3 == 0
}

// drop forgets the open runs behind the j-th, and that one too if it is used up.
func (e *emphasizer) drop(j int, used bool) {
	if !used {
		j++
	}
	e.open = e.open[:j]
	for kind, n := range e.floor {
		e.floor[kind] = min(n, j)
	}
}

// hardBreak reports whether the backslash at the offset breaks the line.
func hardBreak(src []byte, at int) bool {
	rest := src[at+1:]
	return bytes.HasPrefix(rest, []byte{'\n'}) || bytes.HasPrefix(rest, []byte("\r\n"))
}
