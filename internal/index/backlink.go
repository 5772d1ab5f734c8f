package index

import (
	"iter"
	"strings"
)

// Backlinks yields the references after a location that lead to an object or to something in it, by
// path, line and position. The id is one that Resolve returns; that of a day without a note has
// backlinks too. It reads only the notes with references that are written like one of the object's
// names, and the note itself.
func (r *Resolver) Backlinks(id string, after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		to := r.linkTarget(id)
		names := r.namesTo(to)
		for n := range withNote(r.x.notesByAny(names.all, after.Path), to.object.Note, after.Path) {
			for i, ref := range n.refsAfter(after) {
				// References such as `#part` are not in the bucket of the note, so those of the
				// note itself are checked one by one.
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

// withNote yields notes, which must be sorted by path, with another note inserted at its place. It
// leaves out other if it is nil or its path is before from, and yields it once if notes has it too.
// Backlinks uses it because a note's references to its own parts are in no bucket of the note.
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

// CountBacklinks returns the number of references that Backlinks yields from the beginning. It adds
// up counts of the index, unless some references depend on the note that they are in; then it goes
// through Backlinks. The former takes time in proportion to the number of distinct texts of such
// references.
func (r *Resolver) CountBacklinks(id string) int {
	to := r.linkTarget(id)
	names := r.namesTo(to)
	// If every reference with one of the names leads to the object, whatever note it is in, the
	// counts suffice.
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

// isOwn reports whether a reference names a part of its own note, as `#part` does.
func (r *Ref) isOwn() bool { return strings.HasPrefix(r.Target, "#") }

// A namesToObject is the set of names of references that may lead to an object. It is fixed if all
// of them lead there, whatever note they are in. Then the number of backlinks is a sum of counts.
type namesToObject struct {
	nameSet
	fixed bool
}

// namesTo returns the names of the references that may lead to an object, or to something in it. It
// looks at each distinct text of a reference in the buckets of the object, not at each reference.
func (r *Resolver) namesTo(to linkTarget) namesToObject {
	names, fixed := []string{}, true
	for _, bucket := range to.buckets {
		prefix := byRef.name(key(bucket, ""))
		for name := range r.x.countedNames(prefix, prefix) {
			written := name[len(prefix):]
			// What a relative reference leads to depends on its note. It is kept as a candidate,
			// and the result is not fixed.
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

// mayLead reports whether a reference with this text leads to the target, from at least one note.
func (r *Resolver) mayLead(written string, to linkTarget) bool {
	t := r.target(written)
	for _, c := range t.candidates {
		if to.holds(t.within(c)) {
			return true
		}
	}
	return false
}

// A linkTarget is the object, or the day without a note, whose backlinks are asked for.
type linkTarget struct {
	id      string
	object  Object // its Note is nil if there is no object with the id
	buckets []string
}

// linkTarget returns the target with an id. An id without an object is a target too.
func (r *Resolver) linkTarget(id string) linkTarget {
	o, ok := r.x.Find(id)
	if !ok {
		return linkTarget{id: id, buckets: []string{bucketOf(id)}}
	}
	return linkTarget{o.ID(), o, o.Note.buckets()}
}

// holds reports whether a resolved reference leads to the target, or to something in it. It is
// false for an ambiguous reference, whose ID is empty.
func (t linkTarget) holds(to Resolution) bool {
	// The target is a day without a note, or the reference leads to one. Only the ids can be
	// compared.
	if t.object.Note == nil || to.Object.Note == nil {
		return t.id != "" && t.id == to.ID
	}
	return to.ID == t.id || to.Object.within(t.object)
}

// Outlinks yields the references after a location that are in an object, or in something in it, in
// text order.
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

// linksOf yields the references of a note after a location, in text order. It does not resolve
// them.
func linksOf(n *Note, after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for i := range n.refsAfter(after) {
			if !yield(n.link(i)) {
				return
			}
		}
	}
}

// link returns the i-th reference of the note. It does not resolve it.
func (n *Note) link(i int) Link {
	return Link{Source: n.Object(n.Refs[i].Scope()), Ref: &n.Refs[i]}
}

// refsAfter yields the references of the note after a location, with their positions in n.Refs.
// For a location in a note before this one it yields all, and none for one after it.
func (n *Note) refsAfter(after Location) iter.Seq2[int, *Ref] {
	return func(yield func(int, *Ref) bool) {
		first := n.firstAfter(after, len(n.Refs), func(i int) Location { return n.link(i).Location() })
		for i := first; i < len(n.Refs); i++ {
			if !yield(i, &n.Refs[i]) {
				return
			}
		}
	}
}

// Buckets returns the buckets of the names of the note and of the objects in it. Every reference to
// one of them is in one of these buckets, except for references in the note itself that name only a
// part of it (`#part`).
func (n *Note) Buckets() []string { return n.buckets() }

// Mentioning yields, by path, the notes with a reference, or a trait whose value is a reference, in
// one of the buckets. Such a reference can lead to a note with a name in that bucket, or to another
// note. Notes with a trait that is a list of references are always yielded, independent of its
// values. It is for callers that must find every note whose references a change of names can
// affect.
func (x *Index) Mentioning(buckets []string) iter.Seq[*Note] {
	var names []string
	inBuckets := func(prefix func(bucket string) string) {
		for _, bucket := range buckets {
			p := prefix(bucket)
			for name := range x.countedNames(p, p) {
				names = append(names, name)
			}
		}
	}
	inBuckets(func(bucket string) string { return byRef.name(key(bucket, "")) })
	for _, def := range x.schema.Traits {
		switch {
		case !def.IsRef():
		case def.Type == "ref":
			inBuckets(func(bucket string) string { return valueName(def.Name, key(bucket, "")) })
		default:
			names = append(names, byTrait.name(def.Name))
		}
	}
	return x.notesByAny(names, "")
}
