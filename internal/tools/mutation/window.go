package mutation

import (
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/tool"
)

// windowHead is the number of bytes of a window before its offset.
const windowHead = 150

// Window returns a text, or a part of at most `most` bytes of it if it is longer. The part begins
// windowHead bytes before the offset at, if the text after that is long enough, and has a mark on
// each side where text is omitted.
func Window(text []byte, at, most int) string {
	first, last := WindowAt(text, at, most)
	return Ellipsis(string(text[first:last]), first > 0, last < len(text))
}

// WindowAt returns the offsets of the first byte of a window and of the byte after it. It does not
// cut characters, so that a window can be up to six bytes shorter than most.
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

// Ellipsis returns a text with a mark on each side where text is omitted.
func Ellipsis(text string, before, behind bool) string {
	if before {
		text = tool.CutMark + text
	}
	if behind {
		text += tool.CutMark
	}
	return text
}
