package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A pool numbers values that are shared by many owners, such as Times. Values with equal content
// have the same number, whether or not they have the same pointer, so that equal indexes have equal
// images. The first value has number 0. records has the content of each value, in the order of
// their numbers; it becomes a part of the image.
type pool[T any] struct {
	numbers map[string]int // by record
	seen    map[*T]int     // numbers of the pointers that were looked up before
	records []byte
}

// newPool returns an empty pool.
func newPool[T any]() pool[T] { return pool[T]{numbers: map[string]int{}, seen: map[*T]int{}} }

// writeShared writes the number of v. The function record writes the content of v; it is called
// only if the pointer v is new to the pool. The content is written behind the present piece, moved
// to the pool if it is new, and removed from the piece again.
func writeShared[T any](w *imageWriter, p *pool[T], v *T, record func(*T)) {
	n, known := p.seen[v]
	if !known {
		start := len(w.b)
		record(v)
		n = p.number(w.b[start:])
		w.b, p.seen[v] = w.b[:start], n
	}
	w.count(n)
}

// number returns the number of a record, and appends the record to the pool if it is new.
func (p *pool[T]) number(record []byte) int {
	n, known := p.numbers[string(record)]
	if !known {
		n = len(p.numbers)
		p.numbers[string(record)] = n
		p.records = append(p.records, record...)
	}
	return n
}

// timesOf writes the number of a Times.
func (w *imageWriter) timesOf(t *Times) {
	writeShared(w, &w.times, t, func(t *Times) {
		w.time(t.Created)
		w.time(t.Modified)
	})
}

// mention writes the number of a Mention.
func (w *imageWriter) mention(m *Mention) {
	writeShared(w, &w.mentions, m, func(m *Mention) {
		w.raw(m.Target)
		w.raw(m.Display)
		w.text(m.name)
	})
}

// traitValue writes the number of a TraitValue.
func (w *imageWriter) traitValue(s *TraitValue) {
	writeShared(w, &w.traitValues, s, func(s *TraitValue) {
		w.flags(s.Defined, s.Task)
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

// The tags of values of fields and annotations in an image.
const (
	valueNone byte = iota
	valueFalse
	valueTrue
	valueText
	valueRef
	valueNumber
	valueList
	valueNested
)

// value writes a value of one of the types that markdown.Entry can have. It panics for any other
// type.
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
	case markdown.Nested:
		w.b = append(w.b, valueNested)
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
