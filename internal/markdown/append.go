package markdown

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"rookery/internal/fault"
)

// Append adds a block of lines at the end of a note, and says in which line the block begins. It
// follows the last line that is not blank: directly if that is a list item and the block begins with
// one too, else after a blank line. Its line breaks are those of the note's first line. A block
// without text is INVALID_VALUE.
func Append(text []byte, block string) (out []byte, line int, err error) {
	return insert(text, place{readHead(text).end, len(text), false}, block)
}

// AppendToSection adds a block, as Append does, at the end of the own text of a section: before the
// next heading, which may be of a section inside it. The slug of the title, and "", stand for the
// note's own text. A slug that is none of the note's is NOT_FOUND.
func AppendToSection(text []byte, slug, block string) (out []byte, line int, err error) {
	p, err := findOwn(text, slug)
	if err != nil {
		return nil, 0, err
	}
	return insert(text, p, block)
}

// findOwn is the place behind the own text of a section.
func findOwn(text []byte, slug string) (place, error) {
	d := Parse(text)
	h, ok := d.Section(slug)
	switch {
	case slug == "" || h.Title:
		return d.place(d.Body, d.OwnEnd()), nil
	case !ok:
		return place{}, noSection(slug)
	}
	return d.place(h.Own.Start, h.Own.End), nil
}

// AppendText adds a text where AppendToSection adds a block, or, with the slug "" and the whole note as the
// place, where Append does, and says in which line it begins. The text stays as it is, to the byte; a line
// break follows it where it has none, and a blank line comes before it unless it begins with one, or
// continues a list.
func AppendText(text []byte, slug, block string) (out []byte, line int, err error) {
	p := place{readHead(text).end, len(text), false}
	if slug != "" {
		s, err := findOwn(text, slug)
		if err != nil {
			return nil, 0, err
		}
		p = s
	}
	if strings.Trim(block, " \t\r\n") == "" {
		return nil, 0, noText()
	}
	eol, at := lineBreak(text), lastText(text, p)
	before, after := separator(text[:at], block, eol), ""
	if strings.HasPrefix(strings.TrimLeft(block, " \t\r"), "\n") {
		before = strings.TrimSuffix(before, eol)
	}
	if !strings.HasSuffix(block, "\n") {
		after = eol
	}
	if p.apart && at == p.to {
		after += eol
	}
	line = 1 + bytes.Count(text[:at], []byte{'\n'}) + strings.Count(before, "\n")
	return splice(text, Span{at, at}, []byte(before+block+after)), line, nil
}

// A place is where a block is added: behind the last text in text[from:to].
type place struct {
	from, to int
	apart    bool // a blank line must stand behind the block
}

// place is the end of a section. Behind it a blank line must stand if the next heading is an
// underlined one, for its text would continue the block's.
func (d *Doc) place(from, to int) place {
	p := place{from: from, to: to}
	for _, h := range d.Headings {
		if h.Own.Start == to {
			p.apart = h.setext
		}
	}
	return p
}

// insert adds a block at its place.
func insert(text []byte, p place, block string) ([]byte, int, error) {
	eol := lineBreak(text)
	block = withBreaks(strings.TrimRight(block, "\r\n"), eol)
	if strings.Trim(block, " \t\r\n") == "" {
		return nil, 0, noText()
	}
	at := lastText(text, p)
	before, after := separator(text[:at], block, eol), eol
	if p.apart && at == p.to {
		after += eol
	}
	line := 1 + bytes.Count(text[:at], []byte{'\n'}) + strings.Count(before, "\n")
	return splice(text, Span{at, at}, []byte(before+block+after)), line, nil
}

// lastText is the offset of the line behind the last line with text, up to p.to; p.from if there is
// none.
func lastText(text []byte, p place) int {
	end := p.from + len(bytes.TrimRight(text[p.from:p.to], " \t\r\n"))
	if end == p.from {
		return p.from
	}
	return lineNext(text, end)
}

// separator is what stands between a text and the block that is added to it.
func separator(text []byte, block, eol string) string {
	if len(text) == 0 || string(text) == bom {
		return ""
	}
	last, s := text[lineStart(text, len(text)-1):], ""
	if text[len(text)-1] != '\n' {
		s = eol
	}
	if isItem(string(last)) && isItem(block) {
		return s
	}
	return s + eol
}

var (
	itemMarker = regexp.MustCompile(`^[ \t]*([-*+]|[0-9]{1,9}[.)])([ \t\r\n]|$)`)
	rule       = regexp.MustCompile(`^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})\r?(?:\n|$)`)
)

// isItem reports whether the first line begins a list item.
func isItem(lines string) bool {
	return itemMarker.MatchString(lines) && !rule.MatchString(lines)
}

// withBreaks gives all line breaks of a text the same form.
func withBreaks(s, eol string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\n", eol)
}

// Matches is the error of ReplaceOnce: how often the text was found, when that was not once.
type Matches struct{ N int }

// Error says how often.
func (m *Matches) Error() string { return fmt.Sprintf("found %d times, not once", m.N) }

// A Once is where in a text another is replaced, and by what.
type Once struct {
	At   Span
	With string
	Line int // in which it begins
}

// FindOnce finds a text that occurs exactly once in the note, to be replaced by another; otherwise the
// error is *Matches. Occurrences that overlap count. Where old as given does not occur, its line breaks match
// those of a note with "\r\n", and those of the new text become so. An empty old text is INVALID_VALUE.
func FindOnce(text []byte, old, with string) (Once, error) {
	if old == "" {
		return Once{}, fault.New(fault.InvalidValue, "the text to replace is empty")
	}
	at := bytes.Index(text, []byte(old))
	if at < 0 && lineBreak(text) == "\r\n" {
		old, with = withBreaks(old, "\r\n"), withBreaks(with, "\r\n")
		at = bytes.Index(text, []byte(old))
	}
	if at < 0 {
		return Once{}, &Matches{0}
	}
	if bytes.Contains(text[at+1:], []byte(old)) {
		return Once{}, &Matches{max(2, bytes.Count(text, []byte(old)))}
	}
	return Once{Span{at, at + len(old)}, with, 1 + bytes.Count(text[:at], []byte{'\n'})}, nil
}

// ReplaceOnce replaces a text that FindOnce finds, and says in which line it begins.
func ReplaceOnce(text []byte, old, with string) (out []byte, line int, err error) {
	o, err := FindOnce(text, old, with)
	if err != nil {
		return nil, 0, err
	}
	return splice(text, o.At, []byte(o.With)), o.Line, nil
}
