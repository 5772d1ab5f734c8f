package tree

import (
	"bytes"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
)

// setBody returns the text of a note with a new body of one node. A body with a heading is a fault,
// because the heading would be a node.
//
// section is the number of the node in the note, 0 for the note itself. The body is trimmed and
// gets the line breaks of the note.
func setBody(text []byte, section int, body string) ([]byte, error) {
	if hasHeading(body, 0) {
		return nil, invalidParameter("body_escapes_section", "a body must not have headings: they would be nodes").
			Fix("set the property content, whose headings become children")
	}
	d := markdown.Parse(text)
	out := replace(text, tree.Extents(text, d)[section].Own, body)
	return out, checkUnchangedAround(text, out, d, len(d.Headings), len(d.Headings))
}

// setContent returns the text of a note with a new content of one node: its body and all its
// descendants. A heading in the content must be deeper than that of the node.
//
// The new headings are new nodes: the caller must not pass the identities of the old ones along.
func setContent(text []byte, section int, content string) ([]byte, error) {
	d := markdown.Parse(text)
	e := tree.Extents(text, d)[section]
	before := slices.IndexFunc(d.Headings, func(h markdown.Heading) bool { return h.Own.Start >= e.Content.Start })
	after := slices.IndexFunc(d.Headings, func(h markdown.Heading) bool { return h.Own.Start >= e.Content.End })
	if before < 0 {
		before = len(d.Headings)
	}
	if after < 0 {
		after = len(d.Headings)
	}
	level := 0
	if before > 0 {
		level = d.Headings[before-1].Level
	}
	if hasHeading(content, level) {
		return nil, invalidParameter("body_escapes_section",
			"the headings of the content are deeper than level %d", level)
	}
	out := replace(text, e.Content, content)
	return out, checkUnchangedAround(text, out, d, before, after)
}

// hasHeading reports whether a text has a heading of at most the given level. Level 0 means any
// heading.
func hasHeading(text string, level int) bool {
	return slices.ContainsFunc(markdown.Parse([]byte("\n"+text)).Headings, func(h markdown.Heading) bool {
		return tree.IsTop(h) && (level == 0 || h.Level <= level)
	})
}

// replace returns a text in which a part is replaced. The blank lines around the part are kept.
//
// There are three cases: a text is replaced by another, removed, or inserted where there was none.
// Only the last two change the blank lines around it. at is the whole part, including blank lines;
// the text in it without these is called core. A part at the end of a file that did not end with a
// line break gets one.
func replace(text []byte, at markdown.Span, with string) []byte {
	eol := lineBreak(text)
	with = string(bytes.TrimRight([]byte(withLineBreaks(with, eol)), " \t\r\n"))
	part := text[at.Start:at.End]
	core := tree.Cut(text, at)
	from := at.Start + bytes.LastIndex(text[at.Start:at.End], core)
	to := from + len(core)
	if len(core) == 0 {
		from, to = at.Start, at.End
	}
	var b bytes.Buffer
	b.Write(text[:from])
	switch {
	// A text replaces another one, so the blank lines around it stay.
	case len(core) > 0 && with != "":
		b.WriteString(with)
		b.Write(text[to:])
		if at.End == len(text) && !bytes.HasSuffix(part, []byte("\n")) {
			b.WriteString(eol)
		}
		return b.Bytes()
	// The text is removed, with the blank lines that were before it in this part.
	case len(core) > 0:
		b.Truncate(at.Start)
	}
	b.Write(withBlankLines(text, at, with, eol))
	b.Write(text[at.End:])
	return b.Bytes()
}

// withBlankLines returns a text that is inserted where none was, with blank lines between it and
// its surroundings.
func withBlankLines(text []byte, at markdown.Span, with, eol string) []byte {
	var b bytes.Buffer
	if at.Start > 0 && text[at.Start-1] != '\n' {
		b.WriteString(eol)
	}
	if with != "" {
		if at.Start > 0 {
			b.WriteString(eol)
		}
		b.WriteString(with + eol)
	}
	if at.End < len(text) && at.Start > 0 {
		b.WriteString(eol)
	}
	return b.Bytes()
}

// lineBreak returns the line break of a text, which is that of its first line.
func lineBreak(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// withLineBreaks returns a text with eol as its only line break, which must be "\n" or "\r\n". A
// single carriage return stays.
func withLineBreaks(s, eol string) string {
	s = string(bytes.ReplaceAll([]byte(s), []byte("\r\n"), []byte("\n")))
	if eol == "\n" {
		return s
	}
	return string(bytes.ReplaceAll([]byte(s), []byte("\n"), []byte(eol)))
}

// checkUnchangedAround returns a fault if an edit changed more than it should. The frontmatter must
// be unchanged, and so must the headings before the position before and from the position after on,
// with their declarations.
//
// A text can break its surroundings with an unclosed code fence, with a line that turns the line
// before it into a heading, or with frontmatter. The rule is checked on the result instead of the
// input, because the parser decides what a heading is.
func checkUnchangedAround(text, out []byte, was *markdown.Doc, before, after int) error {
	now := markdown.Parse(out)
	broken := invalidParameter("malformed_markdown",
		"the text would change the structure around it; close its fences, and begin it with text")
	shift := len(now.Headings) - len(was.Headings)
	if shift < before-after || !bytes.Equal(text[:was.Body], out[:min(now.Body, len(out))]) {
		return broken
	}
	for i, h := range was.Headings {
		if i >= before && i < after {
			continue
		}
		if i >= after {
			i += shift
		}
		o := now.Headings[i]
		if h.Level != o.Level || h.Text != o.Text || h.Title != o.Title ||
			(h.Declaration == nil) != (o.Declaration == nil) {
			return broken
		}
	}
	return nil
}

// unwritable returns a fault for an edit that cannot be made, with the code of this family and a
// reason. It returns nil for a nil error.
//
// Errors of the packages below have codes of other families; the specification of this family has
// one code for invalid arguments. An existing reason is kept.
func unwritable(err error, reason string) error {
	if err == nil {
		return nil
	}
	f := *fault.Of(err)
	if f.Status() == fault.StatusInvalidArgument || f.Status() == fault.StatusInternal {
		f.Code = fault.InvalidParameter
	}
	if f.Details["reason"] != nil {
		return &f
	}
	return (&f).With("reason", reason)
}
