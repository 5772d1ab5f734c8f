package index

import (
	"fmt"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A pool contains the distinct values of a type that many owners share, such as Times. An image has
// them in a part of their own, and their owners only have their numbers. Values with equal content
// have the same number, whether or not they have the same pointer, so that equal indexes have equal
// images. The first value has number 0.
type pool[T any] struct {
	record func(*coder, *T) // codes the content of a value

	numbers map[string]int // by encoded record
	seen    map[*T]int     // numbers of the pointers that were encoded before
	records []byte         // the part of the image

	values []T // of a decoder, by number
}

// pools are the pools of an index.
type pools struct {
	times       pool[Times]
	mentions    pool[Mention]
	traitValues pool[TraitValue]
}

// newPools returns empty pools.
func newPools() pools {
	return pools{newPool((*coder).timesRecord), newPool((*coder).mentionRecord), newPool((*coder).traitValueRecord)}
}

// newPool returns an empty pool of values whose content record codes.
func newPool[T any](record func(*coder, *T)) pool[T] {
	return pool[T]{record: record, numbers: map[string]int{}, seen: map[*T]int{}}
}

// code codes the number of a value. An encoder adds a new value to the pool: its record is encoded
// behind the present piece, moved to the pool, and removed from the piece again. A decoder sets the
// pointer to the value, or to nil after a failure.
func (p *pool[T]) code(c *coder, v **T) {
	n := 0
	if c.w != nil {
		n = p.number(c, *v)
	}
	if c.Index(&n, len(p.values)); c.r != nil && !c.Failed() {
		*v = &p.values[n]
	}
}

// number returns the number of a value, and appends the value to the pool if it is new.
func (p *pool[T]) number(c *coder, v *T) int {
	n, known := p.seen[v]
	if known {
		return n
	}
	start := len(c.Out)
	p.record(c, v)
	record := c.Out[start:]
	if n, known = p.numbers[string(record)]; !known {
		n = len(p.numbers)
		p.numbers[string(record)] = n
		p.records = append(p.records, record...)
	}
	c.Out, p.seen[v] = c.Out[:start], n
	return n
}

// read decodes the part of the image, whose records have about size bytes each. The part has no
// count: it ends with the last record.
func (p *pool[T]) read(c *coder, size int) {
	p.values = make([]T, 0, c.Left()/size)
	for c.Left() > 0 {
		p.values = append(p.values, *new(T))
		p.record(c, &p.values[len(p.values)-1])
	}
	p.values = clip(p.values)
}

// clip returns list without its unused capacity, if that is more than an eighth of the whole.
func clip[T any](list []T) []T {
	if room := cap(list) - len(list); room <= cap(list)/8 {
		return list
	}
	return append(make([]T, 0, len(list)), list...)
}

// times, mention and traitValue code shared values.
func (c *coder) times(t **Times)           { c.pools.times.code(c, t) }
func (c *coder) mention(m **Mention)       { c.pools.mentions.code(c, m) }
func (c *coder) traitValue(v **TraitValue) { c.pools.traitValues.code(c, v) }

// timesRecord codes the content of a Times.
func (c *coder) timesRecord(t *Times) { c.Time(&t.Created, &t.Modified) }

// mentionRecord codes the content of a Mention.
func (c *coder) mentionRecord(m *Mention) {
	c.Text(&m.Target, &m.Display)
	c.word(&m.name)
}

// traitValueRecord codes the content of a TraitValue.
func (c *coder) traitValueRecord(s *TraitValue) {
	c.Flags(&s.Defined, &s.Task)
	c.word(&s.Type)
	c.Text(&s.Raw)
	c.value(&s.value, maxNesting)
	c.word(&s.entry)
	c.days(&s.days)
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

// valueTag returns the tag of a value of one of the types that markdown.Entry can have. It panics for
// any other type.
func valueTag(v any) byte {
	switch v := v.(type) {
	case nil:
		return valueNone
	case bool:
		if v {
			return valueTrue
		}
		return valueFalse
	case string:
		return valueText
	case markdown.Ref:
		return valueRef
	case markdown.Nested:
		return valueNested
	case float64:
		return valueNumber
	case []any:
		return valueList
	}
	panic(fmt.Sprintf("index: a field of type %T", v))
}

// maxNesting is the largest depth of lists in lists. No text that is parsed has deeper ones.
const maxNesting = 10_000

// value codes a value: its tag and its content. Lists in it can be nested to this depth; a decoder
// fails for a deeper one.
func (c *coder) value(v *any, depth int) {
	tag := valueTag(*v)
	c.Byte(&tag)
	switch tag {
	case valueNone:
		setValue[any](c, v, nil)
	case valueFalse, valueTrue:
		setValue(c, v, tag == valueTrue)
	case valueText:
		c.Value(v, textOfValue(*v), func(s string) any { return s })
	case valueRef:
		c.Value(v, textOfValue(*v), func(s string) any { return markdown.Ref(s) })
	case valueNested:
		c.Value(v, textOfValue(*v), func(s string) any { return markdown.Nested(s) })
	case valueNumber:
		n, _ := (*v).(float64)
		c.Float(&n)
		setValue(c, v, n)
	case valueList:
		list, _ := (*v).([]any)
		c.list(&list, depth-1)
		setValue(c, v, list)
	default:
		c.Fail()
	}
}

// setValue sets a decoded value.
func setValue[T any](c *coder, v *any, to T) {
	if c.Decodes() {
		*v = to
	}
}

// textOfValue returns the text of a value that is one; "" for any other value.
func textOfValue(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case markdown.Ref:
		return string(v)
	case markdown.Nested:
		return string(v)
	}
	return ""
}

// list codes a list in which lists can be nested to this depth. An empty one is not nil.
func (c *coder) list(all *[]any, depth int) {
	if depth < 0 {
		c.Fail()
		return
	}
	n := c.Count(len(*all), 1)
	if c.Decodes() {
		*all = make([]any, n)
	}
	for i := range *all {
		c.value(&(*all)[i], depth)
	}
}
