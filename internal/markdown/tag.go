package markdown

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Tag is a tag of a note: `#name` in its text, headings too, or an item of the field `tags` of its
// frontmatter. Both are one set (reference/raven.md §1.8).
type Tag struct {
	Name  string // as it is written, without the #
	Place Place
	Scope int // the index of the heading that it stands under, -1 for the note itself
	Line  int // of the file
}

// tags are the tags of a line of the block: # behind a blank or an opening bracket, and a name that
// begins with a letter or _.
func (b *bodyReader) tags(r *rendered, l blockLine) {
	for i := 0; i < len(r.text); i++ {
		next := bytes.IndexByte(r.text[i:], '#')
		if next < 0 {
			return
		}
		i += next
		end := i + 1
		for end < len(r.text) && isWord(r.text[end]) {
			end++
		}
		name := r.text[i+1 : end]
		if len(name) == 0 || isDigit(name[0]) || name[0] == '-' ||
			!b.prose.begins(r, i, " \t\r\n\v\f([") {
			continue
		}
		b.doc.Tags = append(b.doc.Tags, Tag{string(name), InBody, b.scope(), l.number})
		i = end - 1
	}
}

// frontmatterTags takes the tags of the frontmatter: a list, or a text with blanks or commas between
// them.
func (d *Doc) frontmatterTags() {
	e, ok := d.Frontmatter.Get("tags")
	if !ok {
		return
	}
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

// tag takes a tag of the frontmatter.
func (d *Doc) tag(name string, line int) {
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "#"))
	if name != "" {
		d.Tags = append(d.Tags, Tag{name, InFrontmatter, -1, line})
	}
}
