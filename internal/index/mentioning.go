package index

import "iter"

// Buckets returns the buckets of the names of the note and of the objects in it. Every reference to one of
// them is in one of these buckets, but for those inside the note that name a part of it alone (`#part`).
func (n *Note) Buckets() []string { return n.buckets() }

// Mentioning yields, by path, the notes with a reference, or the value of a trait that is a reference, in one
// of some buckets. Such a reference may lead to a note with a name in that bucket, or to another note. Notes
// with a trait that is a list of references are yielded whatever they refer to.
func (x *Index) Mentioning(buckets []string) iter.Seq[*Note] {
	var names []string
	inBuckets := func(prefix func(bucket string) string) {
		for _, bucket := range buckets {
			p := prefix(bucket)
			for name := range x.summed(p, p) {
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
