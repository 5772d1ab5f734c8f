package index

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/imagecode"
	"github.com/rookeryhq/rookery/internal/memory"
)

// An imageReader builds an index from the parts of an image.
type imageReader struct {
	parts   [imageParts]string
	x       *Index
	damaged atomic.Bool // the image is damaged

	summing sync.Mutex // guards sums: several goroutines read files
	sums    fileSums

	entries     *baseList // the entries; a part of the index, which must not keep the reader alive
	otherTexts  texts     // texts that are not names of entries
	traitOwners ownerList // ids of traits
	uidOwners   ownerList // keys of UIDs
	shared      pools
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
	if f.Note.Unindexed() > 0 {
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
	r.x, r.shared = Empty(), newPools()
	if !r.open() {
		return false
	}
	r.x.entries = newEntries(r.entries)
	r.x.traitIDs, r.x.uids = newTraitOwners(r.traitOwners), newTraitOwners(r.uidOwners)
	for _, next := range [][]func(){
		{
			r.readState,
			func() { r.part(partTimes, func(c *coder) { r.shared.times.read(c, 8) }) },
			func() { r.part(partMentions, func(c *coder) { r.shared.mentions.read(c, 16) }) },
			func() { r.part(partTraitValues, func(c *coder) { r.shared.traitValues.read(c, 16) }) },
		},
		{
			r.readNotes, r.readMemories,
			func() { r.part(partCounts, func(c *coder) { c.counts(r.x) }) },
			func() { r.part(partImportedTimes, func(c *coder) { c.importedTimes(r.x) }) },
			func() { r.part(partFolders, func(c *coder) { c.folders(r.x) }) },
		},
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
	r.x.findDailyFolder()
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
	r.entries = &baseList{names, numbers(r.parts[partEnds]), numbers(r.parts[partEntries]), paths}
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

// decoder returns a coder that decodes a part of the image, or a part of that.
func (r *imageReader) decoder(image string) coder {
	return coder{Coder: imagecode.NewDecoder(image), r: r, pools: &r.shared}
}

// part decodes a part of the image with read. It records the image as damaged unless read reads the
// whole part without failure.
func (r *imageReader) part(part int, read func(*coder)) {
	c := r.decoder(r.parts[part])
	if read(&c); !c.Done() {
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

// readState reads the version, the totals and the settings, whose texts are parsed again.
func (r *imageReader) readState() {
	var texts settingTexts
	r.part(partState, func(c *coder) { c.state(r.x, &texts) })
	r.x.settings = r.x.read(texts)
}

// text reads the number of a text and returns the text. Numbers below the number of names are names
// of entries; the others follow. Many texts of notes, such as tags and types, are equal to a name
// without its kind; those are among the others.
func (r *imageReader) text(c *imagecode.Coder) string {
	n, names := 0, r.entries.names.len()
	switch c.Index(&n, names+r.otherTexts.len()); {
	case c.Failed():
		return ""
	case n < names:
		return r.entries.names.at(n)
	}
	return r.otherTexts.at(n - names)
}

// addFiles adds the files, their rows, and the traits that claim a pin to the index.
func (r *imageReader) addFiles() {
	for _, f := range r.files {
		r.x.files.Load(f.Path, f)
		if f.Note != nil && IsListed(f.Path) {
			r.x.rows.Load(f.Path, r.x.tags.rowOf(f.Note))
		}
		for _, t := range f.Note.EachAnnotation {
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
func (r *imageReader) blocks() (blocks []string) {
	r.part(partNotes, func(c *coder) {
		for c.Left() > 0 {
			var length, block string
			if c.Sized(&length, 4); c.Failed() {
				blocks = nil
				return
			}
			c.Sized(&block, numbers(length).at(0))
			blocks = append(blocks, block)
		}
	})
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
		c := r.decoder("")
		for i := int(next.Add(1)) - 1; i < len(blocks) && !r.damaged.Load(); i = int(next.Add(1)) - 1 {
			first := i * blockFiles
			c.Next(blocks[i])
			r.readFiles(&c, r.files[first:min(first+blockFiles, len(r.files))], first)
		}
	}
	r.each(slices.Repeat([]func(){work}, runtime.GOMAXPROCS(0))...)
}

// readFiles reads the files of a block into files. first is the position of the first one in the
// list of paths. If the block is damaged, it marks the image as damaged and leaves the rest of
// files nil.
func (r *imageReader) readFiles(c *coder, files []*File, first int) {
	var sum fileSums
	for i := range files {
		f := &File{Path: r.entries.paths.at(first + i)}
		c.Own()
		c.file(f)
		if c.EndOwn(); c.Failed() {
			break
		}
		files[i] = f
		sum.add(f)
	}
	if r.sum(sum); !c.Done() {
		r.damaged.Store(true)
	}
}
