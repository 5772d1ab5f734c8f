package index

import (
	"iter"
	"strings"
)

// Backlinks yields the references behind a spot that lead to an object or to something in it, by
// path, line and position. The id is one that Resolve gives; that of a day without a note has
// backlinks too. It looks only at references that are written as one of the object's names is.
func (r *Resolver) Backlinks(id string, after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		to := r.linkTarget(id)
		names := r.namesTo(to)
		for n := range withNote(r.x.notesByAny(names.all, after.Path), to.object.Note, after.Path) {
			for i, ref := range n.refsBehind(after) {
				if !names.has(ref.name) && (n != to.object.Note || !ref.isOwn()) {
					continue
				}
				l := n.link(i)
				if l.To = r.From(n, ref.Target); to.holds(l.To) && !yield(l) {
					return
				}
			}
		}
	}
}

// withNote yields the notes of a sequence that is sorted by path, and another in its place among them, if
// that is not before a path.
func withNote(notes iter.Seq[*Note], other *Note, from string) iter.Seq[*Note] {
	return func(yield func(*Note) bool) {
		left := other != nil && other.Path >= from
		for n := range notes {
			if left && n.Path >= other.Path {
				left = false
				if n != other && !yield(other) {
					return
				}
			}
			if !yield(n) {
				return
			}
		}
		if left {
			yield(other)
		}
	}
}

// CountBacklinks is the number of references that Backlinks yields from the beginning. It looks at no
// note that refers, but where references depend on the note that they are in.
func (r *Resolver) CountBacklinks(id string) int {
	to := r.linkTarget(id)
	names := r.namesTo(to)
	if names.fixed && (to.object.Note == nil || !to.object.Note.refersToItself()) {
		return names.count(r.x)
	}
	count := 0
	for range r.Backlinks(id, Location{}) {
		count++
	}
	return count
}

// refersToItself reports whether a note has references to its own parts.
func (n *Note) refersToItself() bool {
	for i := range n.Refs {
		if n.Refs[i].isOwn() {
			return true
		}
	}
	return false
}

// isOwn reports whether a reference leads to a part of its own note, whatever the note is called.
func (r *Ref) isOwn() bool { return strings.HasPrefix(r.Target, "#") }

// namesToObject are the names of references that may lead to an object. They are fixed if all of them do,
// in whatever note they are.
type namesToObject struct {
	nameSet
	fixed bool
}

// namesTo returns the names of the references that lead to an object, or to something in it.
func (r *Resolver) namesTo(to linkTarget) namesToObject {
	names, fixed := []string{}, true
	for _, bucket := range to.buckets {
		prefix := byRef.name(key(bucket, ""))
		for name := range r.x.summed(prefix, prefix) {
			written := name[len(prefix):]
			relative := isRelative(written)
			if !relative && !r.mayLead(written, to) {
				continue
			}
			fixed = fixed && !relative && r.target(written).isFixed()
			names = append(names, name)
		}
	}
	return namesToObject{newNameSet(names), fixed}
}

// mayLead reports whether a reference leads to the target in some note.
func (r *Resolver) mayLead(written string, to linkTarget) bool {
	t := r.target(written)
	for _, c := range t.candidates {
		if to.holds(t.within(c)) {
			return true
		}
	}
	return false
}

// A linkTarget is what backlinks lead to.
type linkTarget struct {
	id      string
	object  Object // without a Note: nothing is there
	buckets []string
}

func (r *Resolver) linkTarget(id string) linkTarget {
	o, ok := r.x.Find(id)
	if !ok {
		return linkTarget{id: id, buckets: []string{bucketOf(id)}}
	}
	return linkTarget{o.ID(), o, o.Note.buckets()}
}

// holds reports whether a reference that leads there leads to the target.
func (t linkTarget) holds(to Resolution) bool {
	if t.object.Note == nil || to.Object.Note == nil {
		return t.id != "" && t.id == to.ID
	}
	return to.ID == t.id || to.Object.within(t.object)
}

// Outlinks yields the references in an object behind a spot, in order, with those of what stands in
// it.
func (r *Resolver) Outlinks(o Object, after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for l := range linksOf(o.Note, after) {
			if !l.Source.within(o) {
				continue
			}
			l.To = r.From(o.Note, l.Ref.Target)
			if !yield(l) {
				return
			}
		}
	}
}

// linksOf yields the references of a note behind a spot, not resolved.
func linksOf(n *Note, after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for i := range n.refsBehind(after) {
			if !yield(n.link(i)) {
				return
			}
		}
	}
}

// link is a reference of the note by its position, not resolved.
func (n *Note) link(i int) Link {
	return Link{Source: n.Object(n.Refs[i].Scope), Ref: &n.Refs[i]}
}

// refsBehind yields the references of the note behind a spot, with their positions.
func (n *Note) refsBehind(after Location) iter.Seq2[int, *Ref] {
	return func(yield func(int, *Ref) bool) {
		first := n.firstBehind(after, len(n.Refs), func(i int) Location { return n.link(i).Spot() })
		for i := first; i < len(n.Refs); i++ {
			if !yield(i, &n.Refs[i]) {
				return
			}
		}
	}
}

// Broken yields the references behind a spot that lead to nothing, or to several things. It goes
// through all references of the vault.
func (r *Resolver) Broken(after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for n := range r.x.notesFrom(after.Path) {
			for l := range linksOf(n, after) {
				l.To = r.From(n, l.Ref.Target)
				if l.To.ID == "" && !l.Ref.IsFile() && !yield(l) {
					return
				}
			}
		}
	}
}
