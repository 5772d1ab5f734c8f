package markdown

import "bytes"

// An atom is a part of inline text that takes precedence over brackets and emphasis: code, HTML or
// an address.
type atom struct {
	Span
	kind atomKind
	text Span // the visible part: code without its backticks, an address without < and >
}

// An atomKind is the kind of an atom: code, raw HTML, or an address in < and >.
type atomKind int

const (
	codeAtom atomKind = iota
	htmlAtom
	addressAtom
)

// A fences is an index of the runs of backticks of a text: the offsets of the runs, by their
// length. Calls of from with ascending offsets take constant time on average, so that a text with
// many opening runs and no closing ones takes linear time.
type fences map[int][]int

func newFences(src []byte) fences {
	f := fences{}
	for i := 0; i < len(src); {
		next := bytes.IndexByte(src[i:], '`')
		if next < 0 {
			break
		}
		i += next
		n := runLen(src, i)
		f[n] = append(f[n], i)
		i += n
	}
	return f
}

// from returns the offset of the first run of exactly n backticks at or after at, or -1. It forgets
// earlier runs.
func (f fences) from(n, at int) int {
	starts := f[n]
	for len(starts) > 0 && starts[0] < at {
		starts = starts[1:]
	}
	if f[n] != nil {
		f[n] = starts
	}
	if len(starts) == 0 {
		return -1
	}
	return starts[0]
}

// runLen returns how often the byte at the offset is repeated, at least 1.
func runLen(src []byte, at int) int {
	n := 1
	for at+n < len(src) && src[at+n] == src[at] {
		n++
	}
	return n
}

// findAtoms appends the code spans of a text to into and, unless onlyCode is set, its HTML tags and
// the addresses in angle brackets. They are in text order and do not overlap. The first one that
// begins takes precedence: a backtick in a tag does not begin code, and a < in code does not begin
// a tag. A backslash before a backtick or a < makes it text.
func findAtoms(src []byte, into []atom, onlyCode bool) []atom {
	if bytes.IndexByte(src, '`') < 0 && (onlyCode || bytes.IndexByte(src, '<') < 0) {
		return into
	}
	ticks, html := newFences(src), newTagReader(src)
	for i := 0; i < len(src); {
		var a atom
		ok := false
		switch {
		case src[i] == '\\':
			i += 2
			continue
		case src[i] == '`':
			a, ok = codeSpan(src, i, ticks)
			if !ok {
				i += runLen(src, i)
				continue
			}
		case src[i] == '<' && !onlyCode:
			a, ok = html.read(i)
		}
		if !ok {
			i++
			continue
		}
		into = append(into, a)
		i = a.End
	}
	return into
}

// codeSpan returns the code span whose opening backticks are at the offset. ok is false if no run
// of the same length follows. Of its text, one blank at each end is dropped if both ends have one
// and the text is not only blanks (CommonMark §6.1).
func codeSpan(src []byte, at int, ticks fences) (atom, bool) {
	n := runLen(src, at)
	end := ticks.from(n, at+n)
	if end < 0 {
		return atom{}, false
	}
	text := Span{at + n, end}
	code := src[text.Start:text.End]
	blank := func(c byte) bool { return c == ' ' || c == '\n' }
	if len(code) > 1 && blank(code[0]) && blank(code[len(code)-1]) &&
		len(bytes.Trim(code, " \r\n")) > 0 {
		text.Start++
		text.End--
	}
	return atom{Span{at, end + n}, codeAtom, text}, true
}
