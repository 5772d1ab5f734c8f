package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// MaxNearest is the largest number of ids that Nearest and NearestTraits return.
const MaxNearest = 5

// A ranking keeps the ids with the best ranks, at most MaxNearest, sorted by rank. Of equal ranks,
// the one that was added first is first.
type ranking struct{ all []ranked }

// A ranked is an id with its rank.
type ranked struct {
	id   string // of an object or a trait
	rank int    // a smaller rank is nearer
}

// add adds an id, or lowers the rank of one that was added before.
func (r *ranking) add(id string, rank int) {
	if i := slices.IndexFunc(r.all, func(a ranked) bool { return a.id == id }); i >= 0 {
		r.all[i].rank = min(r.all[i].rank, rank)
		return
	}
	if len(r.all) == MaxNearest && rank >= r.all[MaxNearest-1].rank {
		return
	}
	r.all = append(r.all, ranked{id, rank})
	slices.SortStableFunc(r.all, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
	r.all = r.all[:min(len(r.all), MaxNearest)]
}

// ids returns the ids, the nearest first.
func (r *ranking) ids() []string {
	var ids []string
	for _, a := range r.all {
		ids = append(ids, a.id)
	}
	return ids
}

// The ranks of ids that are near for other reasons than a small edit distance, which is a rank
// itself. An id whose last segment has an edit distance ranks after one with the same segment in
// another folder.
const (
	rankSame      = 0   // equal except for case
	rankName      = 1   // the last segment is a name, alias or title
	rankFolder    = 2   // the last segment is the same
	rankPrefix    = 35  // the last segment begins with the text
	rankElsewhere = 100 // added for another folder: after all ids in the same folder
)

// Nearest returns up to MaxNearest ids of objects for an id that names none, the nearest first: ids
// that differ in case, in the folder or in a few letters, and objects with the text as a name. It
// goes through all notes of the vault, unless the id contains a # and the note before it resolves.
func (x *Index) Nearest(id string) []string {
	if len(id) > maxRef {
		return nil
	}
	note, slug, inside := strings.Cut(trimRef(id), "#")
	if !inside {
		return x.nearestNotes(note)
	}
	if to := x.Resolve(note); to.Object.Note != nil {
		return to.Object.Note.nearestSections(slug)
	}
	ids := x.nearestNotes(note)
	for i, id := range ids {
		if n, ok := x.ByID(id); ok {
			if _, ok := n.Section(slug); ok {
				ids[i] = id + "#" + slug
			}
		}
	}
	return ids
}

// nearestSections returns the ids of the sections whose slugs differ in a few letters.
func (n *Note) nearestSections(slug string) []string {
	var near ranking
	measure := fault.NewMeasure(slug)
	for i := range n.Sections {
		if d, ok := measure.To(n.Sections[i].Slug); ok {
			near.add(n.Object(i).ID(), d)
		}
	}
	return near.ids()
}

// nearestNotes returns the ids of the notes near to an id without a fragment: first the objects
// that are called like its last segment, then the notes whose last segment is equal except for
// case, begins with it, or differs in a few letters. Notes in the same folder are before those in
// another. Hidden files, such as those in the trash, are left out.
func (x *Index) nearestNotes(id string) []string {
	var near ranking
	name := lastSegment(id)
	if name == "" {
		return nil
	}
	to := x.Resolve(name)
	for _, called := range append(to.Matches, to.ID)[:min(len(to.Matches)+1, MaxNearest)] {
		if o, ok := x.Find(called); ok {
			near.add(o.ID(), rankName)
		}
	}
	folder, lower := strings.TrimSuffix(id, name), strings.ToLower(name)
	measure := fault.NewMeasure(name)
	for n := range x.Notes("") {
		last := lastSegment(n.ID)
		rank, ok := rankOf(last, lower, measure)
		if !ok || n.ID[0] == '.' {
			continue
		}
		switch elsewhere := !strings.EqualFold(strings.TrimSuffix(n.ID, last), folder); {
		case elsewhere && rank == rankSame:
			rank = rankFolder
		case elsewhere:
			rank += rankElsewhere
		}
		near.add(n.ID, rank)
	}
	return near.ids()
}

// rankOf returns the rank of a name relative to another, given its lower case and measure. It
// returns false for a name that is not near. For a text of one or two bytes only an equal name
// is near, because almost any short name differs in a few letters.
func rankOf(name, lower string, measure fault.Measure) (rank int, near bool) {
	switch d, near := measure.To(name); {
	case strings.EqualFold(name, lower):
		return rankSame, true
	case near && len(lower) > 2:
		return d, true
	}
	const least = 3
	begins := len(lower) >= least && len(name) > len(lower) && strings.EqualFold(name[:len(lower)], lower)
	return rankPrefix, begins
}

// NearestTraits returns up to MaxNearest ids of traits for an id that names none, the nearest
// first: those of the same type that differ in a few letters. It goes through all traits of the
// type.
func (x *Index) NearestTraits(id string) []string {
	typ, _, ok := strings.Cut(id, "-")
	for at := range id {
		if _, defined := x.schema.Trait(id[:at]); defined && id[at] == '-' {
			typ = id[:at] // the longest type, because a type can be another one followed by a dash
		}
	}
	if !ok || len(id) > maxRef {
		return nil
	}
	var near ranking
	measure := fault.NewMeasure(id)
	for t := range x.Traits(typ, Location{}) {
		if d, ok := measure.To(t.ID); ok {
			near.add(t.ID, d)
		}
	}
	return near.ids()
}
