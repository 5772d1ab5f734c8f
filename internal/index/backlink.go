package index

import (
	"iter"
	"slices"
)

// Backlinks yields the references behind a spot that lead to an object or to something in it, by
// path, line and position. The id is one that Resolve gives; that of a day without a note has
// backlinks too. It looks only at references that are written as one of the object's names is.
func (r *Resolver) Backlinks(id string, after Spot) iter.Seq[Link] {
	to := r.target(id)
	return func(yield func(Link) bool) {
		var lists []iter.Seq[Link]
		for _, b := range to.buckets {
			lists = append(lists, r.x.linksIn(b, after))
		}
		for l := range merge(lists, Link.Spot) {
			l.To = r.Resolve(l.Ref.Target)
			if to.holds(l.To) && !yield(l) {
				return
			}
		}
	}
}

// CountBacklinks is the number of references that Backlinks yields from the beginning.
func (r *Resolver) CountBacklinks(id string) int {
	to, count := r.target(id), 0
	for _, b := range to.buckets {
		for l := range r.x.linksIn(b, Spot{}) {
			if to.holds(r.Resolve(l.Ref.Target)) {
				count++
			}
		}
	}
	return count
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

// linksIn yields the references of a bucket behind a spot, by spot, not resolved.
func (x *Index) linksIn(bucket string, after Spot) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for n := range x.notesBy(byRef.name(bucket), after.Path) {
			for l := range linksOf(n, after) {
				if l.Ref.bucket == bucket && !yield(l) {
					return
				}
			}
		}
	}
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
		for i := range n.Refs {
			l := Link{Source: n.Object(n.Refs[i].Scope), Ref: &n.Refs[i]}
			if l.Spot().after(after) && !yield(l) {
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

// merge yields what is in several sequences, each sorted by spot, as one that is.
func merge[T any](lists []iter.Seq[T], spot func(T) Spot) iter.Seq[T] {
	if len(lists) == 1 {
		return lists[0]
	}
	return func(yield func(T) bool) {
		var heads []head[T]
		for _, list := range lists {
			next, stop := iter.Pull(list)
			defer stop()
			if v, ok := next(); ok {
				heads = append(heads, head[T]{v, next})
			}
		}
		for len(heads) > 0 {
			first := 0
			for i := range heads {
				if spot(heads[first].value).after(spot(heads[i].value)) {
					first = i
				}
			}
			if !yield(heads[first].value) {
				return
			}
			ok := false
			if heads[first].value, ok = heads[first].next(); !ok {
				heads = slices.Delete(heads, first, first+1)
			}
		}
	}
}

// A head is the first value of a sequence that is not taken yet.
type head[T any] struct {
	value T
	next  func() (T, bool)
}
