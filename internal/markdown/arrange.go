package markdown

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A SectionPlace is a place of a section in a note: after or before another section with its
// subsections, or as the last subsection of it. The values are slugs. At most one is set; the zero
// value is the end of the note. The slug of the title is valid only in Under: a section under the
// title is a section of the note.
type SectionPlace struct{ After, Before, Under string }

// InsertSection adds a heading without text, with blank lines around it, and returns the new note
// and the line of the heading. The level must be that of the section before or after it, or one
// deeper than that of the section that contains it. At the end of the note it must be at most one
// deeper than that of the last heading. Level 0 selects the required level; at the end of the note,
// that of the last section at the top.
//
// It returns NOT_FOUND if the note has no section with the slug; INVALID_VALUE for another level, a
// title with markup, or a place inside a quote or a list; and VALIDATION_FAILED if the slug of
// another section would change.
func InsertSection(text []byte, title string, level int, to SectionPlace) (out []byte, line int, err error) {
	d := Parse(text)
	at, want, err := d.placeOf(text, to)
	if err != nil {
		return nil, 0, err
	}
	if level, err = d.levelAt(level, want, to); err != nil {
		return nil, 0, err
	}
	eol := lineBreak(text)
	block := strings.Repeat("#", level) + " " + title + eol
	out, line = insertBlock(text, at, []byte(block), eol)
	k := d.headingsBefore(at)
	order := slices.Insert(slices.Clone(d.Headings), k, Heading{Level: level, Text: title})
	if err := sameSections(order, Parse(out).Headings, k, k+1); err != nil {
		return nil, 0, err
	}
	return out, line, nil
}

// MoveSection moves a section with its subsections to another place of the note, and returns the
// new note and the new line of the section. Nothing else changes except blank lines between
// sections. The errors are those of InsertSection; to move the title of a note, or a section into
// itself, is INVALID_VALUE.
func MoveSection(text []byte, slug string, to SectionPlace) (out []byte, line int, err error) {
	d := Parse(text)
	h, ok := d.Section(slug)
	if !ok {
		return nil, 0, noSection(slug)
	}
	if h.Title || !isBlock(text, h) {
		return nil, 0, notMovable(h)
	}
	at, want, err := d.placeOf(text, to)
	if err != nil {
		return nil, 0, err
	}
	if at > h.Own.Start && at < h.Subtree.End || to.Under == slug || to.After == slug || to.Before == slug {
		return nil, 0, fault.New(fault.InvalidValue, "the section %q cannot move into itself", slug)
	}
	if _, err = d.levelAt(h.Level, want, to); err != nil {
		return nil, 0, err
	}
	// at is an offset in text, and the section is inserted in rest, from which it is already
	// removed. A place after the section has moved by the length of the removed text, and the index
	// of the headings there by their number.
	rest, block := cutSection(text, h)
	order := d.headingsOutside(h.Subtree)
	k := d.headingsBefore(at)
	if at >= h.Subtree.End {
		at -= len(text) - len(rest)
		k -= len(d.Headings) - len(order)
	}
	eol := lineBreak(text)
	out, line = insertBlock(rest, at, append(block, eol...), eol)
	// order has the headings that the result must have, with the slugs of before: a move must not
	// change the id of any section.
	order = slices.Insert(order, k, d.headingsIn(h.Subtree)...)
	if err := sameSections(order, Parse(out).Headings, 0, 0); err != nil {
		return nil, 0, err
	}
	return out, line, nil
}

// cutSection removes a section from a text, and returns both. If no blank line is before the
// section, the blank lines after it stay.
//
// Sections that are moved take the blank lines before them as separators. If the line before the
// section has text, the blank lines after it are the only separator that is left, so they must not
// be removed with it.
func cutSection(text []byte, h Heading) (rest, section []byte) {
	section = bytes.TrimRight(text[h.Subtree.Start:h.Subtree.End], " \t\r\n")
	before := text[:h.Subtree.Start]
	at := h.Subtree
	trimmed := bytes.TrimRight(before, " \t\r\n")
	if len(trimmed) > 0 && bytes.Count(before[len(trimmed):], []byte("\n")) < 2 {
		at.End = min(at.End, lineNext(text, at.Start+len(section)))
	}
	return splice(text, at, nil), bytes.Clone(section)
}

// headingsBefore returns the number of headings that begin before an offset, including the title.
// It is the index at which a heading at the offset is inserted in d.Headings.
func (d *Doc) headingsBefore(at int) int {
	n := 0
	for _, h := range d.Headings {
		if h.Own.Start < at {
			n++
		}
	}
	return n
}

// headingsIn returns the headings that begin in a span.
func (d *Doc) headingsIn(s Span) []Heading {
	var some []Heading
	for _, h := range d.Headings {
		if h.Own.Start >= s.Start && h.Own.Start < s.End {
			some = append(some, h)
		}
	}
	return some
}

// RestoreSection adds the text of a removed section to a note at a place. It returns the new note
// and the line of the section. The errors are those of InsertSection, but the level of the heading
// stays, whatever the place requires. The text may contain several headings; all of them may have
// any slug, because they are new to the note.
func RestoreSection(text, section []byte, to SectionPlace) (out []byte, line int, err error) {
	d := Parse(text)
	at, _, err := d.placeOf(text, to)
	if err != nil {
		return nil, 0, err
	}
	eol := lineBreak(text)
	block := append(bytes.Clone(bytes.TrimRight(section, " \t\r\n")), eol...)
	out, line = insertBlock(text, at, block, eol)
	k, back := d.headingsBefore(at), Parse(section).Headings
	order := slices.Insert(slices.Clone(d.Headings), k, back...)
	return out, line, sameSections(order, Parse(out).Headings, k, k+len(back))
}

// RenameSection changes the text of a heading, and returns the new note and the new heading. A
// section with an id in its declaration keeps its slug. The errors are those of InsertSection.
func RenameSection(text []byte, slug, title string) (out []byte, renamed Heading, err error) {
	d := Parse(text)
	h, ok := d.Section(slug)
	if !ok {
		return nil, h, noSection(slug)
	}
	if h.Title || !isBlock(text, h) {
		return nil, h, notMovable(h)
	}
	at := headingText(text, h)
	out = splice(text, at, []byte(title))
	after := Parse(out)
	k := slices.IndexFunc(d.Headings, func(other Heading) bool { return other.Own == h.Own })
	order := slices.Clone(d.Headings)
	order[k].Text = title
	if err := sameSections(order, after.Headings, k, k+1); err != nil {
		return nil, h, err
	}
	renamed = after.Headings[k]
	return out, renamed, nil
}

// SetHeadingAt changes the text of a heading, which is named as for SetArgumentsAt and may be the
// title of the note. The slugs of other sections may change. It returns INVALID_VALUE for a text
// with markup or a heading in a quote or a list.
func SetHeadingAt(text []byte, k int, title string) ([]byte, error) {
	d := Parse(text)
	if k < 0 || k >= len(d.Headings) {
		return nil, noHeading()
	}
	h := d.Headings[k]
	if !h.Title && !isBlock(text, h) {
		return nil, notMovable(h)
	}
	out := splice(text, headingText(text, h), []byte(title))
	order := slices.Clone(d.Headings)
	order[k].Text = title
	if after := Parse(out).Headings; !sameHeadings(order, after) || after[k].Title != h.Title {
		return nil, notPlain()
	}
	return out, nil
}

// placeOf returns the offset of a place, and the level that a heading there must have. Level 0
// means that any level that levelAtEnd allows is valid; only the end of the note has it. It returns
// NOT_FOUND for an unknown slug, and INVALID_VALUE for a section in a quote or a list, and for a
// place beside the title.
func (d *Doc) placeOf(text []byte, to SectionPlace) (at, level int, err error) {
	slug := to.After + to.Before + to.Under
	if slug == "" {
		return len(text), 0, nil
	}
	h, ok := d.Section(slug)
	if !ok {
		return 0, 0, noSection(slug)
	}
	switch {
	case !isBlock(text, h) || h.Title && to.Under == "":
		return 0, 0, notMovable(h)
	case to.Before != "":
		return h.Own.Start, h.Level, nil
	case to.Under != "" && h.Title:
		return len(text), h.Level + 1, nil
	case to.Under != "":
		return h.Subtree.End, h.Level + 1, nil
	}
	return h.Subtree.End, h.Level, nil
}

// levelAt checks the level of a heading and returns it. want is the level that the place requires,
// from placeOf; 0: the place is the end of the note. Level 0 is replaced by the default. The error
// is INVALID_VALUE. to is used only for its message.
func (d *Doc) levelAt(level, want int, to SectionPlace) (int, error) {
	if want == 0 {
		return d.levelAtEnd(level)
	}
	level = cmp.Or(level, want)
	if level != want || level > 6 {
		place := "beside it"
		if to.Under != "" {
			place = "under it"
		}
		return 0, fault.New(fault.InvalidValue, "a section %s must have level %d, not %d", place, want, level).
			With("argument", "level")
	}
	return level, nil
}

// levelAtEnd checks the level of a heading at the end of the note and returns it, or the default if
// it is 0. The level may be at most one deeper than that of the last heading, so that no level is
// skipped. In a note without headings it may be any. The default is the level of the last section
// that is not a subsection, and 2 if there is none.
func (d *Doc) levelAtEnd(level int) (int, error) {
	last, top := 1, 2
	for _, h := range d.Headings {
		last = h.Level
		if h.Parent < 0 && !h.Title {
			top = h.Level
		}
	}
	if len(d.Headings) == 0 {
		last = 5
	}
	level = cmp.Or(level, top)
	if level < 1 || level > last+1 || level > 6 {
		return 0, fault.New(fault.InvalidValue, "level must be from 1 to %d here", min(last+1, 6)).
			With("argument", "level")
	}
	return level, nil
}

// insertBlock inserts whole lines at the beginning of a line, or at the end, with a blank line
// before and after them, and returns the new text and the line number of the first. It adds only
// the line breaks that are missing; existing blank lines stay.
func insertBlock(text []byte, at int, block []byte, eol string) (out []byte, line int) {
	before, after := text[:at], text[at:]
	var b bytes.Buffer
	b.Write(before)
	switch trimmed := bytes.TrimRight(before, " \t\r\n"); {
	case len(trimmed) == 0:
	case !bytes.HasSuffix(before, []byte("\n")):
		b.WriteString(eol + eol)
	case bytes.Count(before[len(trimmed):], []byte("\n")) < 2:
		b.WriteString(eol)
	}
	line = lineOf(b.Bytes(), b.Len())
	b.Write(block)
	if len(bytes.TrimLeft(after, " \t\r\n")) > 0 && !startsBlank(after) {
		b.WriteString(eol)
	}
	b.Write(after)
	return b.Bytes(), line
}

// startsBlank reports whether a text begins with a blank line.
func startsBlank(text []byte) bool {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return len(bytes.TrimSpace(first)) == 0
}

// container matches the marker of a list item or of a quote at the start of a line.
var container = regexp.MustCompile(`^ {0,3}(>|[-*+][ \t]|[0-9]{1,9}[.)][ \t])`)

// isBlock reports whether a heading is a block of the note itself: not in a list or a quote. It
// looks only at the first line of the heading. Edits by slug refuse other headings, because their
// lines have prefixes that would have to be moved and adjusted too.
func isBlock(text []byte, h Heading) bool {
	first := text[h.Own.Start:lineEnd(text, h.Own.Start)]
	if h.setext {
		return !container.Match(first)
	}
	return bytes.HasPrefix(bytes.TrimLeft(first, " "), []byte("#")) && !bytes.HasPrefix(first, []byte("    "))
}

// atx matches a heading that begins with #: its beginning, its text, and its end.
var atx = regexp.MustCompile(`^( {0,3}#{1,6}[ \t]*)(.*?)([ \t]+#+)?[ \t\r]*$`)

// headingText returns the span of the text of a heading, without its markers, the closing #
// characters and the underline. The text of an underlined heading may have several lines.
func headingText(text []byte, h Heading) Span {
	at := Span{h.Own.Start, lineEnd(text, h.Own.Start)}
	if h.setext {
		underline := lineStart(text, len(bytes.TrimSuffix(text[:h.Content], []byte("\n"))))
		at.End = len(bytes.TrimRight(text[:underline], "\r\n"))
	} else if m := atx.FindSubmatchIndex(text[at.Start:at.End]); m != nil {
		at = Span{at.Start + m[4], at.Start + m[5]}
	}
	return trim(text, at)
}

// sameSections returns nil if the headings of a note are the expected ones. It returns
// INVALID_VALUE if levels or texts differ, and VALIDATION_FAILED if a section has another slug, or
// has become or ceased to be the title. The headings from index from up to, not including, to are
// new: they may have any slug.
func sameSections(want, is []Heading, from, to int) error {
	if len(is) != len(want) {
		return notPlain()
	}
	for i, h := range want {
		now := is[i]
		if now.Text != h.Text || now.Level != h.Level {
			return notPlain()
		}
		if isNew := i >= from && i < to; !isNew && (now.Slug != h.Slug || now.Title != h.Title) {
			return slugChanges(h, now)
		}
	}
	return nil
}

// slugChanges returns the fault for a change that would give a section another slug.
func slugChanges(h, now Heading) error {
	return fault.New(fault.ValidationFailed, "the id of the section %q would change", h.Slug).
		With("reason", "slug").With("section", h.Slug).With("new_slug", now.Slug).
		Fix("rename the other section first, or use another title or place; of several sections with " +
			"the same heading, delete the last first")
}

// notPlain returns the fault for a title that is not plain text, or that would change other
// headings.
func notPlain() error {
	return fault.New(fault.InvalidValue,
		"a title must be one line of plain text, and must not change the headings around it").
		With("argument", "title")
}

// notMovable returns the fault for a heading that is the title, or in a list or a quote.
func notMovable(h Heading) error {
	return fault.New(fault.InvalidValue, "%q is the title of the note, or in a list or a quote; edit the text", h.Slug).
		With("line", h.Line).Try("raven_edit", nil)
}
