package markdown

import (
	"bytes"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// InsertUnder adds a block at the beginning of the own text of a section, after its heading and its
// declaration, and returns the new note and the line in which the block begins. The slug of the
// title, and "", mean the note's own text. Blank lines after the heading stay before the block. A
// blank line separates the block from the text that follows, unless both are list items. It returns
// NOT_FOUND if the note has no section with the slug, and INVALID_VALUE for a block without text.
func InsertUnder(text []byte, slug, block string) (out []byte, line int, err error) {
	s, err := findSection(text, slug)
	if err != nil {
		return nil, 0, err
	}
	own := s.written(text)
	block = strings.Trim(block, "\r\n")
	if own.Start == own.End {
		return insert(text, s.place, block)
	}
	eol := lineBreak(text)
	block = withBreaks(block, eol)
	if strings.Trim(block, " \t\r\n") == "" {
		return nil, 0, noText()
	}
	after := eol + eol
	if isItem(block) && isItem(string(text[own.Start:own.End])) {
		after = eol
	}
	before := s.apart(text, own.Start, block, eol)
	line = lineOf(text, own.Start) + strings.Count(before, "\n")
	return splice(text, Span{own.Start, own.Start}, []byte(before+block+after)), line, nil
}

// ReplaceSection replaces the own text of a section, which ends at the next heading, and returns
// the new note. The slug is as for InsertUnder. The heading, its declaration and the blank lines
// around the text stay. A body without text removes the old text. It returns NOT_FOUND if the note
// has no section with the slug.
func ReplaceSection(text []byte, slug, body string) ([]byte, error) {
	s, err := findSection(text, slug)
	if err != nil {
		return nil, err
	}
	own := s.written(text)
	eol := lineBreak(text)
	body = withBreaks(strings.Trim(body, "\r\n"), eol)
	empty := strings.Trim(body, " \t\r\n") == ""
	switch {
	case own.Start == own.End && empty:
		return text, nil
	case own.Start == own.End:
		out, _, err := insert(text, s.place, body)
		return out, err
	case empty:
		return splice(text, Span{own.Start, s.withBlank(text, own.End)}, nil), nil
	}
	before, after := s.apart(text, own.Start, body, eol), eol
	if own.End == s.to && s.place.apart {
		after += eol
	}
	return splice(text, own, []byte(before+body+after)), nil
}

// A section is the place of the own text of a section, or of a note.
type section struct {
	place
	declared bool // a declaration is directly before it
}

// findSection returns the place of the own text of a section: after its heading and declaration, up
// to the next heading.
func findSection(text []byte, slug string) (section, error) {
	d := Parse(text)
	h, ok := d.Section(slug)
	if slug == "" {
		h, ok = d.title()
		if !ok {
			return section{d.place(d.Body, d.OwnEnd()), false}, nil
		}
	}
	if !ok {
		return section{}, noSection(slug)
	}
	s := section{place: d.place(h.Content, h.Own.End)}
	if h.Embedded != nil {
		s.from, s.declared = lineNext(text, h.Embedded.Span.End), true
	}
	return s, nil
}

// title returns the heading that is the note's title.
func (d *Doc) title() (Heading, bool) {
	if len(d.Headings) == 0 || !d.Headings[0].Title {
		return Heading{}, false
	}
	return d.Headings[0], true
}

// written returns the lines of the section from the first to the last that is not blank.
func (s section) written(text []byte) Span {
	at := trim(text, Span{s.from, s.to})
	if at.Start == at.End {
		return Span{s.from, s.from}
	}
	return Span{max(s.from, lineStart(text, at.Start)), min(s.to, lineNext(text, at.End))}
}

// withBlank returns the offset after the blank lines at the offset.
func (s section) withBlank(text []byte, at int) int {
	rest := text[at:s.to]
	return max(at, lineStart(text, at+len(rest)-len(bytes.TrimLeft(rest, " \t\r\n"))))
}

// apart returns the blank line that a text needs before it so as not to become part of the
// declaration above it, or "".
func (s section) apart(text []byte, at int, block, eol string) string {
	if s.declared && at == s.from && !isItem(block) {
		return eol
	}
	return ""
}

// lineOf returns the line of the file at an offset.
func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte{'\n'}) }

func noSection(slug string) error {
	return fault.New(fault.NotFound, "the note has no section %q", slug)
}

func noText() error { return fault.New(fault.InvalidValue, "there is no text to add") }
