package index

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// MaxThings is the largest number of indexed things in one note: headings, traits, references,
// links and tags. If a note has more, or more than the parser reads (markdown.Doc.Crowded), none of
// them is indexed; see Note.Unindexed. The number of values of its fields has a separate limit of
// the same size.
const MaxThings = 20_000

// Things returns the number of indexed headings, traits, references, links and tags of a text; 0 if
// there are more than MaxThings. Each distinct tag counts once. It parses the whole text.
func Things(text []byte) int {
	if n := thingsOf(markdown.Parse(text)); n <= MaxThings {
		return n
	}
	return 0
}

// ThingsAtMost returns an upper bound of Things, without parsing the text.
func ThingsAtMost(text []byte) int {
	most := 1
	for _, mark := range []byte("#@[\n,") { // a line break can be an underlined heading or a field
		most += bytes.Count(text, []byte{mark})
	}
	return min(most, MaxThings)
}

// thingsOf counts the things in a text that can be indexed. If the parser did not read all of it,
// the result is more than MaxThings.
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
		n += markdown.MaxOpen // the number of things that were not read is unknown
	}
	return n
}

// Things returns the number of indexed things of the note: sections, traits, references, links and
// tags, including those that the schema defines in its fields.
func (n *Note) Things() int {
	things := len(n.Sections) + len(n.Annotations) + len(n.Refs) + len(n.Tags)
	for i := range n.Links {
		if isThing(n.Links[i].Link) {
			things++
		}
	}
	return things
}

// leaveOut reduces a note that contains too much to its title and its fields, and reports whether
// it did. It also removes the fields if they have too many values. It is called before anything
// else of the body is read, so that a commit of such a note costs little more than parsing it.
func (n *Note) leaveOut(doc *markdown.Doc) bool {
	things, values := thingsOf(doc), valuesOf(n.Fields)
	for _, h := range doc.Headings {
		if h.Declaration != nil {
			for _, a := range h.Declaration.Fields {
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

// valuesOf counts the values of fields, including the elements of lists.
func valuesOf(fields []Field) int {
	count := 0
	for _, f := range fields {
		count += valuesIn(f.Value)
	}
	return count
}

// valuesIn counts a value and, for a list, its elements at all depths.
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
