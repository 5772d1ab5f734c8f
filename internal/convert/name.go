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

// Lengths of what is made of an export, in characters.
const (
	maxName    = 60  // the name of a file that is made of a title
	maxID      = 128 // an id of a source
	maxRowID   = 200 // an id in a row
	maxTitle   = 200
	digestName = 12 // characters of a digest in a name
	digestID   = 32 // of a digest that is an id
)

// fileName is a name of a file made of a title: letters, digits, - and _, and _ for everything else. It is the
// other text if nothing is left.
func fileName(title, other string) string {
	name := first(strings.Map(func(r rune) rune {
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

// plainID is an id with _ for everything but ASCII letters, digits, - and _.
func plainID(id string, most int) string {
	return first(strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, id), most)
}

// first returns the first characters of a text.
func first(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}

// line is a text on one line, without blanks around it.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// digest is the beginning of the digest of some texts.
func digest(length int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, p) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))[:length]
}

func hasPrefix(data []byte, prefix string) bool { return bytes.HasPrefix(data, []byte(prefix)) }

func isUTF8(data []byte) bool { return utf8.Valid(data) }

func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\ufeff")) }
