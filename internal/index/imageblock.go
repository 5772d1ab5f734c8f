package index

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A blockReader reads the files of one block.
type blockReader struct {
	*imageReader
	scanner
	slabs *slabs
}

// files reads files, of which the first has a number.
func (b *blockReader) files(files []*File, first int) {
	var sum fileSums
	for i := range files {
		files[i] = b.readFile(b.flat.paths.at(first + i))
		if b.failed {
			break
		}
		sum.add(files[i])
	}
	b.sum(sum)
	b.end(&b.scanner)
}

func (b *blockReader) readFile(path string) *File {
	f := b.slabs.files.one()
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
	if f.Note = n; flags&16 != 0 {
		f.Hidden, f.Note = n, nil
	}
	return f
}

func (b *blockReader) word() string { return b.text(&b.scanner) }

func (b *blockReader) note(f *File) *Note {
	n := b.slabs.notes.one()
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
	if b.annotations(n); !b.failed {
		n.markTypes(b.slabs.marks.take(n.markCount()))
	}
	b.refs(n)
	b.links(n)
	n.Tags = b.tagList(len(n.Sections))
	n.Blocks = b.blocks()
	n.names, n.fieldNames = b.words(), b.words()
	n.fieldDays = b.days(&b.scanner)
	return n
}

func (b *blockReader) problem() *markdown.Problem {
	if b.flags() == 0 {
		return nil
	}
	return &markdown.Problem{Line: b.int(), Message: b.raw()}
}

func (b *blockReader) fields() []Field {
	n := b.count(3)
	if n == 0 {
		return nil
	}
	all := b.slabs.fields.take(n)
	for i := range all {
		all[i] = Field{b.word(), b.value(maxNesting), b.int()}
	}
	return all
}

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
	all := b.slabs.words.take(n)
	for i := range all {
		all[i] = b.word()
	}
	return all
}

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

// minSection is the fewest bytes that a section can have.
const minSection = 30

func (b *blockReader) sections(n *Note) {
	count := b.count(minSection)
	if count == 0 {
		return
	}
	n.Sections = b.slabs.sections.take(count)
	for i := range n.Sections {
		b.section(&n.Sections[i], i)
	}
}

func (b *blockReader) section(s *Section, number int) {
	s.number = number
	s.Slug, s.Title, s.Level = b.raw(), b.raw(), b.int()
	s.DeclaredType, s.Type = b.word(), b.word()
	s.Fields = b.fields()
	s.Parent = b.scope(number)
	s.Line, s.LineEnd, s.SubtreeEnd = b.int(), b.int(), b.int()
	s.declare = [2]int{b.int(), b.int()}
	s.Times = b.timesOf()
	s.own = b.digest()
	flags := b.flags()
	if s.Top, s.pinned = flags&1 != 0, flags&2 != 0; !s.Top {
		return
	}
	b.node(&s.NodePart)
	s.TopParent, s.body = int32(b.scope(number)), b.uint()
}

func (b *blockReader) node(p *NodePart) {
	copy(p.UID[:], b.bytes(len(p.UID)))
	p.BodyBytes, p.Embeds = int32(b.natural()), b.flags() != 0
}

func (b *blockReader) folder() *Folder {
	f := &Folder{}
	b.node(&f.NodePart)
	f.DeclaredType, f.Title, f.Fields = b.word(), b.raw(), b.fields()
	f.Tags = b.tagList(0)
	f.Created, f.Modified, f.Problem = b.time(), b.time(), b.problem()
	return f
}

// scope reads the position of one of the first so many sections, or -1.
func (b *blockReader) scope(sections int) int {
	v := b.int()
	if v < -1 || v >= sections {
		b.fail()
		return -1
	}
	return v
}

func (b *blockReader) timesOf() *Times {
	n := b.below(len(b.times))
	if b.failed {
		return nil
	}
	return &b.times[n]
}

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

// minRef is the fewest bytes that a reference can have.
const minRef = 6

func (b *blockReader) refs(n *Note) {
	count := b.count(minRef)
	if count == 0 {
		return
	}
	n.Refs = b.slabs.refs.take(count)
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

// tagList reads tags of a file with so many sections; nil if there are none.
func (b *blockReader) tagList(sections int) []Tag {
	count := b.count(3)
	if count == 0 {
		return nil
	}
	all := b.slabs.tags.take(count)
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
