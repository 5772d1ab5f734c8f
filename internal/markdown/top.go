package markdown

import "bytes"

// A Body is the own text of a part of a note: after the heading and the declaration of the part, up
// to the next heading at the top. It does not include the blank lines around it and the line break
// at its end.
type Body struct {
	Span
	Embeds bool // the text is exactly one `![[target]]`
}

// Bodies returns the own text of the note, and then that of each heading in the order of
// d.Headings. It is the zero Body for the title and for a heading that is not at the top, which is
// in the text of another part. text must be the text that d was parsed from.
//
// The parts do not overlap, and together they contain all of the body except headings at the top,
// declarations and blank lines. Embeds lets a caller show the embedded part in place of the body.
func (d *Doc) Bodies(text []byte) []Body {
	all := make([]Body, 1+len(d.Headings))
	at, from := 0, d.Body
	for i, h := range d.Headings {
		if h.Title {
			from = h.Content
			continue
		}
		if !h.Top {
			continue
		}
		all[at] = d.body(text, Span{from, h.Own.Start})
		at, from = 1+i, h.Content
		if h.Declaration != nil {
			from = h.Declaration.Span.End
		}
	}
	all[at] = d.body(text, Span{from, len(text)})
	return all
}

// body returns the Body in a span of a note.
func (d *Doc) body(text []byte, s Span) Body {
	part := bytes.TrimRight(text[s.Start:max(s.Start, s.End)], " \t\r\n")
	b := Body{Span: Span{s.Start, s.Start + len(part)}}
	for {
		line, rest, found := bytes.Cut(part, []byte("\n"))
		if !found || len(bytes.TrimSpace(line)) > 0 {
			break
		}
		part = rest
	}
	b.Start = b.End - len(part)
	b.Embeds = d.embeds(part, b.Span)
	return b
}

// embeds reports whether a text is exactly one embed.
func (d *Doc) embeds(part []byte, s Span) bool {
	if !bytes.HasPrefix(part, []byte("![[")) {
		return false
	}
	for _, r := range d.References {
		if r.Form == Embed && r.Span.Start == s.Start+1 && r.Span.End == s.End {
			return true
		}
	}
	return false
}
