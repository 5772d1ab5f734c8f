package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// The kinds of links.
const (
	CausedBy   = "caused_by"
	LedTo      = "led_to"
	RelatedTo  = "related_to"
	Supersedes = "supersedes"
	BlockedBy  = "blocked_by"
)

// LinkKinds returns the kinds of links, in the order of the specification.
func LinkKinds() []string { return []string{CausedBy, LedTo, RelatedTo, Supersedes, BlockedBy} }

// Of returns a pointer to the list of a kind of links; nil if there is no such kind.
func (l *Links) Of(kind string) *[]string {
	switch kind {
	case CausedBy:
		return &l.CausedBy
	case LedTo:
		return &l.LedTo
	case RelatedTo:
		return &l.RelatedTo
	case Supersedes:
		return &l.Supersedes
	case BlockedBy:
		return &l.BlockedBy
	}
	return nil
}

// each yields the kinds of links that are not empty, with their targets.
func (l *Links) each() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, kind := range LinkKinds() {
			if targets := *l.Of(kind); len(targets) > 0 && !yield(kind, targets) {
				return
			}
		}
	}
}

// Targets returns the targets of all links, sorted, without duplicates. l can be nil.
func (l *Links) Targets() []string {
	if l == nil {
		return nil
	}
	var all []string
	for _, targets := range l.each() {
		all = append(all, targets...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Add adds a link and reports whether it is new. It returns false for an unknown kind.
//
// It copies the list, so that copies of l stay unchanged.
func (l *Links) Add(kind, target string) bool {
	list := l.Of(kind)
	if list == nil || slices.Contains(*list, target) {
		return false
	}
	// Copies of Links share the list.
	*list = append(slices.Clone(*list), target)
	return true
}

// LinkID returns the id of a link. Equivalent links have the same id: "A led_to B" is the same as
// "B caused_by A".
//
// It depends on nothing else, so a link needs no stored id.
func LinkID(source, kind, target string) string {
	if kind == LedTo {
		source, kind, target = target, CausedBy, source
	}
	return UUID(PrefixLink, source, kind, target)
}

// UUID returns a prefix followed by an id that is derived from some texts, in the form of a UUID
// of version 4.
//
// Equal texts give equal ids, so an operation can be repeated without creating a second item.
func UUID(prefix string, of ...string) string {
	h := sha256.New()
	for _, text := range of {
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
	b := h.Sum(nil)[:16]
	// The version and variant bits of RFC 9562.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b)
	return prefix + s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// LinkView are the links of a memory as answers contain them: outgoing links and, under the name of
// the inverse relation, incoming links. Deleted memories are omitted.
type LinkView struct {
	CausedBy     []string `json:"caused_by,omitempty"`
	LedTo        []string `json:"led_to,omitempty"`
	RelatedTo    []string `json:"related_to,omitempty"`
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	BlockedBy    []string `json:"blocked_by,omitempty"`
	Blocks       []string `json:"blocks,omitempty"`
}

// AllLinks returns the links of a memory. Outgoing links come first, in the order in which they were
// stored, then incoming links, from the oldest memory to the newest. related_to is symmetric.
//
// caused_by and led_to are inverses of each other, so each lists the incoming links of the other
// kind. Incoming supersedes and blocked_by links have names of their own.
func (x *Index) AllLinks(id string) LinkView {
	out := x.Links(id)
	return LinkView{
		CausedBy:     x.joined(id, out.CausedBy, LedTo),
		LedTo:        x.joined(id, out.LedTo, CausedBy),
		RelatedTo:    x.joined(id, out.RelatedTo, RelatedTo),
		Supersedes:   x.joined(id, out.Supersedes, ""),
		BlockedBy:    x.joined(id, out.BlockedBy, ""),
		SupersededBy: x.joined(id, nil, Supersedes),
		Blocks:       x.joined(id, nil, BlockedBy),
	}
}

// joined returns the memories own, followed by the sources of links of kind incoming to the
// memory id, without duplicates and deleted memories. An empty kind adds no sources.
func (x *Index) joined(id string, own []string, incoming string) []string {
	var all []string
	seen := map[string]bool{}
	add := func(other string) {
		if _, there := x.cards.Get(other); there && !seen[other] {
			seen[other] = true
			all = append(all, other)
		}
	}
	for _, other := range own {
		add(other)
	}
	if incoming != "" {
		for c := range x.sources(incoming, id) {
			add(c.ID)
		}
	}
	return all
}

// sources yields the memories that have a link of a kind to target, the oldest first.
func (x *Index) sources(kind, target string) iter.Seq[*Card] {
	return x.named(linkName(kind, target))
}

// SupersededBy returns the ids of the memories that supersede a memory, the oldest first.
func (x *Index) SupersededBy(id string) []string { return x.joined(id, nil, Supersedes) }

// A Step is a memory that Trace reached.
type Step struct {
	*Card
	Relation string // caused_by or led_to
	Distance int    // number of links from the start
}

// Trace returns the direct and indirect causes of a memory, its effects, or both, up to most
// links away. Causes come before effects, nearer memories first, and at the same distance the
// oldest first. No memory occurs twice.
//
// A memory that is both a cause and an effect occurs among the causes only.
func (x *Index) Trace(id string, most int, causes, effects bool) []Step {
	t := tracing{x, map[string]bool{id: true}}
	var all []Step
	if causes {
		all = t.follow(id, most, CausedBy, func(l LinkView) []string { return l.CausedBy })
	}
	if effects {
		all = append(all, t.follow(id, most, LedTo, func(l LinkView) []string { return l.LedTo })...)
	}
	return all
}

// A tracing is the state of a Trace: the memories that it has visited.
type tracing struct {
	x    *Index
	seen map[string]bool
}

// follow returns the memories that repeated use of next reaches from id, up to most steps away,
// without those that were visited before.
func (t tracing) follow(id string, most int, relation string, next func(LinkView) []string) []Step {
	var all []Step
	level := []string{id}
	for distance := 1; distance <= most && len(level) > 0; distance++ {
		var found []Step
		for _, from := range level {
			for _, to := range next(t.x.AllLinks(from)) {
				if !t.seen[to] {
					t.seen[to] = true
					c, _ := t.x.cards.Get(to)
					found = append(found, Step{c, relation, distance})
				}
			}
		}
		// Memories of one distance are sorted by age, whichever memories led to them.
		slices.SortFunc(found, func(a, b Step) int { return ByAge(a.Card, b.Card) })
		level = nil
		for _, s := range found {
			level = append(level, s.ID)
		}
		all = append(all, found...)
	}
	return all
}

// Compare compares refs by kind, then by id.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(strings.Compare(r.Kind, o.Kind), strings.Compare(r.ID, o.ID))
}

// Quotes reports whether an item contains text of one of the items of: a chapter of its memories,
// and wisdom of its chapters. It returns false if the value is not valid JSON.
func Quotes(kind string, value []byte, of map[Ref]bool) bool {
	var made struct {
		Memories []string `json:"memories"`
		Chapters []string `json:"chapters"`
	}
	if kind != KindChapter && kind != KindWisdom || json.Unmarshal(value, &made) != nil {
		return false
	}
	is := func(kind string) func(id string) bool {
		return func(id string) bool { return of[Ref{kind, id}] }
	}
	return slices.ContainsFunc(made.Memories, is(KindMemory)) || slices.ContainsFunc(made.Chapters, is(KindChapter))
}
