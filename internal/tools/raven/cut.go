package raven

import "unicode/utf8"

// cutMark stands in a text for what is left out of it.
const cutMark = "…"

// beginning is a text, or its first bytes with a mark behind them where it has more of them.
func beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + cutMark
}

// part is a text, or where it has more bytes, the part of it that begins a little before an offset, with a
// mark on each side where something is left out.
func part(text []byte, at, most int) string {
	first, last := windowAt(text, at, most)
	return ellipsis(string(text[first:last]), first > 0, last < len(text))
}

// windowAt are the offsets of a window of whole characters.
func windowAt(text []byte, at, most int) (first, last int) {
	last = len(text)
	if len(text) > most {
		first = max(0, min(at-quotedHead, len(text)-most))
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

// ellipsis is a text with a mark where something before or behind it is left out.
func ellipsis(text string, before, behind bool) string {
	if before {
		text = cutMark + text
	}
	if behind {
		text += cutMark
	}
	return text
}
