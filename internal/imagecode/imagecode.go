// Package imagecode encodes and decodes images, which are serialized indexes. A record is described
// once, for both directions: by a function that passes the addresses of its members to a Coder, in
// the order in which they are stored. Numbers are varints, and a text is its length and its bytes.
package imagecode

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/tidwall/btree"
)

// A Coder encodes values into Out or, if NewDecoder returned it, decodes them from an image. Its
// methods take the addresses of values. An encoder only reads these values, so they can be shared
// with other goroutines; a decoder sets them. At the first invalid input a decoder fails; after
// that it sets zero values, so callers need not check each call. The zero value is an encoder. A
// Coder must be used by one goroutine at a time.
type Coder struct {
	Out []byte // the image so far; only of an encoder

	decodes bool
	in      string // the image; only of a decoder
	at      int
	failed  bool
	owned   owned
}

// NewDecoder returns a Coder that decodes an image. Texts that it decodes share the image's memory,
// except between Own and EndOwn.
func NewDecoder(image string) Coder { return Coder{decodes: true, in: image} }

// Next makes a decoder decode another image. It keeps its memory for the texts of records.
func (c *Coder) Next(image string) { c.in, c.at, c.failed = image, 0, false }

// Decodes reports whether the Coder decodes.
func (c *Coder) Decodes() bool { return c.decodes }

// Fail records that the image is damaged, and moves to its end.
func (c *Coder) Fail() { c.failed, c.at = true, len(c.in) }

// Failed reports whether the image is known to be damaged.
func (c *Coder) Failed() bool { return c.failed }

// Left returns the number of bytes of the image that are not decoded yet.
func (c *Coder) Left() int { return len(c.in) - c.at }

// Done reports whether the whole image was decoded without failure.
func (c *Coder) Done() bool { return !c.failed && c.at == len(c.in) }

// read decodes an unsigned varint.
func (c *Coder) read() uint64 {
	var v uint64
	for shift := 0; c.at < len(c.in) && shift < 64; shift += 7 {
		b := c.in[c.at]
		c.at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	c.Fail()
	return 0
}

// readBelow decodes an unsigned number that must be less than n.
func (c *Coder) readBelow(n uint64) uint64 {
	v := c.read()
	if v >= n {
		c.Fail()
		return 0
	}
	return v
}

// write encodes an unsigned varint.
func (c *Coder) write(v uint64) { c.Out = binary.AppendUvarint(c.Out, v) }

// Uint codes unsigned numbers.
func (c *Coder) Uint(all ...*uint64) {
	for _, v := range all {
		if c.decodes {
			*v = c.read()
		} else {
			c.write(*v)
		}
	}
}

// Natural codes numbers that must not be negative.
func (c *Coder) Natural(all ...*int) {
	for _, v := range all {
		if c.decodes {
			*v = int(c.readBelow(math.MaxInt + 1))
		} else {
			c.write(uint64(*v))
		}
	}
}

// Int codes numbers that can be negative.
func (c *Coder) Int(all ...*int) {
	for _, v := range all {
		n := int64(*v)
		c.Int64(&n)
		if c.decodes {
			*v = int(n)
		}
	}
}

// Int64 codes numbers that can be negative, in the zigzag form of binary.AppendVarint.
func (c *Coder) Int64(all ...*int64) {
	for _, v := range all {
		if c.decodes {
			n := c.read()
			*v = int64(n>>1) ^ -int64(n&1)
		} else {
			c.Out = binary.AppendVarint(c.Out, *v)
		}
	}
}

// Index codes a position in a list of n elements. An encoder does not use n.
func (c *Coder) Index(v *int, n int) {
	if c.decodes {
		*v = int(c.readBelow(uint64(n)))
	} else {
		c.write(uint64(*v))
	}
}

// Delta codes a number as the difference to the one before it, and sets last to the number.
func (c *Coder) Delta(v, last *int) {
	n := *v - *last
	c.Int(&n)
	if c.decodes {
		*v = *last + n
	}
	*last = *v
}

// Count codes the number of elements that follow, of at least size bytes each, and returns it. An
// encoder returns n. A decoder fails if the rest of the image is too short for the elements, so
// that a damaged image cannot cause a large allocation.
func (c *Coder) Count(n, size int) int {
	c.Index(&n, c.Left()/size+1)
	return n
}

// Raw codes bytes whose number both sides know.
func (c *Coder) Raw(b []byte) {
	if c.decodes {
		copy(b, c.take(len(b)))
	} else {
		c.Out = append(c.Out, b...)
	}
}

// Sized codes a text of n bytes, without its length.
func (c *Coder) Sized(s *string, n int) {
	if c.decodes {
		*s = c.take(n)
		c.owned.add(s)
	} else {
		c.Out = append(c.Out, *s...)
	}
}

// take decodes n bytes. The result shares the memory of the image.
func (c *Coder) take(n int) string {
	if n > c.Left() {
		c.Fail()
		return ""
	}
	c.at += n
	return c.in[c.at-n : c.at]
}

// Text codes texts.
func (c *Coder) Text(all ...*string) {
	for _, s := range all {
		n := len(*s)
		c.Natural(&n)
		c.Sized(s, n)
	}
}

// Byte codes one byte.
func (c *Coder) Byte(b *byte) {
	if !c.decodes {
		c.Out = append(c.Out, *b)
		return
	}
	*b = 0
	if s := c.take(1); s != "" {
		*b = s[0]
	}
}

// Flags codes up to eight booleans as one byte; the first one is the lowest bit.
func (c *Coder) Flags(all ...*bool) {
	bits := byte(0)
	if !c.decodes {
		for i, set := range all {
			if *set {
				bits |= 1 << i
			}
		}
	}
	c.Byte(&bits)
	if c.decodes {
		for i, set := range all {
			*set = bits&(1<<i) != 0
		}
	}
}

// Float codes a floating-point number.
func (c *Coder) Float(v *float64) {
	if !c.decodes {
		c.Out = binary.LittleEndian.AppendUint64(c.Out, math.Float64bits(*v))
		return
	}
	*v = 0
	if bits := c.take(8); bits != "" {
		*v = math.Float64frombits(binary.LittleEndian.Uint64([]byte(bits)))
	}
}

// Time codes times as seconds and nanoseconds. A decoder sets them in UTC.
func (c *Coder) Time(all ...*time.Time) {
	for _, t := range all {
		if c.decodes {
			var seconds int64
			c.Int64(&seconds)
			*t = time.Unix(seconds, int64(c.readBelow(1e9))).UTC()
		} else {
			c.Out = binary.AppendVarint(c.Out, t.Unix())
			c.write(uint64(t.Nanosecond()))
		}
	}
}

// Set codes whether a pointer is set, and reports it. A decoder sets it to a zero value.
func Set[T any](c *Coder, p **T) bool {
	set := *p != nil
	if c.Flags(&set); set && c.decodes {
		*p = new(T)
	}
	return set
}

// List codes the length of a list whose elements have at least size bytes each, and returns the
// list. Its elements must be coded next. A decoder makes the list; an empty list is nil.
func List[T any](c *Coder, list *[]T, size int) []T {
	n := c.Count(len(*list), size)
	if !c.decodes {
		return *list
	}
	if *list = nil; n > 0 {
		*list = make([]T, n)
	}
	return *list
}

// Map codes a map whose entries have at least size bytes each, in the order of the keys, so that
// equal maps have equal images. entry codes one entry, and must not keep the addresses. A decoder
// sets an empty map to nil. Between Own and EndOwn each text has memory of its own.
func Map[K cmp.Ordered, V any](c *Coder, m *map[K]V, size int, entry func(*K, *V)) {
	n := c.Count(len(*m), size)
	if c.decodes {
		*m = nil
	}
	if n == 0 {
		return
	}
	var k K
	var v V
	if !c.decodes {
		for _, k = range slices.Sorted(maps.Keys(*m)) {
			v = (*m)[k]
			entry(&k, &v)
		}
		return
	}
	*m = make(map[K]V, n)
	mode := c.owned.split()
	for range n {
		if entry(&k, &v); c.failed {
			return
		}
		(*m)[k] = v
	}
	c.owned.mode = mode
}

// Tree codes a tree, as Map codes a map. A decoder adds the entries to the tree, which must come in
// the order of their keys; entry gets zero values.
func Tree[V any](c *Coder, t *btree.Map[string, V], size int, entry func(*string, *V)) {
	var k string
	var v, zero V
	n := c.Count(t.Len(), size)
	if !c.decodes {
		t.Scan(func(key string, value V) bool {
			k, v = key, value
			entry(&k, &v)
			return true
		})
		return
	}
	mode := c.owned.split()
	for range n {
		k, v = "", zero
		if entry(&k, &v); c.failed {
			return
		}
		t.Load(k, v)
	}
	c.owned.mode = mode
}
