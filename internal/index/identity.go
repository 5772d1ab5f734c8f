package index

import (
	"strconv"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// near is the number of lines by which a trait can move and still be recognized although its text
// changed (reference/raven.md §6.4).
const near = 5

// A prevTrait is a trait before a change, or as an audit log describes it.
type prevTrait struct {
	id, typ, parent, text string // parent is the fragment of the parent's id
	path                  string // of its note; empty for a trait from an audit log
	line                  int    // 0 if unknown
	raw, content          string
	times                 *Times

	holder string // path of the note that has id in the lookup, if isHeld
	isHeld bool   // holder is set
}

// prevTraitsOf returns the current traits of a note as prevTraits, by position.
func prevTraitsOf(n *Note) []*prevTrait {
	all, traits := make([]*prevTrait, len(n.Annotations)), make([]prevTrait, len(n.Annotations))
	for i, t := range n.EachAnnotation {
		k := t.kin()
		traits[i] = prevTrait{
			id: t.ID, typ: k.typ, parent: k.parent, text: k.text,
			path: n.Path, line: t.Line(), raw: t.Raw, content: t.ContentText(),
			times: t.Times,
		}
		all[i] = &traits[i]
	}
	return all
}

// fieldText is the text by which field traits are matched with their earlier state. Their content
// cannot be used: it is the id of the note, which changes when the note moves.
const fieldText = "\x00"

// An identity is the input for the ids and times of the annotations of a note.
//
// A trait has no id in the text unless it is pinned. Its id is computed when it first appears and
// stored with the commit. After an edit, the traits of the new text are matched with those of the
// old one (matchTraits), so that a trait keeps its id and its time of creation when the lines
// around it change.
type identity struct {
	old      []*prevTrait // by position, the trait before the change; nil for a new one
	givenIDs []string     // the ids of the annotations, if the commit has them
	created  time.Time    // the time of creation of new traits
}

// identify sets the ids and times of the annotations of a note that is not in the lookups yet. It
// also records their claims of pins. Ids that the commit contains are used as they are: they were
// computed by the process that made the commit, perhaps with an earlier version of these rules.
func (d *draft) identify(n *Note, known identity) {
	met, given := known.old, known.givenIDs
	now := &Times{known.created, known.created}
	for i, t := range n.EachAnnotation {
		t.setTimes(met[i], now)
		t.ID = ""
		d.claim(t)
	}
	for i, t := range n.listed(len(given)) {
		t.ID = given[i]
	}
	// The commit has no ids, or none for checkboxes. The remaining annotations get theirs here.
	if len(given) != len(n.Annotations) {
		d.assignIDs(n, met)
	}
}

// listed returns the annotations that a list with this number of entries describes: all of them or,
// for a list from before checkboxes were traits, all except checkboxes. It returns nil if the
// number fits neither.
func (n *Note) listed(entries int) []*Trait {
	var all []*Trait
	for _, t := range n.EachAnnotation {
		if entries == len(n.Annotations) || !t.Task {
			all = append(all, t)
		}
	}
	if len(all) != entries {
		return nil
	}
	return all
}

// identityText returns the part of the text of a trait that identifies it. The identity of a
// checkbox does not change when it is ticked.
func identityText(typ, text string) string {
	if typ == TaskType {
		text = markdown.TaskText(text)
	}
	return vault.TraitText(text)
}

// setTimes sets the times of a trait: now for a new one, else those that it had. If its value,
// parent or content changed, its time of change becomes that of now; a trait from an audit log is
// not compared. was is nil for a new trait. Times that do not change are shared with the earlier
// trait.
func (t *Trait) setTimes(was *prevTrait, now *Times) {
	if t.Times = now; was == nil {
		return
	}
	same := was.raw == t.Raw && was.parent == t.fragment() && (t.Field || was.content == t.ContentText())
	if t.Times = was.times; was.path != "" && !same {
		t.Times = &Times{was.times.Created, now.Modified}
	}
}

// A traitMatcher matches the traits of a note with its traits before a change. An earlier trait is
// matched at most once.
type traitMatcher struct {
	note    *Note
	matches []*prevTrait // by position of the annotation; nil if not matched
}

// matchTraits returns for each annotation its earlier state, or nil for a new trait. The k-th
// annotation with a parent, type and text is the k-th with these before. Among the rest, it is the
// nearest of its type within five lines, unless that has another parent that still exists. So a
// trait keeps its id if its line moves or if its text is edited in place, but not if both happen.
func matchTraits(n *Note, old []*prevTrait) []*prevTrait {
	m := traitMatcher{n, make([]*prevTrait, len(n.Annotations))}
	if len(old) == 0 || len(m.matches) == 0 {
		return m.matches
	}
	if m.matchInOrder(old) {
		return m.matches
	}
	left := m.matchSame(old)
	m.matchNearest(left)
	return m.matches
}

// A kin is what traits have in common that matchSame matches.
type kin struct{ typ, parent, text string }

// kin returns the kin of a trait.
func (t *Trait) kin() kin {
	if t.Field {
		return kin{t.Type, t.fragment(), fieldText}
	}
	return kin{t.Type, t.fragment(), identityText(t.Type, t.ContentText())}
}

// kin returns the kin of a trait before a change.
func (f *prevTrait) kin() kin { return kin{f.typ, f.parent, f.text} }

// matchInOrder is matchSame for traits that all stay, in the same order, as in most changes of a
// note. It returns false, and has matched nothing, if that is not so.
func (m traitMatcher) matchInOrder(old []*prevTrait) bool {
	if len(old) != len(m.matches) {
		return false
	}
	for i, t := range m.note.EachAnnotation {
		if t.kin() != old[i].kin() {
			return false
		}
	}
	copy(m.matches, old)
	return true
}

// matchSame matches traits with the same parent, type and text, the k-th with the k-th, and returns
// the earlier traits that are not matched.
func (m traitMatcher) matchSame(old []*prevTrait) []*prevTrait {
	queues := map[kin][]*prevTrait{}
	for _, f := range old {
		queues[f.kin()] = append(queues[f.kin()], f)
	}
	matched := map[*prevTrait]bool{}
	for i, t := range m.note.EachAnnotation {
		k := t.kin()
		if queue := queues[k]; len(queue) > 0 {
			m.matches[i], queues[k] = queue[0], queue[1:]
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

// A lineKey identifies the traits of one type on one line. They have the same parent, so
// matchNearest looks at the first that is left.
type lineKey struct {
	typ  string
	line int
}

// matchNearest matches the nearest traits first, and of two at the same distance the one above. It
// looks only at traits that matchSame has not matched, whose text has thus changed. It takes time
// in proportion to the number of annotations, because near is a constant.
func (m traitMatcher) matchNearest(old []*prevTrait) {
	rows := map[lineKey][]*prevTrait{}
	for _, f := range old {
		if f.line > 0 {
			rows[lineKey{f.typ, f.line}] = append(rows[lineKey{f.typ, f.line}], f)
		}
	}
	if len(rows) == 0 {
		return
	}
	parents := map[string]bool{"": true}
	for _, s := range m.note.Sections {
		parents[s.Slug] = true
	}
	// All traits are tried at one distance before the next, so no trait takes the nearest match of
	// another.
	for distance := 0; distance <= near; distance++ {
		for i, t := range m.note.EachAnnotation {
			for _, line := range []int{t.Line() - distance, t.Line() + distance} {
				at := lineKey{t.Type, line}
				if m.matches[i] != nil || len(rows[at]) == 0 {
					continue
				}
				if f := rows[at][0]; f.parent == t.fragment() || !parents[f.parent] {
					m.matches[i], rows[at] = f, rows[at][1:]
				}
			}
		}
	}
}

// assignIDs sets the ids of the annotations of a note that have none: first those that they claim
// by a pin, then the ids that they had before. A new trait gets the next number that is unused in
// the whole vault. met has the earlier state of each annotation, as matchTraits returns it. No id
// is given twice in the note.
func (d *draft) assignIDs(n *Note, met []*prevTrait) {
	taken := map[string]bool{}
	for _, t := range n.EachAnnotation {
		if t.ID != "" {
			taken[t.ID] = true
		}
	}
	take := func(t *Trait, id string) {
		t.ID = id
		taken[id] = true
	}
	for _, t := range n.EachAnnotation {
		if t.ID == "" && t.claims && d.mayOwnPin(t) {
			take(t, t.Pin())
		}
	}
	for i, t := range n.EachAnnotation {
		if t.ID == "" && met[i] != nil && !taken[met[i].id] && d.canKeepID(t, met[i]) {
			take(t, met[i].id)
		}
	}
	numbers := map[string]int{}
	for _, t := range n.EachAnnotation {
		if t.ID == "" {
			take(t, d.newID(t, taken, numbers))
		}
	}
}

// canKeepID reports whether a trait can keep the id that it had: not if the id is that of its pin,
// which another trait got, and not if another note uses it. A note at the old path of a moved note
// does not count as another one.
func (d *draft) canKeepID(t *Trait, was *prevTrait) bool {
	// If the trait were entitled to its pin, assignIDs would have given it the id before.
	if was.id == t.Pin() {
		return false
	}
	holder := d.holderOf(was)
	return holder == "" || holder == was.path || holder == t.Note.Path
}

// newID returns an unused id for a new trait: a hash of its parent, type and text (vault.TraitID),
// with a number from 2 on if it is used in this note or in another. numbers has, for each base of
// ids, the next number to try.
func (d *draft) newID(t *Trait, taken map[string]bool, numbers map[string]int) string {
	text := t.ContentText()
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
	holder := d.ownerOf(id)
	return holder != "" && holder != n.Path
}

// ownerOf returns the path of the note whose trait has an id, "" if there is none. It includes the
// pending changes.
func (d *draft) ownerOf(id string) string {
	path, changed := d.ids[id]
	if !changed {
		path = d.traitIDs.get(id)
	}
	return path
}

// holderOf is ownerOf for the id of an earlier trait.
func (d *draft) holderOf(t *prevTrait) string {
	if _, changed := d.ids[t.id]; !changed && t.isHeld {
		return t.holder
	}
	return d.ownerOf(t.id)
}

// owner returns the trait that has an id, nil if there is none.
func (d *draft) owner(id string) *Trait {
	if n, ok := d.Note(d.ownerOf(id)); ok {
		return n.annotation(id)
	}
	return nil
}

// swapIDs replaces the ids of the traits of old by those of now; either can be nil. It skips equal
// ids at the beginning and the end of the two lists, unless the vault has pins, which can move an
// id from one trait to another. An id that another note has taken over in the same commit stays
// with that note. With pins, each id that is replaced is contested, because a claim on it may now
// succeed.
func (d *draft) swapIDs(old, now *Note) {
	was, is := annotationsOf(old), annotationsOf(now)
	// Without pins, an id stays with its trait if the ids around it do not change.
	if d.pins.Len() == 0 {
		was, is = trimEqualIDs(was, is)
	}
	stays := make(map[string]bool, len(is))
	for i := range is {
		t := &is[i]
		if stays[t.ID] = true; d.ownerOf(t.ID) != now.Path {
			d.ids[t.ID] = now.Path
		}
	}
	for i := range was {
		t := &was[i]
		if !stays[t.ID] && d.ownerOf(t.ID) == old.Path {
			d.ids[t.ID] = ""
		}
		if d.pins.Len() > 0 {
			d.contestedPins[t.ID] = true
		}
	}
}

// annotationsOf returns the annotations of n; nil for a nil note.
func annotationsOf(n *Note) []Trait {
	if n == nil {
		return nil
	}
	return n.Annotations
}

// trimEqualIDs returns two lists without the elements with equal ids at their beginnings and ends.
func trimEqualIDs(a, b []Trait) (was, is []Trait) {
	for len(a) > 0 && len(b) > 0 && a[0].ID == b[0].ID {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1].ID == b[len(b)-1].ID {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}
