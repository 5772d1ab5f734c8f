// Package control recognizes the characters that control a terminal or reorder the text around
// them. They are invisible, and make a text look like another one.
//
// They are the control characters of Unicode (C0, DEL and C1) and the explicit directional
// formatting characters (UAX #9, §2): embeddings, overrides and isolates, U+202A to U+202E and
// U+2066 to U+2069.
package control

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether a character is one of them.
func Is(r rune) bool { return unicode.IsControl(r) || Reorders(r) }

// Reorders reports whether a character changes the direction of the text after it.
func Reorders(r rune) bool {
	return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}

// Has reports whether a text contains one of them.
func Has(s string) bool { return strings.ContainsFunc(s, Is) }

// Escape returns a text for a terminal: each of them but line feeds and tabs is written as \u and
// four hexadecimal digits. A byte that is not UTF-8 becomes U+FFFD, because some terminals read it
// as C1.
func Escape(s string) string {
	return escape(s, func(r rune) bool { return r != '\n' && r != '\t' && Is(r) })
}

// EscapeLine is Escape for a text that must stay on its line, such as a name: line feeds and tabs are
// escaped too.
func EscapeLine(s string) string { return escape(s, Is) }

// EscapeJSON is Escape for valid JSON: the result is the same JSON, because the characters can only
// occur in strings. Line feeds between its values are kept.
func EscapeJSON(raw []byte) []byte {
	return []byte(escape(string(raw), func(r rune) bool { return r != '\n' && Is(r) }))
}

func escape(s string, odd func(rune) bool) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if odd(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
