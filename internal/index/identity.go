package index

import (
	"strconv"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// near is how many lines a trait may have moved while its text changed (reference/raven.md §6.4).
const near = 5

// A prevTrait is a trait as it was before a change, or as an audit log knew it.
type prevTrait struct {
	id, typ, parent, text string // the parent by its fragment
	path                  string // of its note; empty if an audit log tells of it
	line                  int    // 0: not known
	raw, content          string
	times                 *Times
}

// formerOf are the traits of a note as they are.
func formerOf(n *Note) []*prevTrait {
	all := make([]*prevTrait, len(n.Annotations))
	for i, t := range n.Annotations {
		all[i] = &prevTrait{
			id: t.ID, typ: t.Type, parent: t.fragment(), text: identityText(t.Type, t.ContentText),
			path: n.Path, line: t.Line, raw: t.Raw, content: t.ContentText,
			times: t.Times,
		}
		if t.Field {
			all[i].text = fieldText
		}
	}
	return all
}

// fieldText is the text by which a field meets its former self: its content is the id of the note,
// which changes when the note moves.
const fieldText = "\x00"

// An identity is what is known of the annotations of a note.
type identity struct {
	old   []*prevTrait // what they were before
	given []string     // their ids, if they are known
	came  time.Time    // when those came that were not there before
}

// identify gives the annotations of a note, which is not entered yet, their ids and times.
func (d *draft) identify(n *Note, known identity) {
	met, given := meet(n, known.old), known.given
	now := &Times{known.came, known.came}
	for i, t := range n.Annotations {
		t.date(met[i], now)
		t.ID = ""
		d.claim(t)
	}
	for i, t := range n.listed(len(given)) {
		t.ID = given[i]
	}
	if len(given) != len(n.Annotations) {
		d.name(n, met)
	}
}

// listed returns the annotations that a list of so many entries is about: all, or, where the list is older than
// that checkboxes are traits, all but these. It returns none where the list is about another text.
func (n *Note) listed(entries int) []*Trait {
	if entries == len(n.Annotations) {
		return n.Annotations
	}
	var all []*Trait
	for _, t := range n.Annotations {
		if !t.Task {
			all = append(all, t)
		}
	}
	if len(all) != entries {
		return nil
	}
	return all
}

// identityText returns the part of the text of a trait that makes its identity. That of a checkbox is the same
// before and after it is ticked.
func identityText(typ, text string) string {
	if typ == TaskType {
		text = markdown.TaskText(text)
	}
	return vault.TraitText(text)
}

// date gives a trait its times.
func (t *Trait) date(was *prevTrait, now *Times) {
	if t.Times = now; was == nil {
		return
	}
	same := was.raw == t.Raw && was.parent == t.fragment() && (t.Field || was.content == t.ContentText)
	if t.Times = was.times; was.path != "" && !same {
		t.Times = &Times{was.times.Created, now.Modified}
	}
}

// A traitMatcher brings the traits of a note together with those that they were before.
type traitMatcher struct {
	note *Note
	met  []*prevTrait // by position of the annotation
}

// meet finds for each annotation what it was before: the same parent, type and text, the k-th for the
// k-th; else the nearest of its type within five lines, unless that stood under another parent that
// is still there. Nil is a newcomer.
func meet(n *Note, old []*prevTrait) []*prevTrait {
	m := traitMatcher{n, make([]*prevTrait, len(n.Annotations))}
	if len(old) == 0 || len(m.met) == 0 {
		return m.met
	}
	left := m.same(old)
	m.nearby(left)
	return m.met
}

// same matches what has the same parent, type and text, and returns those that are left.
func (m traitMatcher) same(old []*prevTrait) []*prevTrait {
	type kin struct{ typ, parent, text string }
	queues := map[kin][]*prevTrait{}
	for _, f := range old {
		k := kin{f.typ, f.parent, f.text}
		queues[k] = append(queues[k], f)
	}
	matched := map[*prevTrait]bool{}
	for i, t := range m.note.Annotations {
		k := kin{t.Type, t.fragment(), identityText(t.Type, t.ContentText)}
		if t.Field {
			k.text = fieldText
		}
		if queue := queues[k]; len(queue) > 0 {
			m.met[i], queues[k] = queue[0], queue[1:]
			matched[queue[0]] = true
		}
	}
	var left []*prevTrait
	for _, f := range old {
		if !matched[f] {
			left = append(left, f)
		}
	}
	return left
}

// A row is the traits of a type on a line. They have one parent.
type row struct {
	typ  string
	line int
}

// nearby matches the nearest first, and of two as near the one above.
func (m traitMatcher) nearby(old []*prevTrait) {
	rows := map[row][]*prevTrait{}
	for _, f := range old {
		if f.line > 0 {
			rows[row{f.typ, f.line}] = append(rows[row{f.typ, f.line}], f)
		}
	}
	if len(rows) == 0 {
		return
	}
	parents := map[string]bool{"": true}
	for _, s := range m.note.Sections {
		parents[s.Slug] = true
	}
	for distance := 0; distance <= near; distance++ {
		for i, t := range m.note.Annotations {
			for _, line := range []int{t.Line - distance, t.Line + distance} {
				at := row{t.Type, line}
				if m.met[i] != nil || len(rows[at]) == 0 {
					continue
				}
				if f := rows[at][0]; f.parent == t.fragment() || !parents[f.parent] {
					m.met[i], rows[at] = f, rows[at][1:]
				}
			}
		}
	}
}

// name gives the annotations of a note their ids: first the pins, then what each had before, and to
// newcomers the next number that is free in the whole vault.
func (d *draft) name(n *Note, met []*prevTrait) {
	taken := map[string]bool{}
	for _, t := range n.Annotations {
		if t.ID != "" {
			taken[t.ID] = true
		}
	}
	take := func(t *Trait, id string) {
		t.ID = id
		taken[id] = true
	}
	for _, t := range n.Annotations {
		if t.ID == "" && t.claims && d.rightful(t) {
			take(t, t.Pin())
		}
	}
	for i, t := range n.Annotations {
		if t.ID == "" && met[i] != nil && !taken[met[i].id] && d.keeps(t, met[i]) {
			take(t, met[i].id)
		}
	}
	numbers := map[string]int{}
	for _, t := range n.Annotations {
		if t.ID == "" {
			take(t, d.newID(t, taken, numbers))
		}
	}
}

// keeps reports whether a trait may have the id that it had: not if that was from a pin that now is
// another's, nor if somebody else has it.
func (d *draft) keeps(t *Trait, was *prevTrait) bool {
	if was.id == t.Pin() {
		return false
	}
	holder := d.holderOf(was.id)
	return holder == "" || holder == was.path || holder == t.Note.Path
}

// newID is the id of a newcomer. numbers remembers how far each has been counted.
func (d *draft) newID(t *Trait, taken map[string]bool, numbers map[string]int) string {
	text := t.ContentText
	if t.Task {
		text = markdown.TaskText(text)
	}
	base := vault.TraitID(t.Parent().ID(), t.Type, text)
	id := base
	for n := max(2, numbers[base]); taken[id] || d.inUse(id, t.Note); n++ {
		id = base + "-" + strconv.Itoa(n)
		numbers[base] = n + 1
	}
	return id
}

// inUse reports whether a trait of another note has an id.
func (d *draft) inUse(id string, n *Note) bool {
	holder := d.holderOf(id)
	return holder != "" && holder != n.Path
}

// holderOf is the path of the note whose trait has an id, "" if none has.
func (d *draft) holderOf(id string) string {
	path, changed := d.ids[id]
	if !changed {
		path = d.traitIDs.get(id)
	}
	return path
}

// holder is the trait that has an id, nil if none has.
func (d *draft) holder(id string) *Trait {
	if n, ok := d.Note(d.holderOf(id)); ok {
		return n.annotation(id)
	}
	return nil
}

// swapIDs enters the ids of a note's traits in the place of those of another; either may be nil. What
// the two begin and end with alike stays, unless there are pins, by which one takes the id of another.
func (d *draft) swapIDs(old, now *Note) {
	was, is := annotationsOf(old), annotationsOf(now)
	if d.pins.Len() == 0 {
		was, is = unlike(was, is)
	}
	stays := make(map[string]bool, len(is))
	for _, t := range is {
		if stays[t.ID] = true; d.holderOf(t.ID) != now.Path {
			d.ids[t.ID] = now.Path
		}
	}
	for _, t := range was {
		if !stays[t.ID] && d.holderOf(t.ID) == old.Path {
			d.ids[t.ID] = ""
		}
		if d.pins.Len() > 0 {
			d.contested[t.ID] = true
		}
	}
}

func annotationsOf(n *Note) []*Trait {
	if n == nil {
		return nil
	}
	return n.Annotations
}

// unlike is what is left of two lists without what they begin and end with alike.
func unlike(a, b []*Trait) (was, is []*Trait) {
	for len(a) > 0 && len(b) > 0 && a[0].ID == b[0].ID {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].ID == b[len(b)-1].ID {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}
