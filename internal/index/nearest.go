package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// MaxNearest is how many ids Nearest and NearestTraits return at most.
const MaxNearest = 5

// A ranking keeps the nearest ids.
type ranking struct{ all []ranked }

type ranked struct {
	id   string
	rank int // the less, the nearer
}

// add takes an id, unless there is one.
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

// ids are the ids, the nearest first.
func (r *ranking) ids() []string {
	var ids []string
	for _, a := range r.all {
		ids = append(ids, a.id)
	}
	return ids
}

// The ranks of ids that are near for another reason than their letters. Letters of the last segment
// that differ rank behind the same segment in another folder.
const (
	rankSame   = 0   // but for case
	rankCalled = 1   // the last segment is a name, alias or title
	rankFolder = 2   // the last segment is the same
	rankBegins = 35  // the last segment begins so
	rankAway   = 100 // behind all that are in the same folder
)

// Nearest returns ids of objects that an id may mean which names none, the nearest first: those that
// differ in case, in the folder or in a few letters, or go by the name. It looks at each note once.
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

func (x *Index) nearestNotes(id string) []string {
	var near ranking
	name := lastSegment(id)
	if name == "" {
		return nil
	}
	to := x.Resolve(name)
	for _, called := range append(to.Matches, to.ID)[:min(len(to.Matches)+1, MaxNearest)] {
		if o, ok := x.Find(called); ok {
			near.add(o.ID(), rankCalled)
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
			rank += rankAway
		}
		near.add(n.ID, rank)
	}
	return near.ids()
}

// rankOf ranks a name against another, whose lower case and measure are given. It returns false for
// one that is not near.
func rankOf(name, lower string, measure fault.Measure) (rank int, near bool) {
	switch d, near := measure.To(name); {
	case strings.EqualFold(name, lower):
		return rankSame, true
	case near && len(lower) > 2:
		return d, true
	}
	const least = 3
	begins := len(lower) >= least && len(name) > len(lower) && strings.EqualFold(name[:len(lower)], lower)
	return rankBegins, begins
}

// NearestTraits returns ids of traits that an id may mean which names none, the nearest first: those
// of the same type whose ids differ in a few letters.
func (x *Index) NearestTraits(id string) []string {
	typ, _, ok := strings.Cut(id, "-")
	for at := range id {
		if _, defined := x.schema.Trait(id[:at]); defined && id[at] == '-' {
			typ = id[:at] // the longest: a trait may be called as another with a dash behind it
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
