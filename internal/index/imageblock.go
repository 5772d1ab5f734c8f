package index

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A blockReader reads the files of one block. Its methods read, in the same order, the values that
// the methods of the same name of imageWriter wrote. After an error they return zero values; see
// scanner. The blocks of an image are read by several goroutines; each has slabs of its own, and
// shares the lists of times, mentions and values, which are complete by then.
type blockReader struct {
	*imageReader
	scanner
	slabs *slabs
}

// files reads the files of the block into files. first is the position of the first one in the list
// of paths. If the block is damaged, it marks the image as damaged and leaves the rest of files
// nil.
func (b *blockReader) files(files []*File, first int) {
	var sum fileSums
	for i := range files {
		files[i] = b.readFile(b.entries.paths.at(first + i))
		if b.failed {
			break
		}
		sum.add(files[i])
	}
	b.sum(sum)
	b.end(&b.scanner)
}

// readFile reads a file. Its flags say, from the lowest bit, that it is parsed as a note, has too
// many things to index, is excluded, is the file of a folder, and is hidden.
func (b *blockReader) readFile(path string) *File {
	f := b.slabs.files.allocOne()
	*f = File{Path: path, Size: b.natural(), Digest: b.digest()}
	f.Body = Body{b.uint(), b.int()}
	f.Version = b.uint()
	flags := b.flags()
	if flags&8 != 0 {
		f.Folder = b.folder()
	}
	if flags&1 == 0 {
		return f
	}
	unindexed := 0
	if flags&2 != 0 {
		unindexed = b.natural()
	}
	units := b.natural()
	n := b.note(f)
	n.Unindexed, n.Excluded, n.Units = unindexed, flags&4 != 0, units
	// A hidden note is parsed like any other, but is not the Note of its file.
	if f.Note = n; flags&16 != 0 {
		f.Hidden, f.Note = n, nil
	}
	return f
}

// word reads a text that is stored once and referred to by its number.
func (b *blockReader) word() string { return b.text(&b.scanner) }

// note reads a note of the file f. It computes values that follow from others, such as the marks of
// types.
//
// The order of the calls is part of the format, and must be that of imageWriter.note.
func (b *blockReader) note(f *File) *Note {
	n := b.slabs.notes.allocOne()
	n.File, n.ID = f, strings.TrimSuffix(f.Path, ".md")
	b.node(&n.NodePart)
	n.DeclaredType, n.Type = b.word(), b.word()
	n.Title, n.TitleSlug = b.raw(), b.raw()
	n.LineCount, n.BodyStart, n.BodyLine = b.natural(), b.natural(), b.natural()
	n.Created, n.Modified = b.time(), b.time()
	if n.problem = b.problem(); b.flags() != 0 {
		n.Quarantine = n.problem
	}
	n.Fields = b.fields()
	n.facets, n.card = b.facets(), b.card()
	b.sections(n)
	n.pins = b.pins()
	// After a failure, the lengths that markTypes relies on may not fit each other.
	if b.annotations(n); !b.failed {
		n.markTypes(b.slabs.marks.alloc(n.markCount()))
	}
	b.refs(n)
	b.links(n)
	n.Tags = b.tagList(len(n.Sections))
	n.Blocks = b.blocks()
	n.names, n.fieldNames = b.words(), b.words()
	n.fieldDays = b.days(&b.scanner)
	return n
}

// problem reads a parse error; nil if there is none.
func (b *blockReader) problem() *markdown.Problem {
	if b.flags() == 0 {
		return nil
	}
	return &markdown.Problem{Line: b.int(), Message: b.raw()}
}

// fields reads a list of fields; nil if it is empty. A field takes at least three bytes, which
// bounds the memory that a damaged count can allocate; the other methods pass such sizes to count
// as well.
func (b *blockReader) fields() []Field {
	n := b.count(3)
	if n == 0 {
		return nil
	}
	all := b.slabs.fields.alloc(n)
	for i := range all {
		all[i] = Field{b.word(), b.value(maxNesting), b.int()}
	}
	return all
}

// facets reads facets; nil if the note has none.
func (b *blockReader) facets() *Facets {
	if b.flags() == 0 {
		return nil
	}
	return &Facets{Fields: b.words(), Tags: b.words(), Types: b.words(), Statuses: b.words()}
}

// words reads a list of texts; nil if it is empty.
func (b *blockReader) words() []string {
	n := b.count(1)
	if n == 0 {
		return nil
	}
	all := b.slabs.words.alloc(n)
	for i := range all {
		all[i] = b.word()
	}
	return all
}

// days reads a list of dates; nil if it is empty.
func (r *imageReader) days(s *scanner) []vault.Date {
	n := s.count(1)
	if n == 0 {
		return nil
	}
	days := make([]vault.Date, n)
	for i := range days {
		days[i] = vault.Date(r.text(s))
	}
	return days
}

// minSection is the smallest number of bytes of a section in an image.
const minSection = 30

// sections reads the sections of a note.
func (b *blockReader) sections(n *Note) {
	count := b.count(minSection)
	if count == 0 {
		return
	}
	n.Sections = b.slabs.sections.alloc(count)
	for i := range n.Sections {
		b.section(&n.Sections[i], i)
	}
}

// section reads a section. number is its position in the note. The values of a node follow only if
// the section is one: then the flag Top is set. The position of a parent must be less than number,
// so damaged parents cannot form a circle.
func (b *blockReader) section(s *Section, number int) {
	s.number = number
	s.Slug, s.Title, s.Level = b.raw(), b.raw(), b.int()
	s.DeclaredType, s.Type = b.word(), b.word()
	s.Fields = b.fields()
	s.Parent = b.scope(number)
	s.Line, s.LineEnd, s.SubtreeEnd = b.int(), b.int(), b.int()
	s.declarationLines = [2]int{b.int(), b.int()}
	s.Times = b.timesOf()
	s.ownDigest = b.digest()
	flags := b.flags()
	if s.Top, s.pinned = flags&1 != 0, flags&2 != 0; !s.Top {
		return
	}
	b.node(&s.NodePart)
	s.TopParent, s.body = int32(b.scope(number)), b.uint()
}

// node reads the parts of a note, a section or a folder that belong to its node.
func (b *blockReader) node(p *NodePart) {
	copy(p.UID[:], b.bytes(len(p.UID)))
	p.BodyBytes, p.Embeds = int32(b.natural()), b.flags() != 0
}

// folder reads the description of a folder from its own file.
func (b *blockReader) folder() *Folder {
	f := &Folder{}
	b.node(&f.NodePart)
	f.DeclaredType, f.Title, f.Fields = b.word(), b.raw(), b.fields()
	f.Tags = b.tagList(0)
	f.Created, f.Modified, f.Problem = b.time(), b.time(), b.problem()
	return f
}

// scope reads the position of a section, less than sections, or -1 for the note. It fails for any
// other number, because the position is used as an index without another check.
func (b *blockReader) scope(sections int) int {
	v := b.int()
	if v < -1 || v >= sections {
		b.fail()
		return -1
	}
	return v
}

// timesOf reads the number of a Times and returns a pointer to the shared value; nil after a
// failure.
func (b *blockReader) timesOf() *Times {
	n := b.below(len(b.times))
	if b.failed {
		return nil
	}
	return &b.times[n]
}

// pins reads the pins of a note by line; nil if there are none.
func (b *blockReader) pins() map[int]string {
	n := b.count(2)
	if n == 0 {
		return nil
	}
	pins := make(map[int]string, n)
	for range n {
		line := b.int()
		pins[line] = b.raw()
	}
	return pins
}

// minRef is the smallest number of bytes of a reference in an image.
const minRef = 6

// refs reads the references of a note. Lines are stored as differences to the previous one.
func (b *blockReader) refs(n *Note) {
	count := b.count(minRef)
	if count == 0 {
		return
	}
	n.Refs = b.slabs.refs.alloc(count)
	line := 0
	for i := range n.Refs {
		r := &n.Refs[i]
		flags := b.flags()
		r.InField, r.Bare, r.Form = flags&1 != 0, flags&2 != 0, markdown.Form(flags>>2)
		if m := b.below(len(b.mentions)); !b.failed {
			r.Mention = &b.mentions[m]
		}
		r.Field = b.word()
		line += b.int()
		r.Line, r.Position, r.Scope = line, b.int(), b.scope(len(n.Sections))
	}
}

// tagList reads the tags of a file that has this number of sections; nil if there are none.
func (b *blockReader) tagList(sections int) []Tag {
	count := b.count(3)
	if count == 0 {
		return nil
	}
	all := b.slabs.tags.alloc(count)
	for i := range all {
		all[i] = Tag{b.word(), b.int(), b.scope(sections)}
	}
	return all
}

// blocks reads the ids of blocks with their lines; nil if there are none.
func (b *blockReader) blocks() map[string]int {
	n := b.count(2)
	if n == 0 {
		return nil
	}
	all := make(map[string]int, n)
	for range n {
		id := b.raw()
		all[id] = b.int()
	}
	return all
}
