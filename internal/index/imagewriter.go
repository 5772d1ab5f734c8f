package index

import (
	"slices"

	"github.com/rookeryhq/rookery/internal/imagecode"
)

// An imageWriter writes the parts of an image, in order. It numbers shared values in the order in
// which it meets them, so no order of a map or of pointers gets into an image. It writes into
// pieces of about pieceSize and not into one slice, which would be copied each time that it grows.
type imageWriter struct {
	coder // Out is the current piece
	x     *Index

	pieces [][]byte // complete
	cut    int      // total length of pieces

	files       map[string]int  // position of a file, by path
	entryList   baseListBuilder // of the entries
	numbers     map[string]int  // numbers of texts; the names of entries come first
	otherTexts  []string        // texts that are not names of entries, by number
	traitOwners ownedIDs        // ids of traits
	uidOwners   ownedIDs        // keys of UIDs
	shared      pools
}

// pieceSize is the approximate size in bytes of a piece that is written incrementally.
const pieceSize = 1 << 20

// newImageWriter returns a writer of the image of x.
func newImageWriter(x *Index) *imageWriter {
	w := &imageWriter{x: x, files: make(map[string]int, x.files.Len()), shared: newPools()}
	w.coder = coder{w: w, pools: &w.shared}
	return w
}

// cutPiece ends the current piece.
func (w *imageWriter) cutPiece() {
	w.add(w.Out)
	w.Out = nil
}

// cutLarge ends the current piece if it is large enough, and allocates the next one.
func (w *imageWriter) cutLarge() {
	if len(w.Out) >= pieceSize {
		w.cutPiece()
		w.newPiece()
	}
}

// newPiece allocates the current piece. Most are cut when little more than pieceSize is in them.
func (w *imageWriter) newPiece() { w.Out = make([]byte, 0, pieceSize+pieceSize/4) }

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
	x, c := w.x, &w.coder
	return [imageParts]func(){
		partState: func() { c.state(x, &x.texts) }, partPaths: w.paths, partNames: w.entries,
		partIDs:   w.traitIDs,
		partNotes: w.notes, partCounts: func() { c.counts(x) },
		partImportedTimes: func() { c.importedTimes(x) },
		partEnds:          func() { w.add(w.entryList.ends()) },
		partEntries:       func() { w.add(w.entryList.files) },
		partOwners:        func() { w.add(w.traitOwners.files) },

		partTimes:       func() { w.add(w.shared.times.records) },
		partMentions:    func() { w.add(w.shared.mentions.records) },
		partTraitValues: func() { w.add(w.shared.traitValues.records) },
		partTexts:       func() { w.Out = appendTexts(w.Out, w.otherTexts) },
		partMemories:    func() { w.Out = x.memories.AppendImage(w.Out) },
		partUIDs:        func() { w.ids(&w.uidOwners, &x.uids) },
		partFolders:     func() { c.folders(x) },
		partNodes:       func() { w.add(w.uidOwners.files) },
	}
}

// textNumber returns the number of a text, and assigns the next one to a new text.
func (w *imageWriter) textNumber(s string) int {
	n, known := w.numbers[s]
	if !known {
		n = len(w.numbers)
		w.numbers[s] = n
		w.otherTexts = append(w.otherTexts, s)
	}
	return n
}

// paths writes the paths of all files and numbers the files.
func (w *imageWriter) paths() {
	paths := w.x.files.Keys()
	for i, path := range paths {
		w.files[path] = i
	}
	w.Out = appendTexts(w.Out, paths)
}

// entries writes the names of entries. It also collects the files of each name, for later parts.
func (w *imageWriter) entries() {
	all := &w.x.entries
	w.entryList = newBaseListBuilder(all.list.names.len()*9/8, all.len())
	for e := range all.all() {
		w.entryList.add(e.name, w.files[e.path])
	}
	w.numbers = make(map[string]int, len(w.entryList.names))
	for i, name := range w.entryList.names {
		w.numbers[name] = i
	}
	w.Out = appendTexts(w.Out, w.entryList.names)
}

// traitIDs writes the ids of traits, and sorts them by file for ownedIDs.find.
func (w *imageWriter) traitIDs() {
	w.ids(&w.traitOwners, &w.x.traitIDs)
	w.traitOwners.sort(len(w.files))
}

// ids writes the ids of traits, or the keys of the UIDs of nodes. It also collects the file of
// each, for a later part.
func (w *imageWriter) ids(to *ownedIDs, from *traitOwners) {
	to.ids, to.files = make([]string, 0, from.most()), make([]byte, 0, 4*from.most())
	from.each(func(id, path string) {
		to.ids = append(to.ids, id)
		to.files = appendNumber(to.files, w.files[path])
	})
	w.Out = appendTexts(w.Out, to.ids)
}

// notes writes the files in blocks. The length of each block comes before it, in four bytes.
func (w *imageWriter) notes() {
	if w.x.files.Len() > blockFiles {
		w.newPiece()
	}
	for files := range slices.Chunk(w.x.files.Values(), blockFiles) {
		w.Out = appendNumber(w.Out, 0)
		start := len(w.Out)
		for _, f := range files {
			w.file(f)
		}
		// The length was not known before the files were written. It overwrites the zero before
		// them.
		appendNumber(w.Out[:start-4], len(w.Out)-start)
		w.cutLarge()
	}
}

// state codes the version, the totals and the texts of the settings. Things, Unindexed and Counted
// of the totals are not in the image; see fileSums.
func (c *coder) state(x *Index, texts *settingTexts) {
	c.Uint(&x.version)
	c.Time(&x.time)
	t := &x.totals
	c.Natural(&t.Notes, &t.Sections, &t.Traits, &t.Refs)
	bytes := int(t.Bytes)
	if c.Natural(&bytes); c.Decodes() {
		t.Bytes = int64(bytes)
	}
	c.Natural(&t.Quarantined)
	c.Uint(&x.notesVersion)
	c.Text(&texts.schema, &texts.raven, &texts.rookery, &texts.obsidianDaily, &texts.obsidianTemplates)
}

// folders codes the paths of folders with their versions.
func (c *coder) folders(x *Index) {
	imagecode.Tree(&c.Coder, &x.folderVersions, 2, func(dir *string, version *uint64) {
		c.Text(dir)
		c.Uint(version)
	})
}

// counts codes the counts, by name.
func (c *coder) counts(x *Index) {
	imagecode.Tree(&c.Coder, &x.counts, 2, func(name *string, sum *int) {
		c.word(name)
		c.Natural(sum)
	})
}

// importedTimes codes the times from audit logs, by the id of the note.
func (c *coder) importedTimes(x *Index) {
	imagecode.Tree(&c.Coder, &x.importedTimes, 10, func(id *string, s *importedTimes) {
		c.Text(id)
		c.span(&s.span)
		imagecode.Map(&c.Coder, &s.sections, 9, func(fragment *string, s *span) {
			c.Text(fragment)
			c.span(s)
		})
		for i := range imagecode.List(&c.Coder, &s.traits, 13) {
			t := &s.traits[i]
			c.Text(&t.id)
			c.word(&t.typ)
			c.Text(&t.parent, &t.text)
			c.Int(&t.line)
			c.span(&t.span)
		}
	})
}

// span codes the first and the last time of a span.
func (c *coder) span(s *span) { c.Time(&s.first, &s.last) }
