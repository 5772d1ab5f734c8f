package mutation

import (
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/tool"
)

// windowHead is how many bytes before its offset a window begins.
const windowHead = 150

// Window is a text, or where it has more bytes, the part of it that begins a little before an offset, with a
// mark on each side where something is left out.
func Window(text []byte, at, most int) string {
	first, last := WindowAt(text, at, most)
	return Ellipsis(string(text[first:last]), first > 0, last < len(text))
}

// WindowAt are the offsets of a window of whole characters.
func WindowAt(text []byte, at, most int) (first, last int) {
	last = len(text)
	if len(text) > most {
		first = max(0, min(at-windowHead, len(text)-most))
		last = first + most
	}
	for first > 0 && !utf8.RuneStart(text[first]) {
		first++
	}
	for last < len(text) && !utf8.RuneStart(text[last]) {
		last--
	}
	return first, last
}

// Ellipsis is a text with a mark where something before or behind it is left out.
func Ellipsis(text string, before, behind bool) string {
	if before {
		text = tool.CutMark + text
	}
	if behind {
		text += tool.CutMark
	}
	return text
}
