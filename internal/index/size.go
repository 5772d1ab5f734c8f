package index

import (
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
	size := int(unsafe.Sizeof(Note{})) + len(n.Title) + len(n.TitleSlug) + len(n.pins)*mapItem +
		len(n.Tags)*int(unsafe.Sizeof(Tag{})) + len(n.Refs)*int(unsafe.Sizeof(Ref{})) +
		len(n.fieldDays)*shortText + sizeOf(n.Fields) + int(unsafe.Sizeof(Times{}))
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
		size += int(unsafe.Sizeof(*s)) + len(s.Slug) + len(s.Title) + sizeOf(s.Fields)
	}
	size += len(n.typeMarks)
	size += (len(n.names)+len(n.fieldNames))*int(unsafe.Sizeof("")) + len(n.Blocks)*mapItem
	for i, t := range n.Annotations {
		size += int(unsafe.Sizeof(*t)) + 2*int(unsafe.Sizeof(t)) + len(t.ID)
		if i == 0 || t.Place != n.Annotations[i-1].Place {
			size += int(unsafe.Sizeof(*t.Place)) + len(t.Content)
		}
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
