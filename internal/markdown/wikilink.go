package markdown

import "bytes"

// maxWikilink is the longest wikilink in bytes. The bound keeps the search for wikilinks linear.
const maxWikilink = 4096

// A wiki is a wikilink in a text: `[[target]]` or `[[target|display]]`.
type wiki struct {
	Span
	target, display Span
}

// wikiAt returns the wikilink at the offset (reference/raven.md §1.7): on one line, without
// brackets in its target, and without a closing bracket in its display text. The target must not be
// blank, and a display text must have at least one byte. A backslash before | is not part of the
// target: Obsidian writes it in tables. ok is false if there is none.
func wikiAt(src []byte, at int) (wiki, bool) {
	w := wiki{Span: Span{Start: at}}
	if !bytes.HasPrefix(src[at:], []byte("[[")) {
		return w, false
	}
	window := src[:min(len(src), at+maxWikilink)]
	w.target.Start = at + 2
	end := len(window)
	if n := bytes.IndexAny(window[at+2:], "[]|\n"); n >= 0 {
		end = at + 2 + n
	}
	w.target.End = end
	if end < len(window) && window[end] == '|' {
		if end > w.target.Start && window[end-1] == '\\' { // in a table, where | alone ends a cell
			w.target.End = end - 1
		}
		w.display.Start = end + 1
		n := bytes.IndexByte(window[end+1:], ']')
		if n < 1 || bytes.IndexByte(window[end+1:end+1+n], '\n') >= 0 {
			return w, false
		}
		end += 1 + n
		w.display.End = end
	}
	w.End = end + 2
	w.target, w.display = trim(src, w.target), trim(src, w.display)
	return w, bytes.HasPrefix(window[end:], []byte("]]")) && w.target.Start < w.target.End
}

// trim returns the span without the blanks at its ends.
func trim(src []byte, at Span) Span {
	text := src[at.Start:at.End]
	at.End -= len(text) - len(bytes.TrimRight(text, " \t\r\n\v\f"))
	at.Start += len(text) - len(bytes.TrimLeft(text, " \t\r\n\v\f"))
	if at.Start > at.End {
		at.Start = at.End
	}
	return at
}

// counts reports whether a wikilink is one if an opening bracket is directly before it: at the
// beginning of a list of wikilinks, and in an annotation whose value is a list of one wikilink.
// `[[[x]]]` alone is text.
func (w wiki) counts(src []byte) bool {
	if w.Start == 0 || src[w.Start-1] != '[' {
		return true
	}
	rest := bytes.TrimLeft(src[w.End:], " \t")
	if len(rest) > 0 && rest[0] == ',' {
		return true
	}
	return bytes.HasSuffix(src[:w.Start], []byte("([")) && bytes.HasPrefix(rest, []byte("])"))
}

// shown returns the visible text of a wikilink.
func (w wiki) shown(src []byte) []byte {
	if w.display.Start < w.display.End {
		return src[w.display.Start:w.display.End]
	}
	return src[w.target.Start:w.target.End]
}
