package markdown

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// Append adds a block of lines at the end of a note, and returns the new note and the line in which
// the block begins. The block is added after the last line that is not blank: directly if that line
// and the block are both list items, and otherwise after a blank line. Its line breaks become those
// of the note's first line. Append returns INVALID_VALUE for a block without text.
func Append(text []byte, block string) (out []byte, line int, err error) {
	return insert(text, place{readHead(text).end, len(text), false}, block)
}

// AppendToSection adds a block, as Append does, at the end of the own text of a section: before the
// next heading, which may be that of a subsection. The slug of the title, and "", mean the note's
// own text. It returns NOT_FOUND if the note has no section with the slug.
func AppendToSection(text []byte, slug, block string) (out []byte, line int, err error) {
	p, err := findOwn(text, slug)
	if err != nil {
		return nil, 0, err
	}
	return insert(text, p, block)
}

// findOwn returns the place at the end of the own text of a section.
//
// The note's own text ends before the first heading that is not the title; the own text of a
// section ends before the next heading of any level.
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

// AppendText adds a text where AppendToSection adds a block, or at the end of the note if the slug
// is "", and returns the line in which it begins. Unlike there, the bytes of the text stay the
// same. A line break is added after a text without one, and a blank line before it, unless the text
// begins with one or continues a list.
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
	line = lineOf(text, at) + strings.Count(before, "\n")
	return splice(text, Span{at, at}, []byte(before+block+after)), line, nil
}

// A place is the position where a block is added: after the last line with text in text[from:to].
// Blank lines at the end of that range stay after the block.
type place struct {
	from, to int
	apart    bool // a blank line must follow the block
}

// place returns the end of a section. A blank line must follow a block there if the next heading is
// underlined, because otherwise the block would become part of its text.
func (d *Doc) place(from, to int) place {
	p := place{from: from, to: to}
	for _, h := range d.Headings {
		if h.Own.Start == to {
			p.apart = h.setext
		}
	}
	return p
}

// insert adds a block at a place, and returns the new note and the line in which the block begins.
//
// The error is INVALID_VALUE for a block without text. The line breaks of the block are converted,
// which AppendText does not do.
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
	line := lineOf(text, at) + strings.Count(before, "\n")
	return splice(text, Span{at, at}, []byte(before+block+after)), line, nil
}

// lastText returns the offset after the last line with text up to p.to, or p.from if there is none.
// The offset is the start of a line, or the end of a text that does not end with a line break.
func lastText(text []byte, p place) int {
	end := p.from + len(bytes.TrimRight(text[p.from:p.to], " \t\r\n"))
	if end == p.from {
		return p.from
	}
	return lineNext(text, end)
}

// separator returns the line breaks between a text and the block that is added to it: none at the
// start of a note, one between two list items, and otherwise enough for a blank line. It adds one
// more if the text does not end with a line break.
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

// itemMarker matches the first line of a list item. rule matches a thematic break such as `* * *`,
// which begins like one.
var (
	itemMarker = regexp.MustCompile(`^[ \t]*([-*+]|[0-9]{1,9}[.)])([ \t\r\n]|$)`)
	rule       = regexp.MustCompile(`^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})\r?(?:\n|$)`)
)

// isItem reports whether the first of some lines begins a list item.
func isItem(lines string) bool {
	return itemMarker.MatchString(lines) && !rule.MatchString(lines)
}

// withBreaks returns a text with eol in place of every line break.
func withBreaks(s, eol string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(s, "\n", eol)
}

// A NotOnceError is the error of FindOnce: N is how often the text was found, which is not 1. N is 0, or
// at least 2.
type NotOnceError struct{ N int }

// Error returns the message with the number of matches.
func (m *NotOnceError) Error() string { return fmt.Sprintf("found %d times, not once", m.N) }

// A Replacement is the replacement of a text that occurs exactly once.
//
// It is a value and not an applied change, so that a caller can combine several before it changes
// the text.
type Replacement struct {
	At   Span
	With string
	Line int // the line in which At begins
}

// FindOnce finds a text that occurs exactly once in the note, and returns its replacement by
// another. Its error is a *Matches if the text does not occur once; overlapping occurrences count.
// If old does not occur and the line breaks of the note are "\r\n", the line breaks of both texts
// are converted first. FindOnce returns INVALID_VALUE if old is empty.
func FindOnce(text []byte, old, with string) (Replacement, error) {
	if old == "" {
		return Replacement{}, fault.New(fault.InvalidValue, "the text to replace is empty")
	}
	at := bytes.Index(text, []byte(old))
	if at < 0 && lineBreak(text) == "\r\n" {
		old, with = withBreaks(old, "\r\n"), withBreaks(with, "\r\n")
		at = bytes.Index(text, []byte(old))
	}
	if at < 0 {
		return Replacement{}, &NotOnceError{0}
	}
	if bytes.Contains(text[at+1:], []byte(old)) {
		return Replacement{}, &NotOnceError{max(2, bytes.Count(text, []byte(old)))}
	}
	return Replacement{Span{at, at + len(old)}, with, lineOf(text, at)}, nil
}

// title returns the heading that is the note's title.
func (d *Doc) title() (Heading, bool) {
	if len(d.Headings) == 0 || !d.Headings[0].Title {
		return Heading{}, false
	}
	return d.Headings[0], true
}

// lineOf returns the line of the file at an offset.
func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte{'\n'}) }

// noSection returns NOT_FOUND for a slug that no section of the note has. noText returns
// INVALID_VALUE for a block without text.
func noSection(slug string) error {
	return fault.New(fault.NotFound, "the note has no section %q", slug)
}

// noHeading returns the error for a position without a heading.
func noHeading() error { return fault.New(fault.NotFound, "the note has no such section") }

func noText() error { return fault.New(fault.InvalidValue, "there is no text to add") }
