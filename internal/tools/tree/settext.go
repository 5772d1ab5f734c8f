package tree

import (
	"bytes"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tree"
)

// setBody is the text of a note with another body of a node. A body with a heading would be no body any more.
func setBody(text []byte, section int, body string) ([]byte, error) {
	if hasHeading(body, 0) {
		return nil, wrong("body_escapes_section", "a body must not have headings: they would be nodes").
			Fix("set the property content, whose headings become children")
	}
	d := markdown.Parse(text)
	out := replace(text, tree.Extents(text, d)[section].Own, body)
	return out, sameAround(text, out, d, len(d.Headings), len(d.Headings))
}

// setContent is the text of a note with another content of a node: its body and all nodes below. Its headings are
// deeper than that of the node.
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
		return nil, wrong("body_escapes_section", "the headings of the content are deeper than level %d", level)
	}
	out := replace(text, e.Content, content)
	return out, sameAround(text, out, d, before, after)
}

// hasHeading reports whether a text has a heading of a level at most; 0: of any.
func hasHeading(text string, level int) bool {
	return slices.ContainsFunc(markdown.Parse([]byte("\n"+text)).Headings, func(h markdown.Heading) bool {
		return tree.IsTop(h) && (level == 0 || h.Level <= level)
	})
}

// replace is a text with another one in place of a part of it: the blank lines around the part stay.
func replace(text []byte, at markdown.Span, with string) []byte {
	eol := lineBreak(text)
	with = string(bytes.TrimRight([]byte(normal(with, eol)), " \t\r\n"))
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
	case len(core) > 0 && with != "":
		b.WriteString(with)
		b.Write(text[to:])
		if at.End == len(text) && !bytes.HasSuffix(part, []byte("\n")) {
			b.WriteString(eol)
		}
		return b.Bytes()
	case len(core) > 0:
		b.Truncate(at.Start)
	}
	b.Write(around(text, at, with, eol))
	b.Write(text[at.End:])
	return b.Bytes()
}

// around is a text as it is written where there was none: with blank lines between it and what is around it.
func around(text []byte, at markdown.Span, with, eol string) []byte {
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

// lineBreak is the line break of a text: that of its first line.
func lineBreak(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// normal is a text with one kind of line break.
func normal(s, eol string) string {
	s = string(bytes.ReplaceAll([]byte(s), []byte("\r\n"), []byte("\n")))
	if eol == "\n" {
		return s
	}
	return string(bytes.ReplaceAll([]byte(s), []byte("\n"), []byte(eol)))
}

// sameAround is a fault if an edit changed more than it should: the headings before one position and from another
// one on stay, with their declarations, and so does the frontmatter.
func sameAround(text, out []byte, was *markdown.Doc, before, after int) error {
	now := markdown.Parse(out)
	broken := wrong("malformed_markdown", "the text would change the structure around it; close its fences, and begin it with text")
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
		if h.Level != o.Level || h.Text != o.Text || h.Title != o.Title || (h.Embedded == nil) != (o.Embedded == nil) {
			return broken
		}
	}
	return nil
}

// unwritable is the fault of an edit that cannot be made, with the family's code and a reason.
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
