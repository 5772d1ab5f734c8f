package markdown

import "bytes"

// An atom is a piece of inline text that binds tighter than brackets and emphasis.
type atom struct {
	Span
	kind atomKind
	text Span // what is shown of it: the code without its fences, the address without < and >
}

type atomKind int

const (
	codeAtom atomKind = iota
	htmlAtom
	addressAtom
)

// A fences table knows where the runs of backticks of a text are. Asked for later and later places it
// answers in constant time.
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

// from is the first run of exactly n backticks at or after the offset, -1 if there is none.
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

// runLen is how often the byte at the offset is repeated.
func runLen(src []byte, at int) int {
	n := 1
	for at+n < len(src) && src[at+n] == src[at] {
		n++
	}
	return n
}

// findAtoms finds the code spans of a text and, unless only code is asked for, its HTML tags and
// addresses in angle brackets.
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

// codeSpan is the code that the backticks at the offset begin. One blank at each end is not shown.
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
