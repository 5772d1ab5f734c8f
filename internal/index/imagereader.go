package index

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/memory"
)

// An imageReader makes an index of the parts of an image.
type imageReader struct {
	parts [imageParts]string
	x     *Index
	bad   atomic.Bool

	summing sync.Mutex // the files are read on several goroutines
	sums    fileSums

	flat     baseList // the entries
	others   texts    // that are no names of entries
	held     heldList
	nodes    heldList
	times    []Times
	mentions []Mention
	sayings  []TraitValue
	files    []*File
}

// fileSums are sums over files that an image does not have.
type fileSums struct {
	held              int64
	things, unindexed int
	counted           Counted
}

func (s *fileSums) add(f *File) {
	s.held += f.size()
	if f.Note == nil {
		return
	}
	s.things += f.Note.Things()
	if f.Note.Unindexed > 0 {
		s.unindexed++
	}
	s.counted.add(f.Note, 1)
}

// sum adds the sums of a block.
func (r *imageReader) sum(s fileSums) {
	r.summing.Lock()
	defer r.summing.Unlock()
	r.sums.held += s.held
	r.sums.things += s.things
	r.sums.unindexed += s.unindexed
	c := &r.sums.counted
	c.Notes += s.counted.Notes
	c.Units += s.counted.Units
	c.Bytes += s.counted.Bytes
	c.Quarantined += s.counted.Quarantined
}

// read makes the index: first what much refers to, then what takes long, on all processors.
func (r *imageReader) read() bool {
	r.x = Empty()
	if !r.open() {
		return false
	}
	r.x.entries, r.x.traitIDs, r.x.uids = newEntries(&r.flat), newHolders(r.held), newHolders(r.nodes)
	for _, next := range [][]func(){
		{r.readState, r.readTimes, r.readMentions, r.readSayings},
		{r.readNotes, r.readCounts, r.readSeeds, r.readMemories, r.readFolders},
	} {
		r.each(next...)
		if r.bad.Load() {
			return false
		}
	}
	r.x.held = r.sums.held
	t := &r.x.totals
	t.Things, t.Unindexed, t.Counted = r.sums.things, r.sums.unindexed, r.sums.counted
	r.enterFiles()
	return true
}

// open opens the parts that are used as they stand.
func (r *imageReader) open() bool {
	lists := true
	list := func(part int) texts {
		t, ok := textsOf(r.parts[part])
		lists = lists && ok
		return t
	}
	paths, names := list(partPaths), list(partNames)
	r.flat = baseList{names, numbers(r.parts[partEnds]), numbers(r.parts[partEntries]), paths}
	r.held = heldList{list(partIDs), numbers(r.parts[partHolders]), paths}
	r.nodes = heldList{list(partUIDs), numbers(r.parts[partNodes]), paths}
	r.others = list(partTexts)
	return lists && r.flat.sound() && r.held.sound() && r.nodes.sound()
}

// each calls functions at once, and waits for all.
func (r *imageReader) each(functions ...func()) {
	var all sync.WaitGroup
	for _, f := range functions {
		all.Go(f)
	}
	all.Wait()
}

// part is a scanner of a part.
func (r *imageReader) part(part int) *scanner { return &scanner{s: r.parts[part]} }

// end notes whether a part was as it must be.
func (r *imageReader) end(s *scanner) {
	if !s.done() {
		r.bad.Store(true)
	}
}

func (r *imageReader) readMemories() {
	x, err := memory.ReadImage(r.parts[partMemories])
	if err != nil {
		r.bad.Store(true)
		return
	}
	r.x.memories = x
}

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
	texts := settingTexts{schema: s.raw(), raven: s.raw(), rookery: s.raw(), obsidianDaily: s.raw(), obsidianTemplates: s.raw()}
	r.x.settings = r.x.read(texts)
}

func (r *imageReader) readFolders() {
	s := r.part(partFolders)
	defer r.end(s)
	for range s.count(2) {
		r.x.folderVersions.Load(s.raw(), s.uint())
	}
}

func (r *imageReader) readTimes() {
	s := r.part(partTimes)
	defer r.end(s)
	r.times = make([]Times, 0, len(s.s)/8)
	for s.at < len(s.s) {
		r.times = append(r.times, Times{s.time(), s.time()})
	}
	r.times = fitted(r.times)
}

// fitted is a list without the room that it has too much, if that is more than an eighth.
func fitted[T any](list []T) []T {
	if room := cap(list) - len(list); room <= cap(list)/8 {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

// text reads the number of a text.
func (r *imageReader) text(s *scanner) string {
	n := s.below(r.flat.names.len() + r.others.len())
	switch named := r.flat.names.len(); {
	case s.failed:
		return ""
	case n < named:
		return r.flat.names.at(n)
	default:
		return r.others.at(n - named)
	}
}

func (r *imageReader) readMentions() {
	s := r.part(partMentions)
	defer r.end(s)
	r.mentions = make([]Mention, 0, len(s.s)/16)
	for s.at < len(s.s) {
		r.mentions = append(r.mentions, Mention{s.raw(), s.raw(), r.text(s)})
	}
	r.mentions = fitted(r.mentions)
}

func (r *imageReader) readSayings() {
	s := r.part(partSayings)
	defer r.end(s)
	r.sayings = make([]TraitValue, 0, len(s.s)/16)
	for s.at < len(s.s) {
		flags := s.flags()
		says := TraitValue{Defined: flags&1 != 0, Task: flags&2 != 0, Type: r.text(s), Raw: s.raw()}
		says.value, says.entry = s.value(maxNesting), r.text(s)
		says.days = r.days(s)
		r.sayings = append(r.sayings, says)
	}
	r.sayings = fitted(r.sayings)
}

func (r *imageReader) readCounts() {
	s := r.part(partCounts)
	defer r.end(s)
	for range s.count(2) {
		r.x.counts.Load(r.text(s), s.natural())
	}
}

func (r *imageReader) readSeeds() {
	s := r.part(partSeeds)
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
			told.traits = append(told.traits, r.told(s))
		}
		r.x.seeds.Load(id, told)
	}
}

func (r *imageReader) told(s *scanner) told {
	return told{
		id: s.raw(), typ: r.text(s), parent: s.raw(), text: s.raw(), line: s.int(), span: s.span(),
	}
}

// enterFiles puts the files in, and what their traits claim.
func (r *imageReader) enterFiles() {
	for _, f := range r.files {
		r.x.files.Load(f.Path, f)
		if f.Note != nil && IsListed(f.Path) {
			r.x.rows.Load(f.Path, rowOf(f.Note))
		}
		for _, t := range annotationsOf(f.Note) {
			if t.claims {
				r.x.pins.Set(key(clean(t.Pin()), t.Spot().key()), t)
			}
		}
	}
	fit(&r.x.files)
	fit(&r.x.rows)
}

// fit gives back the memory that filling a tree in order leaves unused: a node that was split keeps twice what it
// needs, and a change copies it without that.
func fit[V any](t *tree[V]) {
	*t = *t.Copy()
	t.ScanMut(func(string, V) bool { return true })
}

// blocks are the blocks of files.
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

// readNotes reads the files, several blocks at once.
func (r *imageReader) readNotes() {
	blocks := r.blocks()
	paths := r.flat.paths
	if len(blocks) != (paths.len()+blockFiles-1)/blockFiles {
		r.bad.Store(true)
		return
	}
	r.files = make([]*File, paths.len())
	var next atomic.Int64
	work := func() {
		own := &slabs{}
		for i := int(next.Add(1)) - 1; i < len(blocks) && !r.bad.Load(); i = int(next.Add(1)) - 1 {
			first := i * blockFiles
			b := blockReader{imageReader: r, scanner: scanner{s: blocks[i]}, slabs: own}
			b.files(r.files[first:min(first+blockFiles, len(r.files))], first)
		}
	}
	r.each(slices.Repeat([]func(){work}, runtime.GOMAXPROCS(0))...)
}
