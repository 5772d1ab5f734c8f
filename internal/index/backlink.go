package index

import (
	"iter"
)

// Backlinks yields the references behind a spot that lead to an object or to something in it, by
// path, line and position. The id is one that Resolve gives; that of a day without a note has
// backlinks too. It looks only at references that are written as one of the object's names is.
func (r *Resolver) Backlinks(id string, after Spot) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		names := r.namesTo(id)
		for n := range r.x.notesByAny(names.all, after.Path) {
			for i, ref := range n.refsBehind(after) {
				if !names.has(ref.name) {
					continue
				}
				l := n.link(i)
				l.To = r.Resolve(ref.Target)
				if !yield(l) {
					return
				}
			}
		}
	}
}

// CountBacklinks is the number of references that Backlinks yields from the beginning. It looks at no
// note that refers.
func (r *Resolver) CountBacklinks(id string) int { return r.namesTo(id).count(r.x) }

// namesTo are the names of the references that lead to an object, or to something in it.
func (r *Resolver) namesTo(id string) nameSet {
	to := r.target(id)
	var names []string
	for _, bucket := range to.buckets {
		prefix := byRef.name(key(bucket, ""))
		for name := range r.x.summed(prefix, prefix) {
			if to.holds(r.Resolve(name[len(prefix):])) {
				names = append(names, name)
			}
		}
	}
	return newNameSet(names)
}

// A linkTarget is what backlinks lead to.
type linkTarget struct {
	id      string
	object  Object // without a Note: nothing is there
	buckets []string
}

func (r *Resolver) target(id string) linkTarget {
	o, ok := r.x.Find(id)
	if !ok {
		return linkTarget{id: id, buckets: []string{bucketOf(id)}}
	}
	return linkTarget{o.ID(), o, r.x.buckets(o.Note)}
}

// holds reports whether a reference that leads there leads to the target.
func (t linkTarget) holds(to Resolution) bool {
	if t.object.Note == nil || to.Object.Note == nil {
		return t.id == to.ID
	}
	return to.ID == t.id || to.Object.within(t.object)
}

// Outlinks yields the references in an object behind a spot, in order, with those of what stands in
// it.
func (r *Resolver) Outlinks(o Object, after Spot) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for l := range linksOf(o.Note, after) {
			if !l.Source.within(o) {
				continue
			}
			l.To = r.Resolve(l.Ref.Target)
			if !yield(l) {
				return
			}
		}
	}
}

// linksOf yields the references of a note behind a spot, not resolved.
func linksOf(n *Note, after Spot) iter.Seq[Link] {
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
func (n *Note) refsBehind(after Spot) iter.Seq2[int, *Ref] {
	return func(yield func(int, *Ref) bool) {
		first := n.firstBehind(after, len(n.Refs), func(i int) Spot { return n.link(i).Spot() })
		for i := first; i < len(n.Refs); i++ {
			if !yield(i, &n.Refs[i]) {
				return
			}
		}
	}
}

// Broken yields the references behind a spot that lead to nothing, or to several things. It goes
// through all references of the vault.
func (r *Resolver) Broken(after Spot) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for n := range r.x.notesFrom(after.Path) {
			for l := range linksOf(n, after) {
				l.To = r.Resolve(l.Ref.Target)
				if l.To.ID == "" && !yield(l) {
					return
				}
			}
		}
	}
}
