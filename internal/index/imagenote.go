package index

import (
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// notes writes the files in blocks. The length of each block comes before it, in four bytes.
func (w *imageWriter) notes() {
	for files := range slices.Chunk(w.x.files.Values(), blockFiles) {
		w.b = appendNumber(w.b, 0)
		start := len(w.b)
		for _, f := range files {
			w.file(f)
		}
		// The length was not known before the files were written. It overwrites the zero before
		// them.
		appendNumber(w.b[:start-4], len(w.b)-start)
		w.cutLarge()
	}
}

// file writes a file: its size, digest, place in the log and version, a byte of flags, and then the
// folder and the note in it, if it has one. blockReader.readFile lists the meanings of the flags.
func (w *imageWriter) file(f *File) {
	w.count(f.Size)
	w.b = append(w.b, f.Digest[:]...)
	w.uint(f.Body.Run)
	w.int(f.Body.Part)
	w.uint(f.Version)
	n := f.parsed()
	w.flags(n != nil, n != nil && n.Unindexed > 0, n != nil && n.Excluded, f.Folder != nil, f.Hidden != nil)
	if f.Folder != nil {
		w.folder(f.Folder)
	}
	if n == nil {
		return
	}
	if n.Unindexed > 0 {
		w.count(n.Unindexed)
	}
	w.count(n.Units)
	w.note(n)
}

// note writes a note. The order of the calls is part of the format; see ImageFormat. Values that
// the reader can compute from others are not written: the ID follows from the path, and the marks
// from the types. Values that depend on the schema are written, because the reader does not have
// the texts from which they could be computed.
func (w *imageWriter) note(n *Note) {
	w.node(&n.NodePart)
	w.text(n.DeclaredType)
	w.text(n.Type)
	w.raw(n.Title)
	w.raw(n.TitleSlug)
	w.count(n.LineCount)
	w.count(n.BodyStart)
	w.count(n.BodyLine)
	w.time(n.Created)
	w.time(n.Modified)
	w.problem(n.problem)
	w.flags(n.Quarantine != nil)
	w.fields(n.Fields)
	w.facets(n.facets)
	w.card(n.card)
	w.count(len(n.Sections))
	for i := range n.Sections {
		w.section(&n.Sections[i])
	}
	w.pins(n.pins)
	w.annotations(n)
	w.refs(n.Refs)
	w.links(n.Links)
	w.tags(n.Tags)
	w.blocks(n.Blocks)
	w.textList(n.names)
	w.textList(n.fieldNames)
	w.count(len(n.fieldDays))
	for _, day := range n.fieldDays {
		w.text(string(day))
	}
}

// problem writes a parse error; p may be nil.
func (w *imageWriter) problem(p *markdown.Problem) {
	w.flags(p != nil)
	if p != nil {
		w.int(p.Line)
		w.raw(p.Message)
	}
}

// fields writes a list of fields.
func (w *imageWriter) fields(all []Field) {
	w.count(len(all))
	for _, f := range all {
		w.text(f.Name)
		w.value(f.Value)
		w.int(f.Line)
	}
}

// facets writes four lists; f may be nil.
func (w *imageWriter) facets(f *Facets) {
	w.flags(f != nil)
	if f == nil {
		return
	}
	for _, list := range [][]string{f.Fields, f.Tags, f.Types, f.Statuses} {
		w.textList(list)
	}
}

// section writes a section. The values of a node follow only if the section is one.
func (w *imageWriter) section(s *Section) {
	w.raw(s.Slug)
	w.raw(s.Title)
	w.int(s.Level)
	w.text(s.DeclaredType)
	w.text(s.Type)
	w.fields(s.Fields)
	for _, n := range []int{s.Parent, s.Line, s.LineEnd, s.SubtreeEnd, s.declarationLines[0], s.declarationLines[1]} {
		w.int(n)
	}
	w.timesOf(s.Times)
	w.b = append(w.b, s.ownDigest[:]...)
	if w.flags(s.Top, s.pinned); !s.Top {
		return
	}
	w.node(&s.NodePart)
	w.int(int(s.TopParent))
	w.uint(s.body)
}

// node writes the parts of a note, a section or a folder that belong to its node.
func (w *imageWriter) node(p *NodePart) {
	w.b = append(w.b, p.UID[:]...)
	w.count(int(p.BodyBytes))
	w.flags(p.Embeds)
}

// folder writes the description of a folder.
func (w *imageWriter) folder(f *Folder) {
	w.node(&f.NodePart)
	w.text(f.DeclaredType)
	w.raw(f.Title)
	w.fields(f.Fields)
	w.tags(f.Tags)
	w.time(f.Created)
	w.time(f.Modified)
	w.problem(f.Problem)
}

// pins writes pins, sorted by line so that equal notes have equal images.
func (w *imageWriter) pins(pins map[int]string) {
	w.count(len(pins))
	for _, line := range slices.Sorted(maps.Keys(pins)) {
		w.int(line)
		w.raw(pins[line])
	}
}

// refs writes references, with each line as the difference to the previous one, which is a small
// number and takes one byte.
func (w *imageWriter) refs(all []Ref) {
	w.count(len(all))
	line := 0
	for _, r := range all {
		w.flags(r.InField, r.Bare, r.Form == markdown.Embed, r.Form == markdown.MarkdownLink)
		w.mention(r.Mention)
		w.text(r.Field)
		w.int(r.Line - line)
		w.int(r.Position)
		w.int(r.Scope)
		line = r.Line
	}
}

// tags writes a list of tags.
func (w *imageWriter) tags(all []Tag) {
	w.count(len(all))
	for _, t := range all {
		w.text(t.Name)
		w.int(t.Line)
		w.int(t.Scope)
	}
}

// blocks writes the ids of blocks with their lines, sorted by id.
func (w *imageWriter) blocks(all map[string]int) {
	w.count(len(all))
	for _, id := range slices.Sorted(maps.Keys(all)) {
		w.raw(id)
		w.int(all[id])
	}
}
