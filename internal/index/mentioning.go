package index

import "iter"

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
