package memory

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/tidwall/btree"
)

// errDamaged is the error for data that is not a valid image.
var errDamaged = errors.New("the image of the memories is damaged")

// AppendImage appends the image of the index to b and returns the result. The image of an empty
// index is empty. Equal states have equal images, byte for byte, whatever commits and images led
// to them. The image has no checksum and no format number: it is a part of the image of the
// vault, which has them.
//
// It contains, in this order: the cards, sorted by id; the names of the entries, in order, each
// with the numbers of its cards; and the links, agents, chapters, wisdom and tallies, each sorted
// by id. Numbers are varints; a text is its length and its bytes.
//
//	cards      count, then each card
//	entries    count of names, then each name with the count and the numbers of its cards
//	links      count, then each id, origin and lists of targets, in the order of LinkKinds
//	agents     count, then each id, origin and value as JSON
//	chapters   likewise
//	wisdom     likewise
//	tallies    count, then each agent, memories, successes and last time
func (x *Index) AppendImage(b []byte) []byte {
	if x.IsEmpty() {
		return b
	}
	w := imageWriter{b: b, numbers: make(map[string]int, x.cards.Len())}
	w.count(x.cards.Len())
	// Entries refer to cards by their position in this order.
	x.cards.Scan(func(id string, c *Card) bool {
		w.numbers[id] = len(w.numbers)
		w.card(c)
		return true
	})
	w.entries(x)
	w.count(x.links.Len())
	x.links.Scan(func(id string, e *Edges) bool {
		w.text(id)
		w.origin(e.origin)
		for _, kind := range LinkKinds() {
			w.texts(*e.Of(kind))
		}
		return true
	})
	writeItems(&w, &x.agents)
	writeItems(&w, &x.chapters)
	writeItems(&w, &x.wisdom)
	w.count(x.tallies.Len())
	x.tallies.Scan(func(agent string, t Tally) bool {
		w.text(agent)
		w.count(t.Memories)
		w.count(t.Successes)
		w.int(t.Last)
		return true
	})
	return w.b
}

// An imageWriter appends an image to b.
type imageWriter struct {
	b       []byte
	numbers map[string]int // card numbers, by id
}

// uint, int and count append a number as a varint.
func (w *imageWriter) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }
func (w *imageWriter) int(n int64)   { w.b = binary.AppendVarint(w.b, n) }
func (w *imageWriter) count(n int)   { w.uint(uint64(n)) } //nolint:gosec // it counts

// text appends the length and the bytes of a text.
func (w *imageWriter) text(s string) {
	w.count(len(s))
	w.b = append(w.b, s...)
}

// texts appends the number of texts, and the texts.
func (w *imageWriter) texts(list []string) {
	w.count(len(list))
	for _, s := range list {
		w.text(s)
	}
}

// flags appends a byte with the flags as bits, the first one lowest.
func (w *imageWriter) flags(all ...bool) {
	bits := byte(0)
	for i, set := range all {
		if set {
			bits |= 1 << i
		}
	}
	w.b = append(w.b, bits)
}

// origin appends an origin.
func (w *imageWriter) origin(o origin) {
	w.uint(o.Place.Run)
	w.count(o.Place.Part)
	w.uint(o.Version)
}

// card appends a card.
//
// The order of the fields is part of the format, as are the bits of the flags.
func (w *imageWriter) card(c *Card) {
	w.text(c.ID)
	w.origin(c.origin)
	w.uint(c.Birth)
	w.flags(c.Imported, c.Outcome.Success, c.Outcome.VerifiedBy != nil)
	for _, s := range []string{c.Agent, c.By, c.Principal, c.Session, c.Key, c.Goal, c.TaskType} {
		w.text(s)
	}
	w.int(c.Created)
	w.int(c.Updated)
	w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(c.Importance))
	w.count(c.Times)
	w.texts(c.Tags)
	w.count(len(c.Files))
	for _, f := range c.Files {
		w.text(f.Path)
		w.b = append(w.b, byte(f.Uses))
	}
	o := &c.Outcome
	for _, s := range []string{o.Summary, o.FailureReason, o.FailureCategory} {
		w.text(s)
	}
	w.texts(o.Learnings)
	w.texts(o.FollowUpNeeded)
	if v := o.VerifiedBy; v != nil {
		w.text(v.Type)
		w.text(v.Command)
		w.text(v.Result)
	}
}

// entries appends each name with the numbers of the cards of its entries. It includes the entries
// of links.
func (w *imageWriter) entries(x *Index) {
	var names int
	var list []byte
	last, members := "", []int{}
	flush := func() {
		if len(members) == 0 {
			return
		}
		names++
		// The number of names must come first, so the names are written to a list of their own.
		inner := imageWriter{b: list}
		inner.text(last)
		inner.count(len(members))
		for _, n := range members {
			inner.count(n)
		}
		list, members = inner.b, members[:0]
	}
	x.entries.Scan(func(e entry) bool {
		if e.name != last {
			flush()
			last = e.name
		}
		members = append(members, w.numbers[e.card.ID])
		return true
	})
	flush()
	w.count(names)
	w.b = append(w.b, list...)
}

// writeItems appends items of a kind that the index keeps whole.
func writeItems[T any](w *imageWriter, t *tree[*Item[T]]) {
	w.count(t.Len())
	t.Scan(func(id string, k *Item[T]) bool {
		w.text(id)
		w.origin(k.origin)
		data, err := json.Marshal(k.Value)
		if err != nil {
			panic(err) // impossible: the value was parsed from JSON
		}
		w.text(string(data))
		return true
	})
}

// ReadImage returns the index of an image. The strings of the index share the memory of data.
// Damaged data is an error, and reading it allocates at most a few hundred times its length.
//
// An empty image is that of an empty index.
func ReadImage(data string) (*Index, error) {
	x := Empty()
	if data == "" {
		return x, nil
	}
	r := &imageReader{s: data}
	cards := r.cards(x)
	r.entries(x, cards)
	r.links(x)
	readItems(r, &x.agents)
	readItems(r, &x.chapters)
	readItems(r, &x.wisdom)
	for range r.count(4) {
		agent := r.text()
		x.tallies.Set(agent, Tally{r.natural(), r.natural(), r.int()})
	}
	if r.failed || r.s != "" {
		return nil, errDamaged
	}
	x.compact()
	return x, nil
}

// compact frees the unused capacity of the trees. Filling a tree in order leaves each node that was
// split with twice the capacity that it needs; a copy of a node has no unused capacity.
//
// ScanMut after Copy copies every node.
func (x *Index) compact() {
	x.entries = *x.entries.Copy()
	x.entries.ScanMut(func(entry) bool { return true })
	x.cards = *x.cards.Copy()
	x.cards.ScanMut(func(string, *Card) bool { return true })
}

// An imageReader reads the output of an imageWriter. After the first error, failed is set, and
// all reads return zero values.
type imageReader struct {
	s      string
	failed bool
}

// fail records an error and drops the rest of the data.
func (r *imageReader) fail() { r.s, r.failed = "", true }

// uint reads an unsigned varint.
func (r *imageReader) uint() uint64 {
	var v uint64
	for i := 0; i < len(r.s) && i < binary.MaxVarintLen64; i++ {
		b := r.s[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.s = r.s[i+1:]
			return v
		}
	}
	r.fail()
	return 0
}

// int reads a signed varint.
func (r *imageReader) int() int64 {
	v := r.uint()
	return int64(v>>1) ^ -int64(v&1) //nolint:gosec // how a varint is read
}

// natural reads an unsigned varint that must be at most math.MaxInt32.
func (r *imageReader) natural() int {
	v := r.uint()
	if v > math.MaxInt32 {
		r.fail()
		return 0
	}
	return int(v)
}

// count reads the number of elements that follow. size is the minimum size of an element in
// bytes: a count that the rest of the data cannot contain is an error, so that damaged data does
// not cause a large allocation.
func (r *imageReader) count(size int) int {
	v := r.uint()
	if v > uint64(len(r.s)/size) { //nolint:gosec // a length
		r.fail()
		return 0
	}
	return int(v) //nolint:gosec // see above
}

// bytes reads n bytes.
func (r *imageReader) bytes(n int) string {
	if n > len(r.s) {
		r.fail()
		return ""
	}
	s := r.s[:n]
	r.s = r.s[n:]
	return s
}

// text reads a text, which shares the memory of the image.
func (r *imageReader) text() string { return r.bytes(r.count(1)) }

// texts reads a list of texts; nil if it is empty.
func (r *imageReader) texts() []string {
	n := r.count(1)
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

// flags reads the byte that imageWriter.flags wrote.
func (r *imageReader) flags() byte {
	b := r.bytes(1)
	if b == "" {
		return 0
	}
	return b[0]
}

// origin reads an origin.
func (r *imageReader) origin() origin {
	return origin{Place{r.uint(), r.natural()}, r.uint()}
}

// cardBytes is the minimum size of a card in an image, in bytes.
const cardBytes = 30

// cards reads the cards, which must be sorted by id, into the index.
//
// It returns them in the order of their numbers, by which entries refer to them.
func (r *imageReader) cards(x *Index) []*Card {
	n := r.count(cardBytes)
	all := make([]*Card, 0, n)
	for range n {
		if r.failed {
			break
		}
		c := r.card()
		// Load requires ascending keys.
		if at := len(all); at > 0 && all[at-1].ID >= c.ID {
			r.fail()
			break
		}
		all = append(all, c)
		x.cards.Load(c.ID, c)
		x.cardBytes += c.size()
	}
	return all
}

// card reads a card.
func (r *imageReader) card() *Card {
	c := &Card{ID: r.text(), origin: r.origin(), Birth: r.uint()}
	flags := r.flags()
	c.Imported, c.Outcome.Success = flags&1 != 0, flags&2 != 0
	for _, s := range []*string{&c.Agent, &c.By, &c.Principal, &c.Session, &c.Key, &c.Goal, &c.TaskType} {
		*s = r.text()
	}
	c.Created, c.Updated = r.int(), r.int()
	if bits := r.bytes(8); bits != "" {
		c.Importance = math.Float64frombits(binary.LittleEndian.Uint64([]byte(bits)))
	}
	c.Times, c.Tags = r.natural(), r.texts()
	if n := r.count(2); n > 0 {
		c.Files = make([]FileUse, n)
	}
	for i := range c.Files {
		c.Files[i] = FileUse{r.text(), Uses(r.flags())}
	}
	o := &c.Outcome
	for _, s := range []*string{&o.Summary, &o.FailureReason, &o.FailureCategory} {
		*s = r.text()
	}
	o.Learnings, o.FollowUpNeeded = r.texts(), r.texts()
	if flags&4 != 0 {
		o.VerifiedBy = &Verification{r.text(), r.text(), r.text()}
	}
	return c
}

// entries reads the entries. They must be in order; so each one is added at the end of the tree,
// which is fast.
//
// An entry with the number of a missing card is an error.
func (r *imageReader) entries(x *Index, cards []*Card) {
	var before entry
	for range r.count(3) {
		name := r.text()
		if name == "" {
			r.fail()
			return
		}
		for range r.count(1) {
			n := r.natural()
			if n >= len(cards) {
				r.fail()
				return
			}
			e := entry{name, cards[n]}
			// This also excludes duplicates.
			if !before.less(e) {
				r.fail()
				return
			}
			x.entries.Load(e)
			before = e
		}
	}
}

// links reads the links.
func (r *imageReader) links(x *Index) {
	for range r.count(9) {
		id := r.text()
		e := &Edges{origin: r.origin(), Links: Links{V: Format}}
		for _, kind := range LinkKinds() {
			// Clip makes an append to the list copy it.
			*e.Of(kind) = slices.Clip(r.texts())
		}
		x.links.Load(id, e)
	}
}

// readItems reads the output of writeItems.
func readItems[T any](r *imageReader, t *btree.Map[string, *Item[T]]) {
	for range r.count(6) {
		k := &Item[T]{ID: r.text(), origin: r.origin()}
		if json.Unmarshal([]byte(r.text()), &k.Value) != nil {
			r.fail()
			return
		}
		t.Load(k.ID, k)
	}
}
