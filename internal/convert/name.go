package convert

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths in characters of texts that are derived from an export. Longer texts are cut off.
const (
	maxName    = 60  // a file name that is derived from a title
	maxID      = 128 // an id of the source
	maxRowID   = 200 // an id in a row
	maxTitle   = 200
	digestName = 12 // a digest in a name
	digestID   = 32 // a digest that is an id
)

// fileName returns a file name derived from a title: its letters, digits, - and _, with _ in place
// of every other character, and at most maxName characters. It has no extension. It returns other
// if nothing is left.
func fileName(title, other string) string {
	name := truncate(strings.Map(func(r rune) rune {
		switch {
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return r
		}
		return '_'
	}, title), maxName)
	if strings.Trim(name, "_") == "" {
		return other
	}
	return name
}

// plainID returns an id of at most most characters, with _ in place of all but ASCII letters,
// digits, - and _. Different ids can become equal. It is used for names of files and for the ids of
// ChatGPT.
func plainID(id string, most int) string {
	return truncate(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, id), most)
}

// truncate returns the first most characters of a text, counted as code points.
func truncate(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

// line returns a text on one line, with blanks collapsed.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// digest returns the first length hexadecimal digits of the SHA-256 digest of some texts, which are
// joined without a separator. It is part of names and ids of notes that were imported, so its
// result must not change.
func digest(length int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, p) // a hash returns no errors
	}
	return hex.EncodeToString(h.Sum(nil))[:length]
}

// hasPrefix reports whether some bytes begin with a text. The functions below are likewise short
// forms for bytes.
func hasPrefix(data []byte, prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }

// isUTF8 reports whether the bytes of a file are valid UTF-8. Other encodings are not converted.
func isUTF8(data []byte) bool { return utf8.Valid(data) }

// trimBOM returns a text without the byte order mark that some programs write at its beginning.
func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }
