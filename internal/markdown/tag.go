package markdown

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// A Tag is a tag of a note: `#name` in its text, including headings, or an item of the field `tags`
// of its frontmatter (reference/raven.md §1.8).
type Tag struct {
	Name  string // as it is written, without the #
	Place Place
	Scope int // the index of the heading of its section, -1 for the note itself
	Line  int // of the file
}

// tags adds the tags of a line of the block: # at the start of the line or after a blank or an
// opening bracket, and a name. A # in code, an address or a wikilink is text.
func (b *bodyReader) tags(r *rendered, l blockLine) {
	for i := 0; i < len(r.text); i++ {
		next := bytes.IndexByte(r.text[i:], '#')
		if next < 0 || b.full() {
			return
		}
		i += next
		name := tagName(r.text[i+1:])
		if name == "" || !b.prose.begins(r, i, " \t\r\n\v\f([") {
			continue
		}
		b.doc.Tags = append(b.doc.Tags, Tag{name, InBody, b.scope(), l.number})
		i += len(name)
	}
}

// tagName returns the tag name at the beginning of a text, or "". A name consists of letters, marks
// and digits of any script, _, - and /. It contains a character that is not a digit, and one that
// is not - or /.
func tagName(text []byte) string {
	name := text
	if end := bytes.IndexFunc(text, func(r rune) bool { return !isTagRune(r) }); end >= 0 {
		name = text[:end]
	}
	name = bytes.TrimRight(name, "/")
	word := func(r rune) bool { return r != '-' && r != '/' }
	if bytes.IndexFunc(name, word) < 0 || bytes.IndexFunc(name, notDigit) < 0 {
		return ""
	}
	return string(name)
}

// isTagRune reports whether the name of a tag can contain the character. Invalid UTF-8 ends a name.
func isTagRune(r rune) bool {
	return r == '_' || r == '-' || r == '/' || r != utf8.RuneError &&
		(unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func notDigit(r rune) bool { return !unicode.IsDigit(r) }

// frontmatterTags adds the tags of the frontmatter: a list, or a text with blanks or commas between
// tags.
func (d *Doc) frontmatterTags() {
	e, ok := d.Frontmatter.Get("tags")
	if !ok {
		return
	}
	// The text of the node is used and not its value, because YAML parses a tag such as 2024 as a
	// number.
	if e.node.Kind == yaml.ScalarNode && e.Value != nil {
		for _, name := range strings.FieldsFunc(e.node.Value, isTagSeparator) {
			d.tag(name, e.Line)
		}
		return
	}
	for _, n := range e.node.Content {
		if n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
			d.tag(n.Value, e.Line+n.Line-e.keyLine)
		}
	}
}

func isTagSeparator(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }

// tag adds a tag of the frontmatter, without # and blanks around it.
func (d *Doc) tag(name string, line int) {
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "#"))
	if name != "" {
		d.Tags = append(d.Tags, Tag{name, InFrontmatter, -1, line})
	}
}
