package index

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"rookery/internal/vault"
)

// swap puts a file in the place of another at its path; nil is none. The lookups learn of it with
// enter.
func (d *draft) swap(old, now *File) {
	switch {
	case now != nil:
		d.files.Set(now.Path, now)
	case old != nil:
		d.files.Delete(old.Path)
	default:
		return
	}
	path := cmp.Or(now, old).Path
	if _, changed := d.entered[path]; !changed {
		d.entered[path] = old
	}
	d.swapIDs(noteOf(old), noteOf(now))
}

// noteOf is the note that a file is, nil if it is none.
func noteOf(f *File) *Note {
	if f == nil {
		return nil
	}
	return f.Note
}

// enter brings the lookups up to the files. Only entries that came or went are touched.
func (d *draft) enter() {
	var came, went []entry
	sums := map[term]int{}
	for path, old := range d.entered {
		now, _ := d.files.Get(path)
		had, has := d.names(old), d.names(now)
		came, went = missing(came, has, had, path), missing(went, had, has, path)
		tally(sums, noteOf(old), -1)
		tally(sums, noteOf(now), 1)
		d.totals.add(noteOf(old), -1)
		d.totals.add(noteOf(now), 1)
	}
	var ids sync.WaitGroup
	if len(d.entered) > ahead { // else another goroutine costs more than it takes off
		ids.Go(d.enterIDs)
	} else {
		d.enterIDs()
	}
	d.entries.remove(went)
	d.entries.put(came)
	d.sum(sums)
	ids.Wait()
	clear(d.entered)
}

// names are the names by which a file is found, sorted, each once.
func (d *draft) names(f *File) []string {
	if f == nil {
		return nil
	}
	var all []string
	if fold := vault.Fold(f.Path); fold != f.Path {
		all = append(all, byFold.name(fold))
	}
	if f.Note != nil {
		all = d.noteNames(all, f.Note)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// missing adds the entries for the names of one list that are not in another. Both are sorted.
func missing(all []entry, names, other []string, path string) []entry {
	for _, name := range names {
		for len(other) > 0 && other[0] < name {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != name {
			all = append(all, entry{name, path})
		}
	}
	return all
}

// noteNames adds the names by which a note is found.
func (d *draft) noteNames(all []string, n *Note) []string {
	all = slices.Grow(all, 16+2*len(n.names)+len(n.Annotations)+len(n.Refs))
	add := func(k kind, name string) { all = append(all, d.word(k, name)) }
	all = append(all, byCreated.name(timeKey(n.Created)), byModified.name(timeKey(n.Modified)))
	if n.Quarantine != nil {
		add(isBroken, "")
	}
	if n.DeclaredType == "" && n.Type != vault.Daily {
		add(isUntyped, "")
	}
	n.objectNames(add)
	for i, t := range n.Annotations {
		if all = append(all, t.entry); i == 0 || n.Annotations[i-1].Type != t.Type {
			add(byTrait, t.Type)
		}
		for _, day := range t.days {
			add(byDay, string(day))
		}
	}
	for i := range n.Refs {
		add(byRef, n.Refs[i].bucket)
	}
	for _, t := range n.Tags {
		add(byTag, t.Name)
	}
	for _, day := range n.fieldDays {
		add(byDay, string(day))
	}
	return all
}

// objectNames calls add with the types and the names of the objects in a note.
func (n *Note) objectNames(add func(kind, string)) {
	for c := range n.callings {
		add(c.kind, c.name)
	}
	for o := range n.typed {
		add(byType, o.Type())
	}
	if n.DeclaredType != "" {
		add(byDeclared, n.DeclaredType)
	}
	for _, s := range n.Sections {
		if s.DeclaredType != "" {
			add(byDeclared, s.DeclaredType)
		}
	}
}

// typed yields the note and the objects in it that are no plain sections.
func (n *Note) typed(yield func(Object) bool) {
	for i := -1; i < len(n.Sections); i++ {
		if o := n.Object(i); o.Type() != vault.Section && !yield(o) {
			return
		}
	}
}

// A term is the name of an entry in its parts.
type term struct {
	kind kind
	name string
}

// word is the name of an entry; all that are alike are one text.
func (d *draft) word(k kind, name string) string {
	word, known := d.words[term{k, name}]
	if !known {
		word = k.name(name)
		d.words[term{k, word[1:]}] = word
	}
	return word
}

// tally counts the objects, the traits and the tags of a note, or takes them off.
func tally(sums map[term]int, n *Note, by int) {
	if n == nil {
		return
	}
	for i := -1; i < len(n.Sections); i++ {
		sums[term{byType, n.Object(i).Type()}] += by
	}
	for t := range n.Traits() {
		sums[term{byTrait, t.Type}] += by
	}
	for _, t := range n.Tags {
		sums[term{byTag, t.Name}] += by
	}
}

// sum adds to the sums of the index, which holds none that is 0.
func (d *draft) sum(more map[term]int) {
	for t, by := range more {
		if by == 0 {
			continue
		}
		word := d.word(t.kind, t.name)
		if sum, _ := d.counts.Get(word); sum+by > 0 {
			d.counts.Set(word, sum+by)
			continue
		}
		d.counts.Delete(word)
	}
}

// add adds a note to the sums, or takes it off.
func (t *Totals) add(n *Note, by int) {
	if n == nil {
		return
	}
	t.Notes += by
	t.Sections += by * len(n.Sections)
	t.Refs += by * len(n.Refs)
	t.Bytes += int64(by * n.Size)
	if n.Quarantine != nil {
		t.Quarantined += by
	}
	for range n.Traits() {
		t.Traits += by
	}
}

// enterIDs brings the tree of the ids of traits up to date.
func (d *draft) enterIDs() {
	ids := slices.Sorted(maps.Keys(d.ids))
	for i := range spread(len(ids)) {
		if path := d.ids[ids[i]]; path != "" {
			d.traitIDs.Set(ids[i], path)
			continue
		}
		d.traitIDs.Delete(ids[i])
	}
	clear(d.ids)
}
