package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
)

// The kinds of links.
const (
	CausedBy   = "caused_by"
	LedTo      = "led_to"
	RelatedTo  = "related_to"
	Supersedes = "supersedes"
	BlockedBy  = "blocked_by"
)

// LinkKinds are the kinds of links, in the order of the document.
func LinkKinds() []string { return []string{CausedBy, LedTo, RelatedTo, Supersedes, BlockedBy} }

// Of is the list of a kind of links, which may be changed; nil: there is no such kind.
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

// each yields the kinds of links and the memories that they lead to.
func (l *Links) each() iter.Seq2[string, []string] {
	return func(yield func(string, []string) bool) {
		for _, kind := range LinkKinds() {
			if targets := *l.Of(kind); len(targets) > 0 && !yield(kind, targets) {
				return
			}
		}
	}
}

// Targets are all memories that links lead to, each once, in order.
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

// Add adds a link, and reports whether it was not there.
func (l *Links) Add(kind, target string) bool {
	list := l.Of(kind)
	if list == nil || slices.Contains(*list, target) {
		return false
	}
	*list = append(slices.Clone(*list), target)
	return true
}

// LinkID is the id of a link. Two that say the same have the same: that A led to B is that B was caused by A.
func LinkID(source, kind, target string) string {
	if kind == LedTo {
		source, kind, target = target, CausedBy, source
	}
	return UUID(PrefixLink, source, kind, target)
}

// UUID is an id that follows from some texts, in the form of a UUID of version 4.
func UUID(prefix string, of ...string) string {
	h := sha256.New()
	for _, text := range of {
		h.Write([]byte(text))
		h.Write([]byte{0})
	}
	b := h.Sum(nil)[:16]
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b)
	return prefix + s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Shown are the links of a memory as answers show them: those that go out and, by the name of the inverse, those
// that lead to it; of memories that are there.
type Shown struct {
	CausedBy     []string `json:"caused_by,omitempty"`
	LedTo        []string `json:"led_to,omitempty"`
	RelatedTo    []string `json:"related_to,omitempty"`
	Supersedes   []string `json:"supersedes,omitempty"`
	SupersededBy []string `json:"superseded_by,omitempty"`
	BlockedBy    []string `json:"blocked_by,omitempty"`
	Blocks       []string `json:"blocks,omitempty"`
}

// Shown returns the links of a memory. What goes out comes first, in the order in which it was given, then what
// leads to it, the oldest first. Links of relation hold both ways.
func (x *Index) Shown(id string) Shown {
	out := x.Links(id)
	return Shown{
		CausedBy:     x.joined(id, out.CausedBy, LedTo),
		LedTo:        x.joined(id, out.LedTo, CausedBy),
		RelatedTo:    x.joined(id, out.RelatedTo, RelatedTo),
		Supersedes:   x.joined(id, out.Supersedes, ""),
		BlockedBy:    x.joined(id, out.BlockedBy, ""),
		SupersededBy: x.joined(id, nil, Supersedes),
		Blocks:       x.joined(id, nil, BlockedBy),
	}
}

// joined are memories, and the sources of links of a kind to one, each once, as far as they are there.
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

// sources yields the memories from which links of a kind lead to one, the oldest first.
func (x *Index) sources(kind, target string) iter.Seq[*Card] {
	return x.named(linkName(kind, target))
}

// SupersededBy is the memories that supersede one, the oldest first.
func (x *Index) SupersededBy(id string) []string { return x.joined(id, nil, Supersedes) }

// A Step is a memory that a trace comes to.
type Step struct {
	*Card
	Relation string // caused_by or led_to
	Distance int    // links from where the trace began
}

// Trace are the memories that led to one, and those that led to them, up to so many links away; and likewise those that
// it led to. The nearest come first, of those the oldest. Each comes once.
func (x *Index) Trace(id string, most int, causes, effects bool) []Step {
	t := tracing{x, map[string]bool{id: true}}
	var all []Step
	if causes {
		all = t.follow(id, most, CausedBy, func(l Shown) []string { return l.CausedBy })
	}
	if effects {
		all = append(all, t.follow(id, most, LedTo, func(l Shown) []string { return l.LedTo })...)
	}
	return all
}

// A tracing is a trace, which knows where it has been.
type tracing struct {
	x    *Index
	seen map[string]bool
}

func (t tracing) follow(id string, most int, relation string, next func(Shown) []string) []Step {
	var all []Step
	level := []string{id}
	for distance := 1; distance <= most && len(level) > 0; distance++ {
		var found []Step
		for _, from := range level {
			for _, to := range next(t.x.Shown(from)) {
				if !t.seen[to] {
					t.seen[to] = true
					c, _ := t.x.cards.Get(to)
					found = append(found, Step{c, relation, distance})
				}
			}
		}
		slices.SortFunc(found, func(a, b Step) int { return ByAge(a.Card, b.Card) })
		level = nil
		for _, s := range found {
			level = append(level, s.ID)
		}
		all = append(all, found...)
	}
	return all
}
