package merge

import (
	"bytes"
	"strings"
)

const mark = "\ufeff" // the UTF-8 byte order mark

// The line breaks of a text; the empty string is a text that has none.
const (
	lf    = "\n"
	crlf  = "\r\n"
	mixed = "mixed"
)

// The end of a text; the empty string is a text that is empty.
const (
	closed = "closed" // a line break ends it
	open   = "open"   // its last line has none
	cr     = "cr"     // likewise, but has a carriage return, which is not half of one
)

// A form is what a text has beside its lines. It merges apart from them, so that an editor that
// writes other line breaks has not changed every line.
type form struct {
	mark   bool
	breaks string
	end    string
}

func formOf(text []byte) form {
	f := form{mark: bytes.HasPrefix(text, []byte(mark)), breaks: breaksOf(text)}
	switch {
	case len(text) == 0 || string(text) == mark:
	case text[len(text)-1] == '\n':
		f.end = closed
	case text[len(text)-1] == '\r':
		f.end = cr
	default:
		f.end = open
	}
	return f
}

// breaksOf is the kind of line breaks. A carriage return that stands alone makes a text mixed, as it
// could not be told from half of a line break once the others are taken off.
func breaksOf(text []byte) string {
	n, r, both := bytes.Count(text, []byte("\n")), bytes.Count(text, []byte("\r")),
		bytes.Count(text, []byte(crlf))
	switch {
	case n == 0 && r == 0:
		return ""
	case r == 0:
		return lf
	case n == both && r == both:
		return crlf
	}
	return mixed
}

// plain is the text without its byte order mark, each line ended by a line break: by "\n", or, where
// one of the texts is mixed, by the one that it has.
func (f form) plain(text []byte, mixed bool) string {
	s := string(text)
	if f.mark {
		s = s[len(mark):]
	}
	switch f.end {
	case open:
		s += lastBreak(s)
	case cr:
		s += lf
	}
	if !mixed {
		s = strings.ReplaceAll(s, crlf, lf)
	}
	return s
}

// lastBreak is the kind of the last line break of a text.
func lastBreak(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i > 0 && s[i-1] == '\r' {
		return crlf
	}
	return lf
}

// write gives a plain text the form. A text that ends with a blank line keeps its line break.
func (f form) write(plain string, mixed bool) []byte {
	last := plain
	switch f.end {
	case open:
		last = strings.TrimSuffix(strings.TrimSuffix(plain, lf), "\r")
	case cr:
		last = strings.TrimSuffix(plain, lf)
	}
	if !strings.HasSuffix(last, lf) {
		plain = last
	}
	if !mixed && f.breaks == crlf {
		plain = strings.ReplaceAll(plain, lf, crlf)
	}
	if f.mark {
		plain = mark + plain
	}
	return []byte(plain)
}
