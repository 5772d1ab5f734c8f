package memory

import (
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// An Index contains the memories of a vault at one version, with their links, agents, chapters
// and wisdom. It is immutable, except as Clone and Apply allow, and can be used concurrently. Use
// Empty to create one.
//
// Deleting a memory does not delete chapters that were made of it, nor links of other memories that
// lead to it.
type Index struct {
	cards    tree[*Card]
	links    tree[*Edges] // by source
	agents   tree[*Item[Agent]]
	chapters tree[*Item[Chapter]]
	wisdom   tree[*Item[Wisdom]]
	tallies  tree[Tally] // by agent
	entries  btree.BTreeG[entry]

	cardBytes int64 // approximate size of the cards, in bytes
}

// A tree is a map sorted by key. Its copies are copy-on-write.
type tree[V any] = btree.Map[string, V]

// An Item is an item that the index keeps with its whole value.
type Item[T any] struct {
	origin

	ID    string
	Value T
}

// Edges are the outgoing links of a memory.
type Edges struct {
	origin
	Links
}

// A Tally contains statistics on the memories of an agent. Deleting a memory does not change Last.
type Tally struct {
	Memories, Successes int
	Last                int64 // last time one was stored or changed, in Unix milliseconds
}

// A kind is the first byte of the name of an entry. It is part of the format of images.
type kind byte

// The kinds of names, with the text that follows.
const (
	byAgent      kind = 'a'
	byFileEnd    kind = 'b' // the path with its segments reversed
	byFile       kind = 'f'
	byTag        kind = 'g'
	byKey        kind = 'k' // the principal, NUL, the key
	byLink       kind = 'l' // kind of the link, NUL, target; the entry is of the source
	byAll        kind = 'm'
	byTask       kind = 't'
	agentByAge   kind = 'A'
	allByAge     kind = 'C'
	sessionByAge kind = 'S' // the agent, NUL, the session
)

// ranked reports whether the entries of a kind are sorted by rank; otherwise they are sorted by
// age.
func (k kind) ranked() bool {
	return k != byLink && k != agentByAge && k != allByAge && k != sessionByAge
}

// An entry is a lookup key of a memory. Entries with the same name are sorted by the rank or by
// the age of their memories.
//
// The tree of entries answers lookups by a range scan: all entries with a name are adjacent.
type entry struct {
	name string
	card *Card // nil: sorts before all entries with the same name
}

// last sorts after all cards of a name that is sorted by age.
var last = &Card{Created: math.MaxInt64, Birth: math.MaxUint64, ID: "\xff"}

// less reports whether an entry sorts before another one.
func (e entry) less(o entry) bool {
	switch c := strings.Compare(e.name, o.name); {
	case c != 0:
		return c < 0
	// nil is the start of a range.
	case e.card == nil || o.card == nil:
		return e.card == nil && o.card != nil
	case e.card == o.card:
		return false
	case kind(e.name[0]).ranked():
		return ByRank(e.card, o.card) < 0
	}
	return ByAge(e.card, o.card) < 0
}

// degree is the minimum number of entries in a node of a tree, plus one. It is small because each
// change copies one node of each level.
const degree = 16

// Empty returns the index of a vault without memories.
func Empty() *Index {
	return &Index{
		entries: *btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true, Degree: degree}),
	}
}

// Len returns the number of memories.
func (x *Index) Len() int { return x.cards.Len() }

// IsEmpty reports whether the index has no items and no tallies.
func (x *Index) IsEmpty() bool {
	return x.cards.Len()+x.links.Len()+x.agents.Len()+x.chapters.Len()+x.wisdom.Len()+x.tallies.Len() == 0
}

// Size returns the approximate memory use of the cards and their entries, in bytes.
func (x *Index) Size() int64 { return x.cardBytes }

// Card returns the card of a memory; false if there is none.
func (x *Index) Card(id string) (*Card, bool) { return x.cards.Get(id) }

// Agent returns the record of an agent; false if there is none.
func (x *Index) Agent(id string) (*Item[Agent], bool) { return x.agents.Get(id) }

// Agents yields the agents, sorted by id.
func (x *Index) Agents() iter.Seq[*Item[Agent]] { return values(&x.agents) }

// Tally returns the tally of an agent; the zero value if it has none.
func (x *Index) Tally(agent string) Tally {
	t, _ := x.tallies.Get(agent)
	return t
}

// Chapter returns a chapter; false if there is none.
func (x *Index) Chapter(id string) (*Item[Chapter], bool) { return x.chapters.Get(id) }

// Chapters yields the chapters, sorted by id.
func (x *Index) Chapters() iter.Seq[*Item[Chapter]] { return values(&x.chapters) }

// Wisdom returns an item of wisdom; false if there is none.
func (x *Index) Wisdom(id string) (*Item[Wisdom], bool) { return x.wisdom.Get(id) }

// AllWisdom yields all items of wisdom, sorted by id.
func (x *Index) AllWisdom() iter.Seq[*Item[Wisdom]] { return values(&x.wisdom) }

// values yields the values of a tree, sorted by key.
func values[V any](t *tree[V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		t.Scan(func(_ string, v V) bool { return yield(v) })
	}
}

// Cards yields the cards with ids greater than after, sorted by id.
func (x *Index) Cards(after string) iter.Seq[*Card] {
	return func(yield func(*Card) bool) {
		x.cards.Ascend(after, func(id string, c *Card) bool { return id == after || yield(c) })
	}
}

// Links returns the outgoing links of a memory as they were stored; the zero value if it has
// none. Their targets can be deleted memories.
func (x *Index) Links(id string) *Edges {
	e, ok := x.links.Get(id)
	if !ok {
		return &Edges{}
	}
	return e
}

// Place returns the position of an item's value in the log, and the commit that last changed the
// item; false if there is no such item.
func (x *Index) Place(kind, id string) (at Place, version uint64, ok bool) {
	o, ok := x.origin(kind, id)
	return o.Place, o.Version, ok
}

// origin returns the origin of an item; false if there is none.
func (x *Index) origin(kind, id string) (origin, bool) {
	switch kind {
	case KindMemory:
		if c, ok := x.cards.Get(id); ok {
			return c.origin, true
		}
	case KindLinks:
		if e, ok := x.links.Get(id); ok {
			return e.origin, true
		}
	case KindAgent:
		return originOf(&x.agents, id)
	case KindChapter:
		return originOf(&x.chapters, id)
	case KindWisdom:
		return originOf(&x.wisdom, id)
	}
	return origin{}, false
}

// originOf returns the origin of an item in a tree; false if there is none.
func originOf[T any](t *tree[*Item[T]], id string) (origin, bool) {
	k, ok := t.Get(id)
	if !ok {
		return origin{}, false
	}
	return k.origin, true
}

// A Ref identifies an item.
type Ref struct{ Kind, ID string }

// At yields the items whose values are at any of the places. It scans all items.
func (x *Index) At(places map[Place]bool) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		// After yield has returned false, the following scans must not yield either.
		goesOn := true
		see := func(kind, id string, o origin) bool {
			goesOn = goesOn && (!places[o.Place] || yield(Ref{kind, id}))
			return goesOn
		}
		x.cards.Scan(func(id string, c *Card) bool { return see(KindMemory, id, c.origin) })
		x.links.Scan(func(id string, e *Edges) bool { return see(KindLinks, id, e.origin) })
		x.agents.Scan(func(id string, k *Item[Agent]) bool { return see(KindAgent, id, k.origin) })
		x.chapters.Scan(func(id string, k *Item[Chapter]) bool { return see(KindChapter, id, k.origin) })
		x.wisdom.Scan(func(id string, k *Item[Wisdom]) bool { return see(KindWisdom, id, k.origin) })
	}
}

// A Commit contains the changes of items in one commit of the log.
type Commit struct {
	Seq     uint64
	Time    int64 // Unix milliseconds
	Changes []Change
}

// A Change sets or deletes one item.
type Change struct {
	Kind, ID string
	Value    []byte // JSON; the index does not retain it
	Deleted  bool   // the item was deleted
	Place    Place  // of the value in the log
	Position int    // index among the items of the commit
}

// With returns the index after one more commit; x stays unchanged. It takes time in proportion to
// the changes. It skips unknown kinds, and values that are not valid JSON of their kind: values
// are validated before they are written.
func (x *Index) With(c Commit) *Index {
	y := x.Clone()
	y.Apply(c)
	return y
}

// Clone returns a copy that Apply can change as long as it is not shared.
func (x *Index) Clone() *Index {
	y := *x
	y.cards = *y.cards.Copy()
	y.links = *y.links.Copy()
	y.agents = *y.agents.Copy()
	y.chapters = *y.chapters.Copy()
	y.wisdom = *y.wisdom.Copy()
	y.tallies = *y.tallies.Copy()
	y.entries = *y.entries.Copy()
	return &y
}

// Apply applies a commit in place. The index must have been returned by Clone or Empty, and must
// not be shared yet. It skips what With skips.
//
// Commits must be applied in the order of their sequence numbers.
func (x *Index) Apply(c Commit) {
	for _, ch := range c.Changes {
		at := origin{ch.Place, c.Seq}
		switch ch.Kind {
		case KindMemory:
			x.applyMemory(c, ch, at)
		case KindLinks:
			x.applyLinks(ch, at)
		case KindAgent:
			applyItem(&x.agents, ch, at)
		case KindChapter:
			applyItem(&x.chapters, ch, at)
		case KindWisdom:
			applyItem(&x.wisdom, ch, at)
		}
	}
}

// applyMemory applies a change of a memory.
//
// A value that is not valid JSON leaves the memory as it was.
func (x *Index) applyMemory(c Commit, ch Change, at origin) {
	old, existed := x.cards.Get(ch.ID)
	// Unless the commit deletes them too, the links of a deleted memory stay in x.links without
	// entries. They get entries again if the memory is restored.
	if ch.Deleted {
		if existed {
			x.relink(ch.ID, nil)
			x.removeEntries(old)
			x.cards.Delete(ch.ID)
		}
		return
	}
	// An updated memory keeps its birth.
	birth := birthOf(c.Seq, ch.Position)
	if existed {
		birth = old.Birth
	}
	card, err := newCard(ch.ID, ch.Value, at, birth)
	if err != nil {
		return
	}
	x.swap(old, card)
	// Only Last is set here; swap has counted the card.
	t := x.Tally(card.Agent)
	t.Last = max(t.Last, c.Time)
	x.tallies.Set(card.Agent, t)
}

// swap replaces the card old, which is nil if the memory is new, in all trees. It deletes an old
// entry only if the new card does not replace it.
//
// It also updates the tallies and the size, and adds the entries of the links of a new card.
func (x *Index) swap(old, card *Card) {
	came := card.names()
	if old != nil {
		// Entries are ordered by Importance, Created, Birth and ID, of which an update changes
		// only the importance. So an entry that keeps its place is replaced by Set.
		moved := old.Importance != card.Importance
		for _, n := range old.names() {
			if moved && n.kind.ranked() || !slices.Contains(came, n) {
				x.entries.Delete(n.entry(old))
			}
		}
		x.cardBytes -= old.size()
		x.count(old, -1)
	}
	for _, n := range came {
		x.entries.Set(n.entry(card))
	}
	x.cards.Set(card.ID, card)
	x.cardBytes += card.size()
	x.count(card, 1)
	if e, linked := x.links.Get(card.ID); linked {
		x.addLinkEntries(card, e.Links)
	}
}

// removeEntries removes the entries of a card, except those of links, and its part of the tally.
func (x *Index) removeEntries(c *Card) {
	for _, n := range c.names() {
		x.entries.Delete(n.entry(c))
	}
	x.cardBytes -= c.size()
	x.count(c, -1)
}

// count adds by, which is 1 or -1, for a card to the tally of its agent.
func (x *Index) count(c *Card, by int) {
	t := x.Tally(c.Agent)
	t.Memories += by
	if c.Outcome.Success {
		t.Successes += by
	}
	x.tallies.Set(c.Agent, t)
}

// applyLinks applies a change of the outgoing links of a memory.
func (x *Index) applyLinks(ch Change, at origin) {
	if ch.Deleted {
		x.relink(ch.ID, nil)
		x.links.Delete(ch.ID)
		return
	}
	e := &Edges{origin: at}
	if json.Unmarshal(ch.Value, &e.Links) == nil {
		x.relink(ch.ID, e)
		x.links.Set(ch.ID, e)
	}
}

// relink replaces the entries for the outgoing links of a memory; now is nil if it has none any
// more. It does nothing if the memory does not exist.
func (x *Index) relink(id string, now *Edges) {
	card, ok := x.cards.Get(id)
	if !ok {
		return // swap adds the entries when the memory is added
	}
	if old, had := x.links.Get(id); had {
		for kind, targets := range old.each() {
			for _, target := range targets {
				x.entries.Delete(linkName(kind, target).entry(card))
			}
		}
	}
	if now != nil {
		x.addLinkEntries(card, now.Links)
	}
}

// addLinkEntries adds the entries for the outgoing links of a memory.
func (x *Index) addLinkEntries(card *Card, l Links) {
	for kind, targets := range l.each() {
		for _, target := range targets {
			x.entries.Set(linkName(kind, target).entry(card))
		}
	}
}

// linkName returns the name of the entries of memories that have a link of a kind to target.
func linkName(kind, target string) name { return name{byLink, kind + "\x00" + target} }

// applyItem applies a change of an item that the index keeps whole.
func applyItem[T any](t *tree[*Item[T]], ch Change, at origin) {
	if ch.Deleted {
		t.Delete(ch.ID)
		return
	}
	k := &Item[T]{origin: at, ID: ch.ID}
	if json.Unmarshal(ch.Value, &k.Value) == nil {
		t.Set(ch.ID, k)
	}
}
