package markdown

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/fault"
)

// SetType sets the type of a note, and returns the new note. Nothing else changes. If the note has
// no type, the type becomes its first field. It returns INVALID_VALUE if the frontmatter does not
// parse.
//
// A new type is written first because SetFields would add it at the end. If that is not possible,
// such as in a frontmatter in braces, SetFields is the fallback.
func SetType(text []byte, typ string) ([]byte, error) {
	d := Parse(text)
	if _, says := d.Frontmatter.Get("type"); says || d.Frontmatter == nil || d.Problem != nil {
		return SetFields(text, []Field{{Key: "type", Value: typ}})
	}
	at := d.Frontmatter.Inner.Start
	line := writer{}.key("type") + ": " + typ + lineBreak(text)
	out := splice(text, Span{at, at}, []byte(line))
	after := Parse(out)
	if got, _ := after.Frontmatter.Get("type"); after.Problem == nil && got.Value == typ &&
		len(after.Frontmatter.Entries) == len(d.Frontmatter.Entries)+1 {
		return out, nil
	}
	return SetFields(text, []Field{{Key: "type", Value: typ}})
}

// SetDeclaredType sets the type in the declaration of a section, and returns the new note. It
// returns NOT_FOUND for an unknown slug, INVALID_VALUE for a section without declaration, and
// VALIDATION_FAILED if the slug of the section would change.
func SetDeclaredType(text []byte, slug, typ string) ([]byte, error) {
	at, err := Parse(text).headingOf(slug)
	if err != nil {
		return nil, err
	}
	return SetDeclaredTypeAt(text, at, typ)
}

// SetDeclaredTypeAt is SetDeclaredType for a section that is named as for SetArgumentsAt.
func SetDeclaredTypeAt(text []byte, heading int, typ string) ([]byte, error) {
	d := Parse(text)
	if heading < 0 || heading >= len(d.Headings) {
		return nil, noHeading()
	}
	h := d.Headings[heading]
	slug := h.Slug
	if h.Declaration == nil {
		return nil, fault.New(fault.InvalidValue, "the section %q has no declaration", slug).With("line", h.Line)
	}
	old := []byte("::" + h.Declaration.Type)
	i := bytes.Index(text[h.Declaration.Span.Start:h.Declaration.Span.End], old)
	if i < 0 {
		return nil, fault.New(fault.InvalidValue, "the declaration of %q cannot be changed; edit the text", slug).
			With("line", h.Declaration.Line)
	}
	at := h.Declaration.Span.Start + i + len("::")
	out := splice(text, Span{at, at + len(h.Declaration.Type)}, []byte(typ))
	for _, now := range Parse(out).Headings {
		if now.Own.Start == h.Own.Start && now.Declaration != nil && now.Declaration.Type == typ && now.Slug == h.Slug {
			return out, nil
		}
	}
	return nil, fault.New(fault.ValidationFailed, "the id of the section %q would change, because it is derived "+
		"from its type; give its declaration an id first", slug).With("reason", "slug").With("section", slug)
}
