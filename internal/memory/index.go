package memory

import (
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/btree"
)

// An Index is all that is known of the memories of a vault at one version. Begin with Empty.
type Index struct {
	cards    tree[*Card]
	links    tree[*Edges] // by the memory that they go out from
	agents   tree[*Kept[Agent]]
	chapters tree[*Kept[Chapter]]
	wisdom   tree[*Kept[Wisdom]]
	tallies  tree[Tally] // by agent
	entries  btree.BTreeG[entry]

	held int64 // bytes that the cards take
}

// A tree holds values by key, and is copied on write.
type tree[V any] = btree.Map[string, V]

// A Kept is a value of an item, as it is in the index.
type Kept[T any] struct {
	origin

	ID    string
	Value T
}

// Edges are the links that go out from a memory.
type Edges struct {
	origin
	Links
}

// A Tally is what the memories of an agent add up to.
type Tally struct {
	Memories, Successes int
	Last                int64 // when one was stored or changed last, in Unix milliseconds; deleting changes nothing
}

// A kind is the first byte of the name of an entry.
type kind byte

// The kinds of names.
const (
	byAgent      kind = 'a'
	byFileEnd    kind = 'b' // the path, its segments reversed
	byFile       kind = 'f'
	byTag        kind = 'g'
	byKey        kind = 'k' // the principal, NUL, the key
	byLink       kind = 'l' // the kind of the link, NUL, the memory that it leads to; the entry is that of the source
	byAll        kind = 'm'
	byTask       kind = 't'
	agentByAge   kind = 'A'
	allByAge     kind = 'C'
	sessionByAge kind = 'S' // the agent, NUL, the session
)

// ranked reports whether the entries of a kind are sorted by rank.
func (k kind) ranked() bool {
	return k != byLink && k != agentByAge && k != allByAge && k != sessionByAge
}

// An entry says by what a memory is found. Entries of a name are sorted by the rank of the memory, or by its age.
type entry struct {
	name string
	card *Card // nil: an entry before all others of the name
}

// last is behind all cards of a name that is sorted by age.
var last = &Card{Created: math.MaxInt64, Birth: math.MaxUint64, ID: "\xff"}

func (e entry) less(o entry) bool {
	switch c := strings.Compare(e.name, o.name); {
	case c != 0:
		return c < 0
	case e.card == nil || o.card == nil:
		return e.card == nil && o.card != nil
	case e.card == o.card:
		return false
	case kind(e.name[0]).ranked():
		return ByRank(e.card, o.card) < 0
	}
	return ByAge(e.card, o.card) < 0
}

// degree is the smallest number of entries in a node of a tree, plus one: a change copies a node of each level,
// so they are small.
const degree = 16

// Empty is the index of a vault without memories.
func Empty() *Index {
	return &Index{
		entries: *btree.NewBTreeGOptions(entry.less, btree.Options{NoLocks: true, Degree: degree}),
	}
}

// Len is how many memories there are.
func (x *Index) Len() int { return x.cards.Len() }

// IsEmpty reports whether there is nothing at all.
func (x *Index) IsEmpty() bool {
	return x.cards.Len()+x.links.Len()+x.agents.Len()+x.chapters.Len()+x.wisdom.Len()+x.tallies.Len() == 0
}

// Size is about how many bytes of memory the index holds.
func (x *Index) Size() int64 { return x.held }

// Card is the card of a memory.
func (x *Index) Card(id string) (*Card, bool) { return x.cards.Get(id) }

// Agent is the record of an agent.
func (x *Index) Agent(id string) (*Kept[Agent], bool) { return x.agents.Get(id) }

// Agents yields the agents, by id.
func (x *Index) Agents() iter.Seq[*Kept[Agent]] { return values(&x.agents) }

// Tally is what the memories of an agent add up to.
func (x *Index) Tally(agent string) Tally {
	t, _ := x.tallies.Get(agent)
	return t
}

// Chapter is a chapter.
func (x *Index) Chapter(id string) (*Kept[Chapter], bool) { return x.chapters.Get(id) }

// Chapters yields the chapters, by id.
func (x *Index) Chapters() iter.Seq[*Kept[Chapter]] { return values(&x.chapters) }

// Wisdom is a piece of wisdom.
func (x *Index) Wisdom(id string) (*Kept[Wisdom], bool) { return x.wisdom.Get(id) }

// AllWisdom yields all wisdom, by id.
func (x *Index) AllWisdom() iter.Seq[*Kept[Wisdom]] { return values(&x.wisdom) }

func values[V any](t *tree[V]) iter.Seq[V] {
	return func(yield func(V) bool) {
		t.Scan(func(_ string, v V) bool { return yield(v) })
	}
}

// Cards yields the cards behind an id, by id.
func (x *Index) Cards(after string) iter.Seq[*Card] {
	return func(yield func(*Card) bool) {
		x.cards.Ascend(after, func(id string, c *Card) bool { return id == after || yield(c) })
	}
}

// Links are the links that go out from a memory as they were given; the zero value if there are none. Some may
// lead to memories that are gone.
func (x *Index) Links(id string) *Edges {
	e, ok := x.links.Get(id)
	if !ok {
		return &Edges{}
	}
	return e
}

// Place is where the value of an item is, and the commit that changed it last.
func (x *Index) Place(kind, id string) (at Place, version uint64, ok bool) {
	o, ok := x.origin(kind, id)
	return o.Place, o.Version, ok
}

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

func originOf[T any](t *tree[*Kept[T]], id string) (origin, bool) {
	k, ok := t.Get(id)
	if !ok {
		return origin{}, false
	}
	return k.origin, true
}

// A Ref names an item.
type Ref struct{ Kind, ID string }

// At yields the items whose values are at some places. It goes through all of them.
func (x *Index) At(places map[Place]bool) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		goesOn := true
		see := func(kind, id string, o origin) bool {
			goesOn = goesOn && (!places[o.Place] || yield(Ref{kind, id}))
			return goesOn
		}
		x.cards.Scan(func(id string, c *Card) bool { return see(KindMemory, id, c.origin) })
		x.links.Scan(func(id string, e *Edges) bool { return see(KindLinks, id, e.origin) })
		x.agents.Scan(func(id string, k *Kept[Agent]) bool { return see(KindAgent, id, k.origin) })
		x.chapters.Scan(func(id string, k *Kept[Chapter]) bool { return see(KindChapter, id, k.origin) })
		x.wisdom.Scan(func(id string, k *Kept[Wisdom]) bool { return see(KindWisdom, id, k.origin) })
	}
}

// A Commit is what With takes: the items that one commit changed.
type Commit struct {
	Seq     uint64
	Time    int64 // Unix milliseconds
	Changes []Change
}

// A Change is what became of one item.
type Change struct {
	Kind, ID string
	Value    []byte // JSON; not kept
	Gone     bool
	Place    Place // of the value
	Position int   // among the items of the commit
}

// With returns the index after one more commit. The old one stays as it is. It takes time in proportion to what the
// commit changes. Kinds that are not known are passed over, and so is a value that cannot be read: what was
// checked when it was written can be.
func (x *Index) With(c Commit) *Index {
	y := x.Clone()
	y.Apply(c)
	return y
}

// Clone returns a copy that Apply may change until it is shared.
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

// Apply adds a commit to an index that Clone or Empty returned and that is not shared yet.
func (x *Index) Apply(c Commit) {
	for _, ch := range c.Changes {
		at := origin{ch.Place, c.Seq}
		switch ch.Kind {
		case KindMemory:
			x.applyMemory(c, ch, at)
		case KindLinks:
			x.applyLinks(ch, at)
		case KindAgent:
			applyKept(&x.agents, ch, at)
		case KindChapter:
			applyKept(&x.chapters, ch, at)
		case KindWisdom:
			applyKept(&x.wisdom, ch, at)
		}
	}
}

// applyMemory takes in what became of a memory.
func (x *Index) applyMemory(c Commit, ch Change, at origin) {
	old, existed := x.cards.Get(ch.ID)
	if ch.Gone {
		if existed {
			x.relink(ch.ID, nil)
			x.leave(old)
			x.cards.Delete(ch.ID)
		}
		return
	}
	birth := birthOf(c.Seq, ch.Position)
	if existed {
		birth = old.Birth
	}
	card, err := newCard(ch.ID, ch.Value, at, birth)
	if err != nil {
		return
	}
	x.swap(old, card)
	t := x.Tally(card.Agent)
	t.Last = max(t.Last, c.Time)
	x.tallies.Set(card.Agent, t)
}

// swap puts a card in the place of another, nil if it is new.
func (x *Index) swap(old, card *Card) {
	came := card.names()
	if old != nil {
		moved := old.Importance != card.Importance
		for _, n := range old.names() {
			if moved && n.kind.ranked() || !slices.Contains(came, n) {
				x.entries.Delete(n.entry(old))
			}
		}
		x.held -= old.size()
		x.count(old, -1)
	}
	for _, n := range came {
		x.entries.Set(n.entry(card))
	}
	x.cards.Set(card.ID, card)
	x.held += card.size()
	x.count(card, 1)
	if e, linked := x.links.Get(card.ID); linked {
		x.enterLinks(card, e.Links)
	}
}

// leave takes a card out of all lookups.
func (x *Index) leave(c *Card) {
	for _, n := range c.names() {
		x.entries.Delete(n.entry(c))
	}
	x.held -= c.size()
	x.count(c, -1)
}

// count adds a card to what its agent's memories add up to, or takes it off.
func (x *Index) count(c *Card, by int) {
	t := x.Tally(c.Agent)
	t.Memories += by
	if c.Outcome.Success {
		t.Successes += by
	}
	x.tallies.Set(c.Agent, t)
}

// applyLinks takes in the links that go out from a memory.
func (x *Index) applyLinks(ch Change, at origin) {
	if ch.Gone {
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

// relink enters the links of a memory in the place of those that it has; nil: none.
func (x *Index) relink(id string, now *Edges) {
	card, ok := x.cards.Get(id)
	if !ok {
		return // they are entered when it comes
	}
	if old, had := x.links.Get(id); had {
		for kind, targets := range old.each() {
			for _, target := range targets {
				x.entries.Delete(linkName(kind, target).entry(card))
			}
		}
	}
	if now != nil {
		x.enterLinks(card, now.Links)
	}
}

func (x *Index) enterLinks(card *Card, l Links) {
	for kind, targets := range l.each() {
		for _, target := range targets {
			x.entries.Set(linkName(kind, target).entry(card))
		}
	}
}

// linkName is the name under which the sources of links of a kind to a memory stand.
func linkName(kind, target string) name { return name{byLink, kind + "\x00" + target} }

// applyKept takes in what became of an item that is kept whole.
func applyKept[T any](t *tree[*Kept[T]], ch Change, at origin) {
	if ch.Gone {
		t.Delete(ch.ID)
		return
	}
	k := &Kept[T]{origin: at, ID: ch.ID}
	if json.Unmarshal(ch.Value, &k.Value) == nil {
		t.Set(ch.ID, k)
	}
}
