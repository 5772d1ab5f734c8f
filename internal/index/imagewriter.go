package index

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// An imageWriter writes the parts of an image, one after the other. What it numbers, it numbers in the
// order in which it meets it; so no order of a map or of pointers gets into an image.
type imageWriter struct {
	x *Index
	b []byte // the piece that is being written

	pieces [][]byte // that are complete
	cut    int      // bytes of the pieces

	files  map[string]int // numbers of files, by path
	flat   flatLister     // of the entries
	texts  map[string]int // numbers of texts: first the names of entries
	others []string       // texts that are no names of entries
	held   heldIDs
	nodes  heldIDs

	times    pool[Times]
	mentions pool[Mention]
	sayings  pool[TraitValue]
}

// pieceSize is about how many bytes a piece has that is written bit by bit.
const pieceSize = 1 << 20

func newImageWriter(x *Index) *imageWriter {
	return &imageWriter{
		x: x, files: make(map[string]int, x.files.Len()),
		times: newPool[Times](), mentions: newPool[Mention](), sayings: newPool[TraitValue](),
	}
}

// cutPiece ends the piece that is being written.
func (w *imageWriter) cutPiece() {
	w.add(w.b)
	w.b = nil
}

// cutLarge ends the piece that is being written if it is large enough, and makes room for the next.
func (w *imageWriter) cutLarge() {
	if len(w.b) >= pieceSize {
		w.cutPiece()
		w.b = make([]byte, 0, pieceSize+pieceSize/4)
	}
}

// add adds a piece as it is. It must not change any more.
func (w *imageWriter) add(piece []byte) {
	if len(piece) > 0 {
		w.pieces = append(w.pieces, piece)
		w.cut += len(piece)
	}
}

// parts are what writes each part.
func (w *imageWriter) parts() [imageParts]func() {
	return [imageParts]func(){
		partState: w.state, partPaths: w.paths, partNames: w.entries, partIDs: w.traitIDs,
		partNotes: w.notes, partCounts: w.counts, partSeeds: w.seeds,
		partEnds:    func() { w.add(w.flat.ends()) },
		partEntries: func() { w.add(w.flat.files) },
		partHolders: func() { w.add(w.held.files) },

		partTimes:    func() { w.add(w.times.records) },
		partMentions: func() { w.add(w.mentions.records) },
		partSayings:  func() { w.add(w.sayings.records) },
		partTexts:    func() { w.b = appendTexts(w.b, w.others) },
		partMemories: func() { w.b = w.x.memories.AppendImage(w.b) },
		partUIDs:     w.uids, partFolders: w.folders,
		partNodes: func() { w.add(w.nodes.files) },
	}
}

func (w *imageWriter) uint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }

// count writes a number that is never negative.
func (w *imageWriter) count(n int) { w.uint(uint64(n)) }

// int writes any number.
func (w *imageWriter) int(n int) { w.b = binary.AppendVarint(w.b, int64(n)) }

// raw writes a text where it stands.
func (w *imageWriter) raw(s string) {
	w.count(len(s))
	w.b = append(w.b, s...)
}

// text writes the number of a text.
func (w *imageWriter) text(s string) { w.count(w.textNumber(s)) }

func (w *imageWriter) textNumber(s string) int {
	n, known := w.texts[s]
	if !known {
		n = len(w.texts)
		w.texts[s] = n
		w.others = append(w.others, s)
	}
	return n
}

func (w *imageWriter) flags(all ...bool) {
	bits := byte(0)
	for i, set := range all {
		if set {
			bits |= 1 << i
		}
	}
	w.b = append(w.b, bits)
}

func (w *imageWriter) time(t time.Time) {
	w.int(int(t.Unix()))
	w.count(t.Nanosecond())
}

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

func (w *imageWriter) paths() {
	paths := w.x.files.Keys()
	for i, path := range paths {
		w.files[path] = i
	}
	w.b = appendTexts(w.b, paths)
}

// entries writes the names of entries; with them it collects which files go by them.
func (w *imageWriter) entries() {
	for e := range w.x.entries.all() {
		w.flat.add(e.name, w.files[e.path])
	}
	w.texts = make(map[string]int, len(w.flat.names))
	for i, name := range w.flat.names {
		w.texts[name] = i
	}
	w.b = appendTexts(w.b, w.flat.names)
}

// traitIDs writes the ids of traits; with them it collects who has them.
func (w *imageWriter) traitIDs() {
	w.x.traitIDs.each(func(id, path string) {
		w.held.ids = append(w.held.ids, id)
		w.held.files = appendNumber(w.held.files, w.files[path])
	})
	w.held.sort(len(w.files))
	w.b = appendTexts(w.b, w.held.ids)
}

// uids writes the keys of the UIDs of nodes; with them it collects who has them.
func (w *imageWriter) uids() {
	w.x.uids.each(func(key, path string) {
		w.nodes.ids = append(w.nodes.ids, key)
		w.nodes.files = appendNumber(w.nodes.files, w.files[path])
	})
	w.b = appendTexts(w.b, w.nodes.ids)
}

// folders writes the folders with their versions.
func (w *imageWriter) folders() {
	w.count(w.x.folderVersions.Len())
	w.x.folderVersions.Scan(func(dir string, version uint64) bool {
		w.raw(dir)
		w.uint(version)
		return true
	})
}

// counts writes what is summed up, by name.
func (w *imageWriter) counts() {
	w.count(w.x.counts.Len())
	w.x.counts.Scan(func(name string, sum int) bool {
		w.text(name)
		w.count(sum)
		return true
	})
}

// seeds writes what an audit log tells.
func (w *imageWriter) seeds() {
	w.count(w.x.seeds.Len())
	w.x.seeds.Scan(func(id string, s importedTimes) bool {
		w.raw(id)
		w.span(s.span)
		w.count(len(s.sections))
		for _, fragment := range slices.Sorted(maps.Keys(s.sections)) {
			w.raw(fragment)
			w.span(s.sections[fragment])
		}
		w.count(len(s.traits))
		for _, t := range s.traits {
			w.told(t)
		}
		return true
	})
}

func (w *imageWriter) span(s span) {
	w.time(s.first)
	w.time(s.last)
}

func (w *imageWriter) told(t told) {
	w.raw(t.id)
	w.text(t.typ)
	w.raw(t.parent)
	w.raw(t.text)
	w.int(t.line)
	w.span(t.span)
}
