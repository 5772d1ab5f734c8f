package merge

import (
	"bytes"
	"strings"
)

// mark is the UTF-8 byte order mark.
const mark = "\ufeff"

// The line breaks of a text; "" for a text without any.
const (
	lf    = "\n"
	crlf  = "\r\n"
	mixed = "mixed"
)

// The end of a text; "" for an empty text.
const (
	closed = "closed" // with a line break
	open   = "open"   // without a line break
	cr     = "cr"     // with a carriage return that is not part of a line break
)

// A form contains the properties of a text besides its lines: whether it has a byte order mark,
// its kind of line breaks, and its end. They are merged separately, so that an editor that writes
// other line breaks has not changed every line.
type form struct {
	mark   bool
	breaks string
	end    string
}

// formOf returns the form of a text.
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

// breaksOf returns the kind of line breaks. A single carriage return makes a text mixed, because
// after the conversion of line breaks it could not be distinguished from half of one.
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

// plain returns the text without its byte order mark, and with a line break at the end of each
// line: "\n" or, if mixed is set, the one that the line has.
func (f form) plain(text []byte, mixed bool) string {
	s := string(text)
	if f.mark {
		s = s[len(mark):]
	}
	switch f.end {
	case open:
		// With a line break at its end, the last line can be equal to the same line of another
		// text.
		s += lastBreak(s)
	case cr:
		s += lf
	}
	if !mixed {
		s = strings.ReplaceAll(s, crlf, lf)
	}
	return s
}

// lastBreak returns the last line break of a text; "\n" if there is none.
func lastBreak(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i > 0 && s[i-1] == '\r' {
		return crlf
	}
	return lf
}

// write returns a plain text with the properties of the form. A text that ends with a blank line
// keeps its line break.
func (f form) write(plain string, mixed bool) []byte {
	last := plain
	switch f.end {
	case open:
		last = strings.TrimSuffix(strings.TrimSuffix(plain, lf), "\r")
	case cr:
		last = strings.TrimSuffix(plain, lf)
	}
	// Otherwise the text ends with a blank line, which would be lost.
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
