package index

import (
	"bytes"
	"unsafe"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// Size returns about how many bytes of memory the index takes, as if it shared nothing with other
// indexes. It is meant for limits of caches. The sum of the files is maintained by each commit, so
// a call takes constant time. Two states that share most of their notes are counted twice, so the
// sum over several states is an upper bound.
func (x *Index) Size() int64 {
	said := int(unsafe.Sizeof(TraitValue{})) + treeItem + 2*shortText // equal TraitValues are stored once
	t := x.texts
	row := (int(unsafe.Sizeof(Row{})) + int(unsafe.Sizeof(""))) * 4 / 3 // in a node of a tree, which is not full
	return x.fileBytes + x.memories.Size() + x.entries.size() + x.traitIDs.size() + x.uids.size() +
		int64(x.counts.Len()*said+x.rows.Len()*row+max(0, x.folderVersions.Len()-1)*treeItem) +
		int64(x.importedTimes.Len()*importedTimesSize+len(t.schema)+len(t.raven)+len(t.rookery)+len(t.obsidianDaily)+
			len(t.obsidianTemplates))
}

// Estimated average sizes, in bytes, of things that are not measured one by one.
const (
	treeItem          = 48 // in a node of a tree, which is not full: a text, and a pointer or another text
	shortText         = 24 // a name or an id
	mapItem           = 64
	importedTimesSize = 512
)

// size returns about how many bytes the entries take.
func (s *entries) size() int64 {
	l := s.list
	list := len(l.names.ends) + len(l.names.bytes) + len(l.ends) + len(l.files) + len(l.paths.bytes)
	return int64(list + (s.added.Len()+s.removed.Len())*(treeItem+shortText))
}

// size returns about how many bytes the ids take.
func (h *traitOwners) size() int64 {
	list := len(h.list.ids.ends) + len(h.list.ids.bytes) + len(h.list.files)
	return int64(list + h.changes.Len()*treeItem) // the text of the id is counted with the note
}

// size returns about how many bytes a file takes that other files of the vault do not share; 0 for
// nil.
func (f *File) size() int64 {
	if f == nil {
		return 0
	}
	size := int(unsafe.Sizeof(File{})) + len(f.Path) + treeItem/2
	if n := f.parsed(); n != nil {
		size += n.size()
	}
	if d := f.Folder; d != nil {
		size += int(unsafe.Sizeof(*d)) + len(d.Title) + sizeOf(d.Fields) + len(d.Tags)*int(unsafe.Sizeof(Tag{}))
	}
	return int64(size)
}

// size returns about how many bytes a note takes, without its texts that are shared. It is called
// for each changed note before and after a commit, so it adds up lengths and does not follow shared
// pointers.
func (n *Note) size() int {
	size := int(unsafe.Sizeof(Note{})) + len(n.Title) + len(n.TitleSlug) + n.rare.size() +
		len(n.Tags)*int(unsafe.Sizeof(Tag{})) + len(n.Refs)*int(unsafe.Sizeof(Ref{})) +
		len(n.fieldDays.all())*shortText + sizeOf(n.Fields) + int(unsafe.Sizeof(Times{}))
	size += n.card.size()
	if f := n.facets; f != nil {
		size += int(unsafe.Sizeof(*f))
		for _, list := range [][]string{f.Fields, f.Tags, f.Types, f.Statuses} {
			size += len(list) * int(unsafe.Sizeof("")+shortText)
		}
	}
	for i := range n.Links {
		l := &n.Links[i]
		size += int(unsafe.Sizeof(*l)) + len(l.Target) + len(l.Display) + len(l.Ext)
	}
	for i := range n.Sections {
		s := &n.Sections[i]
		size += int(unsafe.Sizeof(*s)) + len(s.Slug) + len(s.Title) + sizeOf(s.Fields())
		if s.declaration != nil {
			size += int(unsafe.Sizeof(*s.declaration))
		}
	}
	size += len(n.typeMarks)
	size += (len(n.names)+len(n.fieldNames))*int(unsafe.Sizeof("")) + len(n.Blocks)*mapItem
	for i, t := range n.EachAnnotation {
		size += int(unsafe.Sizeof(*t)) + len(t.ID)
		if i == 0 || t.Place != n.Annotations[i-1].Place {
			size += int(unsafe.Sizeof(*t.Place)) + len(t.Content)
		}
	}
	return size
}

// size returns about how many bytes the texts take; 0 for nil.
func (r *rareTexts) size() int {
	if r == nil {
		return 0
	}
	size := int(unsafe.Sizeof(*r)) + len(r.pins)*mapItem
	for _, t := range r.places {
		size += int(unsafe.Sizeof(t)) + len(t.text) + len(t.checkbox)
	}
	return size
}

// sizeOf returns about how many bytes fields take.
func sizeOf(fields []Field) int {
	size := len(fields) * int(unsafe.Sizeof(Field{}))
	for _, f := range fields {
		size += valueSize(f.Value)
	}
	return size
}

// valueSize returns about how many bytes a value of a field takes, besides the interface itself.
func valueSize(v any) int {
	switch v := v.(type) {
	case string:
		return int(unsafe.Sizeof(v)) + len(v)
	case markdown.Ref:
		return int(unsafe.Sizeof(v)) + len(v)
	case markdown.Nested:
		return int(unsafe.Sizeof(v)) + len(v)
	case []any:
		size := int(unsafe.Sizeof(v)) + len(v)*int(unsafe.Sizeof(v[0]))
		for _, each := range v {
			size += valueSize(each)
		}
		return size
	}
	return 0
}

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
	n.unindexed = small[int32](max(things, values))
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
