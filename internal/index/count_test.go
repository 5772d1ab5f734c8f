package index_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// valuesAsked are values of traits, of which histories know some.
var valuesAsked = []string{"", "a", "b", "Bee", "one", "3", "true", "false", "2026-03-02", "2026-03-04"}

// days that histories name, and one that they do not.
var days = []vault.Date{"2026-03-02", "2026-03-03", "2026-03-05", "2026-03-09"}

// spotsAsked are where pages begin: between notes, and within one.
var spotsAsked = []index.Location{
	{}, {Path: "a.md"}, {Path: "b.md", Line: 2}, {Path: "b.md", Line: 3, Position: 20},
	{Path: "x/a.md", Line: 2, Position: 3}, {Path: "zz"},
}

// TestCountsAreWalks says that what is counted is what a walk finds, and that a walk that begins at a
// spot is the rest of the one from the beginning.
func TestCountsAreWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Empty()
		for _, c := range history(t) {
			x = x.With(c)
			requireCounts(t, x)
			requireValues(t, x)
		}
	})
}

func requireCounts(t *rapid.T, x *index.Index) {
	for _, name := range traitNames[1:] {
		all := func(after index.Location) iter.Seq[*index.Trait] { return x.Traits(name, after) }
		require.Equal(t, x.TraitCount(name), requireWalk(t, all, (*index.Trait).Location), name)
	}
	everything := func(after index.Location) iter.Seq[*index.Trait] { return x.Traits("", after) }
	require.Equal(t, x.Totals().Traits, requireWalk(t, everything, (*index.Trait).Location))
	r := x.Resolver()
	for _, ref := range refNames {
		id := x.Resolve(ref).ID
		links := func(after index.Location) iter.Seq[index.Link] { return r.Backlinks(id, after) }
		require.Equal(t, r.CountBacklinks(id), requireWalk(t, links, index.Link.Location), ref)
	}
	for _, day := range days {
		require.Len(t, slices.Collect(x.DatesOn(day, "")), x.DateCount(day))
	}
	require.Len(t, slices.Collect(x.Untyped("")), x.UntypedCount())
}

// requireValues asks for the traits of values, and tells by each trait's own value which these are.
func requireValues(t *rapid.T, x *index.Index) {
	for _, name := range traitNames[1:] {
		for _, value := range valuesAsked {
			requireSet(t, x, name, x.TraitsWith(name, value))
			few := func(v string) bool { return v > "2" }
			requireSet(t, x, name, x.TraitsBetween(name, value, "z", few))
		}
		def, ok := x.Schema().Trait(name)
		if !ok || def.Type == "ref" {
			continue
		}
		value, has := "2026-03-02", 0
		for trait := range x.Traits(name, index.Location{}) {
			if typed, _ := def.Typed(trait.Value()); index.ValueText(typed) == value {
				has++
			}
		}
		require.Equal(t, has, x.TraitsWith(name, value).Count(), name)
	}
}

func requireSet(t *rapid.T, x *index.Index, name string, set index.TraitSet) {
	require.Equal(t, set.Count(), requireWalk(t, set.After, (*index.Trait).Location), name)
	var has []*index.Trait
	for trait := range x.Traits(name, index.Location{}) {
		if set.Has(trait.TraitValue) {
			has = append(has, trait)
		}
	}
	require.Equal(t, has, slices.Collect(set.After(index.Location{})))
}

// requireWalk requires that a walk goes from spot to spot, and that it can begin at each. It is the
// length of the walk.
func requireWalk[T any](
	t *rapid.T, walk func(index.Location) iter.Seq[T], spot func(T) index.Location,
) int {
	all := slices.Collect(walk(index.Location{}))
	require.True(t, slices.IsSortedFunc(all, func(a, b T) int {
		if spot(b).After(spot(a)) {
			return -1
		}
		return 1
	}), "in the order of lists, each in a spot of its own")
	for _, after := range spotsAsked {
		rest := slices.DeleteFunc(slices.Clone(all), func(v T) bool { return !spot(v).After(after) })
		require.Equal(t, spotsOf(rest, spot), spotsOf(slices.Collect(walk(after)), spot), after)
	}
	return len(all)
}

func spotsOf[T any](all []T, spot func(T) index.Location) []index.Location {
	spots := []index.Location{}
	for _, v := range all {
		spots = append(spots, spot(v))
	}
	return spots
}

// TestManyValues asks for so many that they are not looked for one by one.
func TestManyValues(t *testing.T) {
	text := "@level(-1)\n"
	for i := range 300 {
		text += "@level(" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ") x\n"
	}
	x := of([]string{"schema.yaml", "traits: {level: string}\n", "a.md", text, "b.md", text})
	set := x.TraitsBetween("level", "a", "", anyValue)
	require.Equal(t, 600, set.Count())
	require.Len(t, slices.Collect(set.After(index.Location{})), 600)
	rest := slices.Collect(set.After(index.Location{Path: "a.md", Line: 301}))
	require.Len(t, rest, 301)
	require.Equal(t, "a.md", rest[0].Note.Path)
	require.Equal(t, 2, x.TraitsWith("level", "-1").Count())
}
