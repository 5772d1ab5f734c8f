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
	b []byte

	files  map[string]int // numbers of files, by path
	texts  map[string]int // numbers of texts
	listed []string       // texts by number
	named  int            // how many of them are names of entries
	ids    map[string]int // numbers of the ids that traits go by

	times    pool[Times]
	mentions pool[Mention]
	sayings  pool[Saying]
}

func newImageWriter(x *Index, b []byte) *imageWriter {
	return &imageWriter{
		x: x, b: b, files: make(map[string]int, x.files.Len()), texts: map[string]int{},
		times: newPool[Times](), mentions: newPool[Mention](), sayings: newPool[Saying](),
	}
}

// parts are what writes each part.
func (w *imageWriter) parts() [imageParts]func() {
	return [imageParts]func(){
		partState: w.state, partPaths: w.paths, partEntries: w.entries, partIDs: w.traitIDs,
		partNotes: w.notes, partCounts: w.counts, partSeeds: w.seeds,
		partTimes:    func() { w.b = append(w.b, w.times.records...) },
		partMentions: func() { w.b = append(w.b, w.mentions.records...) },
		partSayings:  func() { w.b = append(w.b, w.sayings.records...) },
		partTexts:    w.textList,
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
		n = len(w.listed)
		w.texts[s] = n
		w.listed = append(w.listed, s)
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
	w.raw(x.texts.schema)
	w.raw(x.texts.raven)
	w.raw(x.texts.rookery)
}

func (w *imageWriter) paths() {
	w.count(w.x.files.Len())
	for f := range w.x.Files() {
		w.files[f.Path] = len(w.files)
		w.raw(f.Path)
	}
}

// entries writes, of each name, how many files go by it, and their numbers as differences.
func (w *imageWriter) entries() {
	var files []int
	name := ""
	list := func() {
		if len(files) == 0 {
			return
		}
		w.textNumber(name)
		w.count(len(files))
		last := 0
		for _, file := range files {
			w.count(file - last)
			last = file
		}
	}
	for e := range w.x.entries.from(entry{}) {
		if e.name != name {
			list()
			name, files = e.name, files[:0]
		}
		files = append(files, w.files[e.path])
	}
	list()
	w.named = len(w.listed)
}

// traitIDs writes the ids of traits, each with the file that has it.
func (w *imageWriter) traitIDs() {
	w.ids = make(map[string]int, w.x.traitIDs.Len())
	w.count(w.x.traitIDs.Len())
	w.x.traitIDs.Scan(func(id, path string) bool {
		w.ids[id] = len(w.ids)
		w.raw(id)
		w.count(w.files[path])
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
	w.x.seeds.Scan(func(id string, s seed) bool {
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

// textList writes the texts that have numbers.
func (w *imageWriter) textList() {
	w.count(len(w.listed))
	w.count(w.named)
	for _, s := range w.listed {
		w.raw(s)
	}
}
