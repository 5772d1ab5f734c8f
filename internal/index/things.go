package index

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// MaxThings is how many indexed things one note has at most: headings, traits, references, links and tags. Of a
// note with more, and of one that has more in it than is read (markdown.Doc.Crowded), none is indexed; see
// Note.Unindexed. The values of its fields have a bound of their own, of the same number.
const MaxThings = 20_000

// Things returns how many headings, traits, references and tags of a text are indexed. A tag counts once,
// however often it is in the text. It reads the whole text.
func Things(text []byte) int {
	if n := thingsOf(markdown.Parse(text)); n <= MaxThings {
		return n
	}
	return 0
}

// ThingsAtMost returns a number that Things does not exceed, without reading the syntax of the text.
func ThingsAtMost(text []byte) int {
	most := 1
	for _, mark := range []byte("#@[\n,") { // a line break: an underlined heading, or a field
		most += bytes.Count(text, []byte{mark})
	}
	return min(most, MaxThings)
}

// thingsOf counts the things in a text that can be indexed.
func thingsOf(doc *markdown.Doc) int {
	tags := map[string]bool{}
	for _, t := range doc.Tags {
		tags[clean(t.Name)] = true
	}
	n := len(doc.Headings) + len(doc.Traits) + len(doc.Tasks) + len(doc.References) + len(tags)
	for _, l := range doc.Links {
		if isThing(l) {
			n++
		}
	}
	if doc.Crowded {
		n += markdown.MaxOpen // what was not read is not known
	}
	return n
}

// Things counts what the note has in the index: sections, traits, references and tags, also those that
// only the schema makes of its fields.
func (n *Note) Things() int {
	things := len(n.Sections) + len(n.Annotations) + len(n.Refs) + len(n.Tags)
	for i := range n.Links {
		if isThing(n.Links[i].Link) {
			things++
		}
	}
	return things
}

// leaveOut makes a note one of which nothing but the title and the fields is indexed, if there is too
// much in it, and reports whether it did. Fields with too many values are left out too.
func (n *Note) leaveOut(doc *markdown.Doc) bool {
	things, values := thingsOf(doc), valuesOf(n.Fields)
	for _, h := range doc.Headings {
		if h.Embedded != nil {
			for _, a := range h.Embedded.Fields {
				values += valuesIn(a.Value)
			}
		}
	}
	if things <= MaxThings && values <= MaxThings {
		return false
	}
	n.Unindexed = max(things, values)
	if valuesOf(n.Fields) > MaxThings {
		n.Fields = nil
	}
	if len(doc.Headings) > 0 && doc.Headings[0].Title {
		n.Title, n.TitleSlug = doc.Headings[0].Text, doc.Headings[0].Slug
	}
	return true
}

// valuesOf counts the values of fields, each of a list by itself.
func valuesOf(fields []Field) int {
	count := 0
	for _, f := range fields {
		count += valuesIn(f.Value)
	}
	return count
}

// valuesIn counts the values in the value of a field.
func valuesIn(v any) int {
	list, ok := v.([]any)
	if !ok {
		return 1
	}
	count := 1
	for _, each := range list {
		count += valuesIn(each)
	}
	return count
}
