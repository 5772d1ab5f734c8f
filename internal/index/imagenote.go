package index

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"rookery/internal/markdown"
)

// A pool numbers values that many things share, by what they hold: the first that is met is 0.
type pool[T any] struct {
	numbers map[string]int // by the record
	met     map[*T]int
	records []byte
}

func newPool[T any]() pool[T] { return pool[T]{numbers: map[string]int{}, met: map[*T]int{}} }

// share writes the number of a value of a pool, of which record writes what it holds.
func share[T any](w *imageWriter, p *pool[T], v *T, record func(*T)) {
	n, known := p.met[v]
	if !known {
		start := len(w.b)
		record(v)
		n = p.number(w.b[start:])
		w.b, p.met[v] = w.b[:start], n
	}
	w.count(n)
}

// number is the number of a record.
func (p *pool[T]) number(record []byte) int {
	n, known := p.numbers[string(record)]
	if !known {
		n = len(p.numbers)
		p.numbers[string(record)] = n
		p.records = append(p.records, record...)
	}
	return n
}

func (w *imageWriter) timesOf(t *Times) {
	share(w, &w.times, t, func(t *Times) {
		w.time(t.Created)
		w.time(t.Modified)
	})
}

func (w *imageWriter) mention(m *Mention) {
	share(w, &w.mentions, m, func(m *Mention) {
		w.raw(m.Target)
		w.raw(m.Display)
		w.text(m.name)
	})
}

func (w *imageWriter) saying(s *Saying) {
	share(w, &w.sayings, s, func(s *Saying) {
		w.flags(s.Defined)
		w.text(s.Type)
		w.raw(s.Raw)
		w.value(s.value)
		w.text(s.entry)
		w.count(len(s.days))
		for _, day := range s.days {
			w.text(string(day))
		}
	})
}

// The kinds of values of fields and annotations.
const (
	valueNone byte = iota
	valueFalse
	valueTrue
	valueText
	valueRef
	valueNumber
	valueList
)

// value writes a value as markdown.Entry has it. There are no others.
func (w *imageWriter) value(v any) {
	switch v := v.(type) {
	case nil:
		w.b = append(w.b, valueNone)
	case bool:
		w.b = append(w.b, valueFalse)
		if v {
			w.b[len(w.b)-1] = valueTrue
		}
	case string:
		w.b = append(w.b, valueText)
		w.raw(v)
	case markdown.Ref:
		w.b = append(w.b, valueRef)
		w.raw(string(v))
	case float64:
		w.b = binary.LittleEndian.AppendUint64(append(w.b, valueNumber), math.Float64bits(v))
	case []any:
		w.b = append(w.b, valueList)
		w.count(len(v))
		for _, each := range v {
			w.value(each)
		}
	default:
		panic(fmt.Sprintf("index: a field of type %T", v))
	}
}

// notes writes the files in blocks, of which each has its length before it.
func (w *imageWriter) notes() {
	for files := range slices.Chunk(w.x.files.Values(), blockFiles) {
		w.b = appendNumber(w.b, 0)
		start := len(w.b)
		for _, f := range files {
			w.file(f)
		}
		appendNumber(w.b[:start-4], len(w.b)-start)
	}
}

func (w *imageWriter) file(f *File) {
	w.count(f.Size)
	w.b = append(w.b, f.Digest[:]...)
	w.uint(f.Body.Run)
	w.int(f.Body.Part)
	w.uint(f.Version)
	w.flags(f.Note != nil)
	if f.Note != nil {
		w.note(f.Note)
	}
}

func (w *imageWriter) note(n *Note) {
	w.text(n.DeclaredType)
	w.text(n.Type)
	w.raw(n.Title)
	w.raw(n.TitleSlug)
	w.count(n.LineCount)
	w.count(n.BodyStart)
	w.count(n.BodyLine)
	w.time(n.Created)
	w.time(n.Modified)
	w.problem(n.Quarantine)
	w.fields(n.Fields)
	w.count(len(n.Sections))
	for i := range n.Sections {
		w.section(&n.Sections[i])
	}
	w.pins(n.pins)
	w.annotations(n)
	w.refs(n.Refs)
	w.tags(n.Tags)
	w.callings(n.names)
	w.callings(n.fieldNames)
	w.count(len(n.fieldDays))
	for _, day := range n.fieldDays {
		w.text(string(day))
	}
}

func (w *imageWriter) problem(p *markdown.Problem) {
	w.flags(p != nil)
	if p != nil {
		w.int(p.Line)
		w.raw(p.Message)
	}
}

func (w *imageWriter) fields(all []Field) {
	w.count(len(all))
	for _, f := range all {
		w.text(f.Name)
		w.value(f.Value)
		w.int(f.Line)
	}
}

func (w *imageWriter) section(s *Section) {
	w.raw(s.Slug)
	w.raw(s.Title)
	w.int(s.Level)
	w.text(s.DeclaredType)
	w.text(s.Type)
	w.fields(s.Fields)
	for _, n := range []int{s.Parent, s.Line, s.LineEnd, s.SubtreeEnd, s.declare[0], s.declare[1]} {
		w.int(n)
	}
	w.timesOf(s.Times)
	w.b = append(w.b, s.own[:]...)
}

func (w *imageWriter) pins(pins map[int]string) {
	w.count(len(pins))
	for _, line := range slices.Sorted(maps.Keys(pins)) {
		w.int(line)
		w.raw(pins[line])
	}
}

// annotations writes the places of the annotations with them, each before the first that stands there.
// An id that another note has too, or had, may not be held by this one: that is a text.
func (w *imageWriter) annotations(n *Note) {
	all := n.Annotations
	w.count(len(all))
	w.count(places(all))
	file, line, position := w.files[n.Path], 0, 0
	for i, t := range all {
		moved := i == 0 || !alikePlaced(all[i-1], t)
		id, held := w.held.find(t.ID, file)
		w.flags(moved, t.Field, t.claims, !held)
		if moved {
			w.place(t.Place, line)
			line = t.Line
		}
		w.saying(t.Saying)
		w.timesOf(t.Times)
		if held {
			w.count(id)
		} else {
			w.text(t.ID)
		}
		w.int(t.Position - position)
		position = t.Position
	}
}

// places is how many places annotations have.
func places(all []*Trait) int {
	n := 0
	for i := range all {
		if i == 0 || !alikePlaced(all[i-1], all[i]) {
			n++
		}
	}
	return n
}

// alikePlaced reports whether two annotations, one after the other, share a place.
func alikePlaced(a, b *Trait) bool { return a.Place == b.Place || *a.Place == *b.Place }

// place writes a place; the line as the difference to that of the place before, the text as a part of
// the content, where it is one.
func (w *imageWriter) place(p *Place, before int) {
	w.int(p.Line - before)
	w.int(p.Scope)
	if p.Content == p.Note.ID {
		w.count(0)
	} else {
		w.count(1 + len(p.Content))
		w.b = append(w.b, p.Content...)
	}
	switch at := strings.Index(p.Content, p.ContentText); {
	case p.ContentText == p.Content:
		w.count(0)
	case at < 0:
		w.count(1)
		w.raw(p.ContentText)
	default:
		w.count(2 + at)
		w.count(len(p.ContentText))
	}
}

func (w *imageWriter) refs(all []Ref) {
	w.count(len(all))
	line := 0
	for _, r := range all {
		w.flags(r.InField, r.Bare)
		w.mention(r.Mention)
		w.text(r.Field)
		w.int(r.Line - line)
		w.int(r.Position)
		w.int(r.Scope)
		line = r.Line
	}
}

func (w *imageWriter) tags(all []Tag) {
	w.count(len(all))
	for _, t := range all {
		w.text(t.Name)
		w.int(t.Line)
		w.int(t.Scope)
	}
}

// callings writes names with their kinds, as entries have them.
func (w *imageWriter) callings(all []calling) {
	w.count(len(all))
	for _, c := range all {
		w.text(c.kind.name(c.name))
		w.int(int(c.section))
	}
}
