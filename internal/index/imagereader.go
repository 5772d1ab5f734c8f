package index

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/memory"
)

// An imageReader builds an index from the parts of an image.
type imageReader struct {
	parts   [imageParts]string
	x       *Index
	damaged atomic.Bool // the image is damaged

	summing sync.Mutex // guards sums: several goroutines read files
	sums    fileSums

	entries     baseList  // the entries
	otherTexts  texts     // texts that are not names of entries
	traitOwners ownerList // ids of traits
	uidOwners   ownerList // keys of UIDs
	times       []Times
	mentions    []Mention
	traitValues []TraitValue // TraitValues, by number
	files       []*File
}

// fileSums are sums over files that an image does not contain.
type fileSums struct {
	bytes             int64
	things, unindexed int
	counted           Counted
}

// add adds the values of a file.
func (s *fileSums) add(f *File) {
	s.bytes += f.size()
	if f.Note == nil {
		return
	}
	s.things += f.Note.Things()
	if f.Note.Unindexed > 0 {
		s.unindexed++
	}
	s.counted.add(f.Note, 1)
}

// sum adds the sums of a block. Several goroutines may call it at once.
func (r *imageReader) sum(s fileSums) {
	r.summing.Lock()
	defer r.summing.Unlock()
	r.sums.bytes += s.bytes
	r.sums.things += s.things
	r.sums.unindexed += s.unindexed
	c := &r.sums.counted
	c.Notes += s.counted.Notes
	c.Units += s.counted.Units
	c.Bytes += s.counted.Bytes
	c.Quarantined += s.counted.Quarantined
}

// read builds the index and reports whether the image is valid. It reads the shared values first,
// because the parts of the second group refer to them. The parts of a group are read concurrently.
func (r *imageReader) read() bool {
	r.x = Empty()
	if !r.open() {
		return false
	}
	r.x.entries, r.x.traitIDs, r.x.uids = newEntries(&r.entries), newTraitOwners(r.traitOwners), newTraitOwners(r.uidOwners)
	for _, next := range [][]func(){
		{r.readState, r.readTimes, r.readMentions, r.readTraitValues},
		{r.readNotes, r.readCounts, r.readImportedTimes, r.readMemories, r.readFolders},
	} {
		r.each(next...)
		if r.damaged.Load() {
			return false
		}
	}
	r.x.fileBytes = r.sums.bytes
	t := &r.x.totals
	t.Things, t.Unindexed, t.Counted = r.sums.things, r.sums.unindexed, r.sums.counted
	r.addFiles()
	return true
}

// open opens the parts that are used in place, without a copy, and reports whether they are valid.
func (r *imageReader) open() bool {
	lists := true
	list := func(part int) texts {
		t, ok := textsOf(r.parts[part])
		lists = lists && ok
		return t
	}
	paths, names := list(partPaths), list(partNames)
	r.entries = baseList{names, numbers(r.parts[partEnds]), numbers(r.parts[partEntries]), paths}
	r.traitOwners = ownerList{list(partIDs), numbers(r.parts[partOwners]), paths}
	r.uidOwners = ownerList{list(partUIDs), numbers(r.parts[partNodes]), paths}
	r.otherTexts = list(partTexts)
	return lists && r.entries.isValid() && r.traitOwners.isValid() && r.uidOwners.isValid()
}

// each runs the functions concurrently and waits for all of them.
func (r *imageReader) each(functions ...func()) {
	var all sync.WaitGroup
	for _, f := range functions {
		all.Go(f)
	}
	all.Wait()
}

// part returns a scanner of a part.
func (r *imageReader) part(part int) *scanner { return &scanner{s: r.parts[part]} }

// end records the image as damaged unless s read its whole input without failure.
func (r *imageReader) end(s *scanner) {
	if !s.done() {
		r.damaged.Store(true)
	}
}

// readMemories reads the index of memories.
func (r *imageReader) readMemories() {
	x, err := memory.ReadImage(r.parts[partMemories])
	if err != nil {
		r.damaged.Store(true)
		return
	}
	r.x.memories = x
}

// readState reads the version, the totals and the settings. The texts of the settings are parsed
// again. Things, Unindexed and Counted of the totals are not in the image; see fileSums.
func (r *imageReader) readState() {
	s := r.part(partState)
	defer r.end(s)
	r.x.version, r.x.time = s.uint(), s.time()
	t := &r.x.totals
	for _, n := range []*int{&t.Notes, &t.Sections, &t.Traits, &t.Refs} {
		*n = s.natural()
	}
	t.Bytes, t.Quarantined = int64(s.natural()), s.natural()
	r.x.notesVersion = s.uint()
	texts := settingTexts{schema: s.raw(), raven: s.raw(), rookery: s.raw(), obsidianDaily: s.raw(),
		obsidianTemplates: s.raw()}
	r.x.settings = r.x.read(texts)
}

// readFolders reads the version of each folder.
func (r *imageReader) readFolders() {
	s := r.part(partFolders)
	defer r.end(s)
	for range s.count(2) {
		r.x.folderVersions.Load(s.raw(), s.uint())
	}
}

// readTimes reads the distinct Times. The part has no count: it ends with the last one.
func (r *imageReader) readTimes() {
	s := r.part(partTimes)
	defer r.end(s)
	r.times = make([]Times, 0, len(s.s)/8)
	for s.at < len(s.s) {
		r.times = append(r.times, Times{s.time(), s.time()})
	}
	r.times = clip(r.times)
}

// clip returns list without its unused capacity, if that is more than an eighth of the whole.
func clip[T any](list []T) []T {
	if room := cap(list) - len(list); room <= cap(list)/8 {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

// text reads the number of a text and returns the text. Numbers below the number of names are names
// of entries; the others follow. Many texts of notes, such as tags and types, are equal to a name
// without its kind; those are among the others.
func (r *imageReader) text(s *scanner) string {
	n := s.below(r.entries.names.len() + r.otherTexts.len())
	switch named := r.entries.names.len(); {
	case s.failed:
		return ""
	case n < named:
		return r.entries.names.at(n)
	default:
		return r.otherTexts.at(n - named)
	}
}

// readMentions reads the distinct Mentions.
func (r *imageReader) readMentions() {
	s := r.part(partMentions)
	defer r.end(s)
	r.mentions = make([]Mention, 0, len(s.s)/16)
	for s.at < len(s.s) {
		r.mentions = append(r.mentions, Mention{s.raw(), s.raw(), r.text(s)})
	}
	r.mentions = clip(r.mentions)
}

// readTraitValues reads the distinct TraitValues.
func (r *imageReader) readTraitValues() {
	s := r.part(partTraitValues)
	defer r.end(s)
	r.traitValues = make([]TraitValue, 0, len(s.s)/16)
	for s.at < len(s.s) {
		flags := s.flags()
		says := TraitValue{Defined: flags&1 != 0, Task: flags&2 != 0, Type: r.text(s), Raw: s.raw()}
		says.value, says.entry = s.value(maxNesting), r.text(s)
		says.days = r.days(s)
		r.traitValues = append(r.traitValues, says)
	}
	r.traitValues = clip(r.traitValues)
}

// readCounts reads the counts by name.
func (r *imageReader) readCounts() {
	s := r.part(partCounts)
	defer r.end(s)
	for range s.count(2) {
		r.x.counts.Load(r.text(s), s.natural())
	}
}

// readImportedTimes reads the times from audit logs, by the id of the note.
func (r *imageReader) readImportedTimes() {
	s := r.part(partImportedTimes)
	defer r.end(s)
	for range s.count(10) {
		id, told := s.raw(), importedTimes{span: s.span()}
		if n := s.count(9); n > 0 {
			told.sections = make(map[string]span, n)
			for range n {
				fragment := s.raw()
				told.sections[fragment] = s.span()
			}
		}
		for range s.count(13) {
			told.traits = append(told.traits, r.loggedTrait(s))
		}
		r.x.importedTimes.Load(id, told)
	}
}

// loggedTrait reads one trait from an audit log.
func (r *imageReader) loggedTrait(s *scanner) loggedTrait {
	return loggedTrait{
		id: s.raw(), typ: r.text(s), parent: s.raw(), text: s.raw(), line: s.int(), span: s.span(),
	}
}

// addFiles adds the files, their rows, and the traits that claim a pin to the index.
func (r *imageReader) addFiles() {
	for _, f := range r.files {
		r.x.files.Load(f.Path, f)
		if f.Note != nil && IsListed(f.Path) {
			r.x.rows.Load(f.Path, r.x.tags.rowOf(f.Note))
		}
		for _, t := range annotationsOf(f.Note) {
			if t.claims {
				r.x.pins.Set(key(clean(t.Pin()), t.Location().key()), t)
			}
		}
	}
	compactTree(&r.x.files)
	compactTree(&r.x.rows)
}

// compactTree frees the memory that a tree has left over after it was filled in order: a node that
// was split keeps twice the memory that it needs. ScanMut copies every node of the copied tree,
// without the unused memory.
func compactTree[V any](t *tree[V]) {
	*t = *t.Copy()
	t.ScanMut(func(string, V) bool { return true })
}

// blocks returns the blocks of files, without reading them; nil if a length is invalid. Each is
// four bytes of length, then the files.
func (r *imageReader) blocks() []string {
	s := r.part(partNotes)
	defer r.end(s)
	var blocks []string
	for s.at < len(s.s) {
		length := s.bytes(4)
		if s.failed {
			return nil
		}
		blocks = append(blocks, s.bytes(numbers(length).at(0)))
	}
	return blocks
}

// readNotes reads the files, several blocks concurrently. Each goroutine takes the next block that
// is not read yet, until none is left or the image is found to be damaged.
func (r *imageReader) readNotes() {
	blocks := r.blocks()
	paths := r.entries.paths
	if len(blocks) != (paths.len()+blockFiles-1)/blockFiles {
		r.damaged.Store(true)
		return
	}
	r.files = make([]*File, paths.len())
	var next atomic.Int64
	work := func() {
		own := &slabs{}
		for i := int(next.Add(1)) - 1; i < len(blocks) && !r.damaged.Load(); i = int(next.Add(1)) - 1 {
			first := i * blockFiles
			b := blockReader{imageReader: r, scanner: scanner{s: blocks[i]}, slabs: own}
			b.files(r.files[first:min(first+blockFiles, len(r.files))], first)
		}
	}
	r.each(slices.Repeat([]func(){work}, runtime.GOMAXPROCS(0))...)
}
