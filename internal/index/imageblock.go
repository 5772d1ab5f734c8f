package index

import (
	"encoding/binary"
	"math"
	"strings"

	"rookery/internal/markdown"
	"rookery/internal/vault"
)

// A blockReader reads the files of one block.
type blockReader struct {
	*imageReader
	scanner
}

// files reads files, of which the first has a number.
func (b *blockReader) files(files []*File, first int) {
	size := int64(0)
	for i := range files {
		files[i] = b.file(b.flat.paths.at(first + i))
		if b.failed {
			break
		}
		size += files[i].size()
	}
	b.size.Add(size)
	b.end(&b.scanner)
}

func (b *blockReader) file(path string) *File {
	f := &File{Path: path, Size: b.natural(), Digest: b.digest()}
	f.Body = Body{b.uint(), b.int()}
	f.Version = b.uint()
	if b.flags() != 0 {
		f.Note = b.note(f)
	}
	return f
}

func (s *scanner) digest() (d Digest) {
	copy(d[:], s.bytes(len(d)))
	return d
}

func (b *blockReader) word() string { return b.text(&b.scanner) }

func (b *blockReader) note(f *File) *Note {
	n := &Note{File: f, ID: strings.TrimSuffix(f.Path, ".md")}
	n.DeclaredType, n.Type = b.word(), b.word()
	n.Title, n.TitleSlug = b.raw(), b.raw()
	n.LineCount, n.BodyStart, n.BodyLine = b.natural(), b.natural(), b.natural()
	n.Created, n.Modified = b.time(), b.time()
	n.Quarantine = b.problem()
	n.Fields = b.fields()
	b.sections(n)
	n.pins = b.pins()
	b.annotations(n)
	b.refs(n)
	b.tags(n)
	n.names, n.fieldNames = b.callings(n), b.callings(n)
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
	all := make([]Field, n)
	for i := range all {
		all[i] = Field{b.word(), b.value(maxNesting), b.int()}
	}
	return all
}

// maxNesting is how deep a list may stand in others: no text has room for more.
const maxNesting = 10_000

// value reads a value that may hold others so deep.
func (s *scanner) value(depth int) any {
	switch s.flags() {
	case valueNone:
		return nil
	case valueFalse:
		return false
	case valueTrue:
		return true
	case valueText:
		return s.raw()
	case valueRef:
		return markdown.Ref(s.raw())
	case valueNumber:
		if bits := s.bytes(8); bits != "" {
			return math.Float64frombits(binary.LittleEndian.Uint64([]byte(bits)))
		}
	case valueList:
		if depth > 0 {
			return s.list(depth - 1)
		}
	}
	s.fail()
	return nil
}

func (s *scanner) list(depth int) []any {
	all := make([]any, s.count(1))
	for i := range all {
		all[i] = s.value(depth)
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
const minSection = 29

func (b *blockReader) sections(n *Note) {
	count := b.count(minSection)
	if count == 0 {
		return
	}
	n.Sections = make([]Section, count)
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

// minAnnotation is the fewest bytes that an annotation can have.
const minAnnotation = 5

func (b *blockReader) annotations(n *Note) {
	count := b.count(minAnnotation)
	placed := b.natural()
	if placed > count || (placed == 0) != (count == 0) {
		b.fail()
	}
	if count == 0 || b.failed {
		return
	}
	all, places := make([]Trait, count), make([]Place, 0, placed)
	n.Annotations, n.said = make([]*Trait, count), make([]*Saying, count)
	line, position := 0, 0
	for i := range all {
		flags := b.flags()
		if flags&1 != 0 && len(places) < placed {
			places = append(places, b.place(n, line))
			line = places[len(places)-1].Line
		} else if flags&1 != 0 || len(places) == 0 {
			b.fail()
			return
		}
		t := &all[i]
		t.Place = &places[len(places)-1]
		t.Field, t.claims = flags&2 != 0, flags&4 != 0
		b.says(t)
		if named := flags&8 == 0; named {
			t.ID = b.id()
		} else {
			t.ID = b.word()
		}
		position += b.int()
		t.Position = position
		n.Annotations[i], n.said[i] = t, t.Saying
	}
}

// says reads what an annotation says, and its times.
func (b *blockReader) says(t *Trait) {
	said := b.below(len(b.sayings))
	if b.failed {
		t.Saying = &Saying{}
		return
	}
	t.Saying = &b.sayings[said]
	t.Times = b.timesOf()
}

func (b *blockReader) id() string {
	n := b.below(b.held.ids.len())
	if b.failed {
		return ""
	}
	return b.held.ids.at(n)
}

func (b *blockReader) place(n *Note, before int) Place {
	p := Place{Note: n, Line: before + b.int(), Scope: b.scope(len(n.Sections)), Content: n.ID}
	if size := b.natural(); size > 0 {
		p.Content = b.bytes(size - 1)
	}
	switch at := b.natural(); at {
	case 0:
		p.ContentText = p.Content
	case 1:
		p.ContentText = b.raw()
	default:
		size := b.natural()
		if at -= 2; at > len(p.Content) || size > len(p.Content)-at {
			b.fail()
			return p
		}
		p.ContentText = p.Content[at : at+size]
	}
	return p
}

// minRef is the fewest bytes that a reference can have.
const minRef = 6

func (b *blockReader) refs(n *Note) {
	count := b.count(minRef)
	if count == 0 {
		return
	}
	n.Refs = make([]Ref, count)
	line := 0
	for i := range n.Refs {
		r := &n.Refs[i]
		flags := b.flags()
		r.InField, r.Bare = flags&1 != 0, flags&2 != 0
		if m := b.below(len(b.mentions)); !b.failed {
			r.Mention = &b.mentions[m]
		}
		r.Field = b.word()
		line += b.int()
		r.Line, r.Position, r.Scope = line, b.int(), b.scope(len(n.Sections))
	}
}

func (b *blockReader) tags(n *Note) {
	count := b.count(3)
	if count == 0 {
		return
	}
	n.Tags = make([]Tag, count)
	for i := range n.Tags {
		n.Tags[i] = Tag{b.word(), b.int(), b.scope(len(n.Sections))}
	}
}

func (b *blockReader) callings(n *Note) []calling {
	count := b.count(2)
	if count == 0 {
		return nil
	}
	all := make([]calling, count)
	for i := range all {
		name := b.word()
		if name == "" {
			b.fail()
			return nil
		}
		all[i] = calling{kind(name[0]), int32(b.scope(len(n.Sections))), name[1:]}
	}
	return all
}
