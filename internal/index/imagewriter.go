package index

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// An imageWriter writes the parts of an image, in order. It numbers shared values in the order in
// which it meets them, so no order of a map or of pointers gets into an image. It writes into
// pieces of about pieceSize and not into one slice, which would be copied each time that it grows.
type imageWriter struct {
	x *Index
	b []byte // the current piece

	pieces [][]byte // complete
	cut    int      // total length of pieces

	files       map[string]int  // position of a file, by path
	entryList   baseListBuilder // of the entries
	texts       map[string]int  // numbers of texts; the names of entries come first
	otherTexts  []string        // texts that are not names of entries, by number
	traitOwners ownedIDs        // ids of traits
	uidOwners   ownedIDs        // keys of UIDs

	times       pool[Times]
	mentions    pool[Mention]
	traitValues pool[TraitValue]
}

// pieceSize is the approximate size in bytes of a piece that is written incrementally.
const pieceSize = 1 << 20

// newImageWriter returns a writer of the image of x.
func newImageWriter(x *Index) *imageWriter {
	return &imageWriter{
		x: x, files: make(map[string]int, x.files.Len()),
		times: newPool[Times](), mentions: newPool[Mention](), traitValues: newPool[TraitValue](),
	}
}

// cutPiece ends the current piece.
func (w *imageWriter) cutPiece() {
	w.add(w.b)
	w.b = nil
}

// cutLarge ends the current piece if it is large enough, and allocates the next one.
func (w *imageWriter) cutLarge() {
	if len(w.b) >= pieceSize {
		w.cutPiece()
		w.b = make([]byte, 0, pieceSize+pieceSize/4)
	}
}

// add appends a piece without a copy. The caller must not change it afterwards.
func (w *imageWriter) add(piece []byte) {
	if len(piece) > 0 {
		w.pieces = append(w.pieces, piece)
		w.cut += len(piece)
	}
}

// parts returns the function that writes each part, by the number of the part. They must be called
// in that order: parts with numbers of shared values come before the parts with the values, which
// are collected meanwhile.
func (w *imageWriter) parts() [imageParts]func() {
	return [imageParts]func(){
		partState: w.state, partPaths: w.paths, partNames: w.entries, partIDs: w.traitIDs,
		partNotes: w.notes, partCounts: w.counts, partImportedTimes: w.importedTimes,
		partEnds:    func() { w.add(w.entryList.ends()) },
		partEntries: func() { w.add(w.entryList.files) },
		partOwners:  func() { w.add(w.traitOwners.files) },

		partTimes:       func() { w.add(w.times.records) },
		partMentions:    func() { w.add(w.mentions.records) },
		partTraitValues: func() { w.add(w.traitValues.records) },
		partTexts:       func() { w.b = appendTexts(w.b, w.otherTexts) },
		partMemories:    func() { w.b = w.x.memories.AppendImage(w.b) },
		partUIDs:        w.uids, partFolders: w.folders,
		partNodes: func() { w.add(w.uidOwners.files) },
	}
}

// uint writes an unsigned number as a varint.
func (w *imageWriter) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

// count writes a number that must not be negative.
func (w *imageWriter) count(n int) { w.uint(uint64(n)) }

// int writes a number that can be negative.
func (w *imageWriter) int(n int) { w.b = binary.AppendVarint(w.b, int64(n)) }

// raw writes a text as its length and its bytes.
func (w *imageWriter) raw(s string) {
	w.count(len(s))
	w.b = append(w.b, s...)
}

// text writes a text as its number, for texts that occur often: types, tags, names of fields and
// names of entries. A text that rarely occurs twice is written by raw.
func (w *imageWriter) text(s string) { w.count(w.textNumber(s)) }

// textNumber returns the number of a text, and assigns the next one to a new text.
func (w *imageWriter) textNumber(s string) int {
	n, known := w.texts[s]
	if !known {
		n = len(w.texts)
		w.texts[s] = n
		w.otherTexts = append(w.otherTexts, s)
	}
	return n
}

// flags writes up to eight booleans as one byte; the first is the lowest bit.
func (w *imageWriter) flags(all ...bool) {
	bits := byte(0)
	for i, set := range all {
		if set {
			bits |= 1 << i
		}
	}
	w.b = append(w.b, bits)
}

// time writes a time as seconds and nanoseconds. The reader returns it in UTC.
func (w *imageWriter) time(t time.Time) {
	w.int(int(t.Unix()))
	w.count(t.Nanosecond())
}

// state writes the version, the totals and the settings.
func (w *imageWriter) state() {
	x := w.x
	w.uint(x.version)
	w.time(x.time)
	t := x.totals
	for _, n := range []int{t.Notes, t.Sections, t.Traits, t.Refs, int(t.Bytes), t.Quarantined} {
		w.count(n)
	}
	w.uint(x.notesVersion)
	w.raw(x.texts.schema)
	w.raw(x.texts.raven)
	w.raw(x.texts.rookery)
	w.raw(x.texts.obsidianDaily)
	w.raw(x.texts.obsidianTemplates)
}

// paths writes the paths of all files and numbers the files.
func (w *imageWriter) paths() {
	paths := w.x.files.Keys()
	for i, path := range paths {
		w.files[path] = i
	}
	w.b = appendTexts(w.b, paths)
}

// entries writes the names of entries. It also collects the files of each name, for later parts.
func (w *imageWriter) entries() {
	for e := range w.x.entries.all() {
		w.entryList.add(e.name, w.files[e.path])
	}
	w.texts = make(map[string]int, len(w.entryList.names))
	for i, name := range w.entryList.names {
		w.texts[name] = i
	}
	w.b = appendTexts(w.b, w.entryList.names)
}

// traitIDs writes the ids of traits. It also collects the file of each, for a later part.
func (w *imageWriter) traitIDs() {
	w.x.traitIDs.each(func(id, path string) {
		w.traitOwners.ids = append(w.traitOwners.ids, id)
		w.traitOwners.files = appendNumber(w.traitOwners.files, w.files[path])
	})
	w.traitOwners.sort(len(w.files))
	w.b = appendTexts(w.b, w.traitOwners.ids)
}

// uids writes the keys of the UIDs of nodes. It also collects the file of each, for a later part.
func (w *imageWriter) uids() {
	w.x.uids.each(func(key, path string) {
		w.uidOwners.ids = append(w.uidOwners.ids, key)
		w.uidOwners.files = appendNumber(w.uidOwners.files, w.files[path])
	})
	w.b = appendTexts(w.b, w.uidOwners.ids)
}

// folders writes the paths of folders with their versions.
func (w *imageWriter) folders() {
	w.count(w.x.folderVersions.Len())
	w.x.folderVersions.Scan(func(dir string, version uint64) bool {
		w.raw(dir)
		w.uint(version)
		return true
	})
}

// counts writes the counts, by name.
func (w *imageWriter) counts() {
	w.count(w.x.counts.Len())
	w.x.counts.Scan(func(name string, sum int) bool {
		w.text(name)
		w.count(sum)
		return true
	})
}

// importedTimes writes the times from audit logs, by the id of the note.
func (w *imageWriter) importedTimes() {
	w.count(w.x.importedTimes.Len())
	w.x.importedTimes.Scan(func(id string, s importedTimes) bool {
		w.raw(id)
		w.span(s.span)
		w.count(len(s.sections))
		for _, fragment := range slices.Sorted(maps.Keys(s.sections)) {
			w.raw(fragment)
			w.span(s.sections[fragment])
		}
		w.count(len(s.traits))
		for _, t := range s.traits {
			w.loggedTrait(t)
		}
		return true
	})
}

// span writes the first and the last time of a span.
func (w *imageWriter) span(s span) {
	w.time(s.first)
	w.time(s.last)
}

// loggedTrait writes one trait from an audit log.
func (w *imageWriter) loggedTrait(t loggedTrait) {
	w.raw(t.id)
	w.text(t.typ)
	w.raw(t.parent)
	w.raw(t.text)
	w.int(t.line)
	w.span(t.span)
}
