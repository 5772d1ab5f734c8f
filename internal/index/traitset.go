package index

import (
	"iter"
	"strings"
)

// A TraitSet is the traits of a type that have one of several values, in one state of the vault. It
// contains the names of the entries of these values, not the traits: Count adds up counts, Notes
// walks the entries, and Has tests a single value. It is immutable and safe for concurrent use.
type TraitSet struct {
	x     *Index
	typ   string
	names nameSet
}

// TraitsWith returns the traits of a type with a value. The value is a ValueText. For a trait that
// is a reference, values with the same object are equal.
func (x *Index) TraitsWith(typ, value string) TraitSet {
	def, ok := x.schema.Trait(typ)
	switch {
	case !ok:
		return TraitSet{x: x, typ: typ}
	case def.Type == "ref":
		return x.traitsTo(typ, value)
	}
	return TraitSet{x, typ, newNameSet([]string{valueName(typ, clean(value))})}
}

// TraitsBetween returns the traits of a type whose ValueTexts are between from and to, both
// included, and for which holds returns true. Texts are compared bytewise, as dates sort. An empty
// from or to leaves that end open.
func (x *Index) TraitsBetween(typ, from, to string, holds func(value string) bool) TraitSet {
	var names []string
	if _, ok := x.schema.Trait(typ); !ok {
		return TraitSet{x: x, typ: typ}
	}
	prefix := valueName(typ, "")
	gaps, passed, sum := 0, false, 0
	for name, n := range x.countedNames(prefix, prefix+clean(from)) {
		value := name[len(prefix):]
		if to != "" && value > to {
			break
		}
		before := passed
		if passed = holds(value); passed {
			names = append(names, name)
			sum += n
		} else if before {
			gaps++
		}
	}
	// The names are consecutive in the index, except for a tail that holds rejected. Then
	// membership is a comparison with both ends, without a map.
	if gaps == 0 || gaps == 1 && !passed {
		return TraitSet{x, typ, nameSet{all: names, isRange: true, sum: sum}}
	}
	set := newNameSet(names)
	set.sum = sum
	return TraitSet{x, typ, set}
}

// traitsTo returns the traits of a type whose reference leads to the same object as value. It
// resolves each distinct text of such a reference in the buckets of the object. If value leads to
// nothing, the traits with the same text are the result.
func (x *Index) traitsTo(typ, value string) TraitSet {
	r := x.Resolver()
	want := r.Resolve(value).ID
	buckets := []string{bucketOf(value)}
	if o, ok := x.Find(want); ok {
		buckets = o.Note.buckets()
	}
	var names []string
	for _, bucket := range buckets {
		prefix := valueName(typ, key(bucket, ""))
		for name := range x.countedNames(prefix, prefix) {
			written := name[len(prefix):]
			same := written == clean(value)
			if want != "" {
				same = r.Resolve(written).ID == want
			}
			if same {
				names = append(names, name)
			}
		}
	}
	return TraitSet{x, typ, newNameSet(names)}
}

// valueName returns the name of the entries of traits with a value.
func valueName(typ, value string) string { return byValue.name(key(typ, value)) }

// After yields the traits after a location, in the order of Index.Traits.
func (s TraitSet) After(after Location) iter.Seq[*Trait] {
	return traitsOf(s.Notes(after.Path), s.typ, after, s.Has)
}

// Count returns the number of traits. It reads no notes.
func (s TraitSet) Count() int { return s.names.count(s.x) }

// Has reports whether traits with this value are in the set.
func (s TraitSet) Has(said *TraitValue) bool {
	return said.Defined && said.Type == s.typ && s.names.has(said.entry)
}

// manyValues is the largest number of values for which Notes looks up each one.
const manyValues = 256

// Notes yields, by path and from a path on, all notes that have a trait of the set. If the set has
// many values, it yields all notes with a trait of the type.
func (s TraitSet) Notes(from string) iter.Seq[*Note] {
	if len(s.names.all) > manyValues {
		return s.x.notesBy(byTrait.name(s.typ), from)
	}
	return s.x.notesByAny(s.names.all, from)
}

// NotesWithTrait yields, by path and from a path on, the notes that have an annotation of a type.
func (x *Index) NotesWithTrait(typ, from string) iter.Seq[*Note] {
	return x.notesBy(byTrait.name(typ), from)
}

// A nameSet is a set of names of entries that have counts. A run needs no map: most ranges of dates
// and numbers are one.
type nameSet struct {
	all     []string
	set     map[string]bool // nil if all has at most one name, or is a run
	isRange bool            // all is sorted, and contains every name between its first and its last
	sum     int             // the sum of the counts; 0 if it is not known yet
}

// newNameSet returns the set of these names.
func newNameSet(names []string) nameSet {
	s := nameSet{all: names}
	if len(names) > 1 {
		s.set = make(map[string]bool, len(names))
		for _, name := range names {
			s.set[name] = true
		}
	}
	return s
}

// has reports whether a name is in the set.
func (s nameSet) has(name string) bool {
	if s.isRange {
		return len(s.all) > 0 && s.all[0] <= name && name <= s.all[len(s.all)-1]
	}
	if s.set == nil {
		return len(s.all) > 0 && s.all[0] == name
	}
	return s.set[name]
}

// count returns the sum of the counts of the names.
func (s nameSet) count(x *Index) int {
	if s.sum > 0 {
		return s.sum
	}
	sum := 0
	for _, name := range s.all {
		n, _ := x.counts.Get(name)
		sum += n
	}
	return sum
}

// countedNames yields the names with counts that begin with a prefix and are not less than from,
// with the counts.
func (x *Index) countedNames(prefix, from string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		x.counts.Ascend(from, func(name string, n int) bool {
			return strings.HasPrefix(name, prefix) && yield(name, n)
		})
	}
}
