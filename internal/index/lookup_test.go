package index_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// embedded is a note with objects in it.
const embedded = "---\ntype: date\n---\n# Monday\n\n## Standup\n::meeting(id=standup, time=09:00, who=[[people/freya]])\n\n" +
	"- @due(2026-03-06) a\n\n### Notes\n\ntext\n\n#### Idea\n::idea\n\n## Retro\n::meeting\n"

func TestObjects(t *testing.T) {
	x := of([]string{
		"schema.yaml", traitSchema, "daily/2026-03-02.md", embedded, "a.md", "---\ntype: meeting\n---\n## S\n",
	})
	require.Equal(t, []string{"a", "daily/2026-03-02#standup", "daily/2026-03-02#retro"},
		objectIDs(x.Objects("meeting", index.Location{})))
	require.Equal(t, []string{"daily/2026-03-02#retro"},
		objectIDs(x.Objects("meeting", index.Location{Path: "daily/2026-03-02.md", Line: 6})))
	require.Equal(t, []string{"a.md"}, paths(x.OfType("meeting", "")))
	require.Equal(t, []string{"a#s", "daily/2026-03-02#notes"}, objectIDs(x.Objects("section", index.Location{})))
	require.Equal(t, []string{"daily/2026-03-02#idea"}, objectIDs(x.Objects("page", index.Location{})),
		"a type that the schema does not know reads as a page")
	require.Equal(t, []string{
		"a", "daily/2026-03-02", "daily/2026-03-02#standup", "daily/2026-03-02#idea",
		"daily/2026-03-02#retro",
	}, objectIDs(x.Objects("", index.Location{})))
	require.Equal(t, 3, x.Count("meeting"))
	require.Equal(t, 2, x.Count("section"))
	require.Equal(t, 5, x.Totals().Sections)

	standup, ok := x.Find("2026-03-02#standup")
	require.True(t, ok)
	require.Equal(t, "meeting", standup.Type())
	require.Equal(t, map[string]any{
		"id": "standup", "time": "09:00", "who": markdown.Ref("people/freya"),
	}, standup.Values())
	require.Equal(t, "Standup", x.NameOf(standup))
	require.Equal(t, []string{"due"}, types(standup.Traits()))
	require.Len(t, standup.Refs(), 1)
	idea, _ := x.Find("daily/2026-03-02#idea")
	require.Equal(t, []string{"daily/2026-03-02#notes", "daily/2026-03-02#standup", "daily/2026-03-02"},
		objectIDs(idea.Parents()))
	notes, _ := x.Find("daily/2026-03-02#notes")
	require.Equal(t, "daily/2026-03-02#standup", notes.Typed().ID())
	require.Equal(t, "daily/2026-03-02#standup", standup.Typed().ID())
	note, _ := x.Find("daily/2026-03-02#monday")
	require.Nil(t, note.Section)
	_, ok = note.Parent()
	require.False(t, ok)
}

func TestTraits(t *testing.T) {
	x := of([]string{
		"schema.yaml", traitSchema,
		"people/freya.md", "---\ntype: person\ndue: 2026-03-04\nflag: true\n---\n",
		"a.md", "- @status(done) @due(2026-03-06) a @other\n- @status b\n- @flag(false) @level(3.5) c\n",
		"b.md", "@due(2026-03-01)\n@due(soon)\n@owner([[Freya]]) @owner(people/freya) @owner([[none]])\n",
	})
	require.Equal(t, []string{"a.md:1", "b.md:1", "b.md:2", "people/freya.md:3"}, spots(x.Traits("due", index.Location{})))
	require.Equal(t, []string{"b.md:2", "people/freya.md:3"},
		spots(x.Traits("due", index.Location{Path: "b.md", Line: 1, Position: 10})))
	between := func(from, to string, holds func(string) bool) []string {
		return spots(x.TraitsBetween("due", from, to, holds).After(index.Location{}))
	}
	require.Equal(t, []string{"a.md:1", "b.md:1", "people/freya.md:3"},
		between("2026-03-01", "2026-03-06", anyValue))
	require.Equal(t, []string{"b.md:1"}, between("", "2026-03-03", anyValue))
	require.Equal(t, []string{"b.md:2"}, between("", "", func(v string) bool { return v == "soon" }))
	require.Equal(t, []string{"a.md:1"}, spots(x.TraitsWith("status", "done").After(index.Location{})))
	require.Equal(t, []string{"a.md:2"}, spots(x.TraitsWith("status", "todo").After(index.Location{})), "the default")
	require.Equal(t, []string{"a.md:3"}, spots(x.TraitsWith("flag", "false").After(index.Location{})))
	require.Equal(t, []string{"b.md:3", "b.md:3"}, spots(x.TraitsWith("owner", "freya").After(index.Location{})))
	require.Equal(t, []string{"b.md:3"}, spots(x.TraitsWith("owner", "none").After(index.Location{})))
	require.Equal(t, 4, x.TraitCount("due"))
	require.Zero(t, x.TraitCount("other"))
	require.Empty(t, spots(x.Traits("other", index.Location{})))
	require.Equal(t, 11, x.Totals().Traits)
	require.Len(t, slices.Collect(x.Traits("", index.Location{})), 11)

	values := map[string]any{}
	for trait := range x.Traits("", index.Location{}) {
		v, dflt := x.TraitValue(trait)
		values[fmt.Sprintf("%s:%d %s", trait.Note.ID, trait.Line(), trait.Type)] = []any{v, dflt}
	}
	require.Equal(t, map[string]any{
		"a:1 status": []any{"done", false}, "a:1 due": []any{"2026-03-06", false},
		"a:2 status": []any{"todo", true}, "a:3 flag": []any{false, false}, "a:3 level": []any{3.5, false},
		"b:1 due": []any{"2026-03-01", false}, "b:2 due": []any{"soon", false},
		"b:3 owner":          []any{"none", false},
		"people/freya:3 due": []any{"2026-03-04", false},
	}, values)
	field := slices.Collect(note(t, x, "people/freya.md").Traits())[0]
	require.True(t, field.Field)
	require.Equal(t, "people/freya", field.Content)
}

func anyValue(string) bool { return true }

func spots(traits iter.Seq[*index.Trait]) []string {
	all := []string{}
	for t := range traits {
		all = append(all, fmt.Sprintf("%s:%d", t.Note.Path, t.Line()))
	}
	return all
}

func TestLinks(t *testing.T) {
	x := of([]string{
		"schema.yaml", "types: {person: {fields: {boss: ref, team: \"ref[]\", name: string}}}\n",
		"people/freya.md", "---\ntype: person\nname: Freya N\n---\n## Work\n",
		"people/thor.md", "---\ntype: person\nboss: freya\nteam: [people/freya, \"[[none]]\"]\n---\n[[Freya N|F]]\n",
		"z.md", "## A\n[[work]] and [[people/freya#work]]\n\n## B\n[[#a]] [[thor]] [[2026-09-09]]\n",
	})
	r := x.Resolver()
	require.Equal(t, []string{
		"people/thor:3 freya→people/freya", "people/thor:4 people/freya→people/freya",
		"people/thor:6 Freya N→people/freya",
		"z#a:2 people/freya#work→people/freya#work",
	}, links(r.Backlinks("people/freya", index.Location{})))
	require.Equal(t, []string{"z#a:2 people/freya#work→people/freya#work"},
		links(r.Backlinks("people/freya#work", index.Location{})))
	require.Equal(t, []string{"z#a:2 people/freya#work→people/freya#work"},
		links(r.Backlinks("people/freya", index.Location{Path: "z.md", Line: 2, Position: 5})))
	require.Equal(t, 4, r.CountBacklinks("people/freya"))
	require.Equal(t, []string{"z#b:5 2026-09-09→daily/2026-09-09"},
		links(r.Backlinks("daily/2026-09-09", index.Location{})))
	require.Equal(t, []string{"people/thor:4 none→", "z#a:2 work→"}, links(r.Broken(index.Location{})))
	z, _ := x.Find("z#b")
	require.Equal(t, []string{"z#b:5 #a→z#a", "z#b:5 thor→people/thor", "z#b:5 2026-09-09→daily/2026-09-09"},
		links(r.Outlinks(z, index.Location{})))
	thor := note(t, x, "people/thor.md")
	require.Equal(t, []string{"boss true true", "team true true", "team true false", " false false"}, fields(thor))
	require.Equal(t, "F", thor.Refs[3].Display)
	require.Equal(t, 9, x.Totals().Refs)

	plain := x.With(commit(2, "schema.yaml", ""))
	require.Equal(t, []string{"people/thor:4 none→", "people/thor:6 Freya N→", "z#a:2 work→"},
		links(plain.Resolver().Broken(index.Location{})), "texts are no references now, and it has no name")
}

func links(list iter.Seq[index.Link]) []string {
	all := []string{}
	for l := range list {
		all = append(all, link(l))
	}
	return all
}

func fields(n *index.Note) []string {
	all := []string{}
	for _, r := range n.Refs {
		all = append(all, fmt.Sprint(r.Field(), " ", r.InField, " ", r.Bare))
	}
	return all
}

// TestTagsBelowTags says that a tag is found with those below it, in any script, however it is written.
func TestTagsBelowTags(t *testing.T) {
	x := of([]string{
		"a.md", "#projekt/größe/x #Projekt\n", "b.md", "---\ntags: [PROJEKT, projekt/GRÖSSE]\n---\n",
		"c.md", "#projektil #日本語/東京\n", "d.md", "#Projekt\n",
	})
	tagged := func(tag string) (paths []string) {
		for in := range x.Tagged(tag, "") {
			paths = append(paths, in.Note.Path+" "+in.Tag.Name)
		}
		require.Len(t, paths, x.TagCount(tag), tag)
		return paths
	}
	require.Equal(t, []string{"a.md projekt/größe/x", "b.md PROJEKT", "d.md Projekt"}, tagged("projekt"))
	require.Equal(t, []string{"a.md projekt/größe/x", "b.md projekt/GRÖSSE"}, tagged("Projekt/Größe"))
	require.Equal(t, []string{"c.md 日本語/東京"}, tagged("日本語"))
	counts := map[string]int{}
	for tag, n := range x.Tags() {
		counts[tag] = n
	}
	require.Equal(t, map[string]int{
		"Projekt": 3, "projekt/GRÖSSE": 1, "projekt/größe/x": 1, "projektil": 1, "日本語/東京": 1,
	}, counts)
	x = x.With(commit(2, "a.md", "-", "b.md", "-", "d.md", "-"))
	require.Zero(t, x.TagCount("projekt"))
}

func TestTagsAndDays(t *testing.T) {
	x := of([]string{
		"schema.yaml", "types: {person: {fields: {born: date, seen: \"datetime[]\"}, traits: [due]}}\ntraits: {due: date}\n",
		"a.md", "---\ntags: [work, \"#Home\"]\n---\n#work #x\n",
		"b.md", "---\ntype: person\nborn: 2026-03-02\nseen: [2026-03-03T10:00, 2026-03-02]\ndue: 2026-03-02\n---\n#work\n- @due(2026-03-03) x\n",
		"c.md", "## M\n::person(born=2026-03-02)\n",
	})
	tagged := []string{}
	for in := range x.Tagged("work", "") {
		tagged = append(tagged, fmt.Sprintf("%s:%d", in.Note.Path, in.Tag.Line))
	}
	require.Equal(t, []string{"a.md:2", "b.md:7"}, tagged)
	require.Equal(t, 2, x.TagCount("work"))
	require.Equal(t, 2, x.TagCount("Work"), "case does not count")
	require.Zero(t, x.TagCount("wor"))
	for in := range x.Tagged("work", "a.md") {
		require.Equal(t, "b.md", in.Note.Path)
	}
	counts := map[string]int{}
	for tag, n := range x.Tags() {
		counts[tag] = n
	}
	require.Equal(t, map[string]int{"Home": 1, "work": 2, "x": 1}, counts)

	days := []string{}
	for d := range x.Dates("2026-03-02", "2026-03-03") {
		days = append(days, fmt.Sprintf("%s %s %s %v %d", d.Day, d.Object.ID(), d.Field, d.Trait != nil, d.Line))
	}
	require.Equal(t, []string{
		"2026-03-02 b born false 3", "2026-03-02 b seen false 4", "2026-03-02 b due true 5",
		"2026-03-02 c#m born false 2",
		"2026-03-03 b seen false 4", "2026-03-03 b due true 8",
	}, days)
	require.Equal(t, []string{"a.md", "c.md"}, paths(x.Untyped("")))
}

func TestOrderOfTimes(t *testing.T) {
	x := of([]string{"c.md", ""}, []string{"b.md", "", "a.md", ""}, []string{"c.md", "x"})
	require.Equal(t, []string{"c.md", "a.md", "b.md"}, paths(x.Created(time.Time{}, time.Time{})))
	require.Equal(t, []string{"a.md", "b.md", "c.md"}, paths(x.Modified(time.Time{}, time.Time{})))
	require.Equal(t, []string{"a.md", "b.md"}, paths(x.Created(at(2), time.Time{})))
	require.Equal(t, []string{"c.md"}, paths(x.Created(time.Time{}, at(2))))
	require.Equal(t, []string{"c.md"}, paths(x.Modified(at(3), at(4))))
	require.Empty(t, paths(x.Modified(at(4), time.Time{})))
}

// TestLookupsFindWhatIsThere compares each lookup with a walk through the vault, and says that no two
// traits have the same id.
func TestLookupsFindWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := index.Build(slices.Values(history(t)))
		seen, byType, owners := map[string]bool{}, map[string][]string{}, []string{}
		backlinks := map[string][]string{}
		for n := range x.Notes("") {
			for trait := range n.Traits() {
				require.False(t, seen[trait.ID], "%s twice", trait.ID)
				seen[trait.ID] = true
				byType[trait.Type] = append(byType[trait.Type], trait.ID)
				found, ok := x.Trait(trait.ID)
				require.True(t, ok)
				require.Same(t, trait, found)
				if v, _ := x.TraitValue(trait); trait.Type == "owner" && v == "a" {
					owners = append(owners, trait.ID)
				}
			}
			for i := range n.Refs {
				l := index.Link{Source: n.Object(n.Refs[i].Scope()), Ref: &n.Refs[i], To: x.From(n, n.Refs[i].Target)}
				name, _, _ := strings.Cut(l.To.ID, "#")
				backlinks[name] = append(backlinks[name], link(l))
			}
		}
		for _, name := range traitNames[1:] {
			require.Equal(t, append([]string{}, byType[name]...), traitIDs(x.Traits(name, index.Location{})))
			require.Equal(t, len(byType[name]), x.TraitCount(name))
		}
		def, ok := x.Schema().Trait("owner")
		if target, exists := x.ByID("a"); ok && exists && def.Type == "ref" {
			require.Equal(t, owners, traitIDs(x.TraitsWith("owner", target.ID).After(index.Location{})))
		}
		delete(backlinks, "")
		for id, want := range backlinks {
			require.Equal(t, want, links(x.Resolver().Backlinks(id, index.Location{})), id)
			require.Equal(t, len(want), x.Resolver().CountBacklinks(id))
		}
	})
}

// TestLinksGoOn takes references one page of one at a time, where several are on a line.
func TestLinksGoOn(t *testing.T) {
	x := of([]string{
		"schema.yaml", "types: {person: {fields: {boss: ref, team: \"ref[]\"}}}\n",
		"a.md", "---\n{type: person, boss: b, team: [b, b, \"[[b]]\"]}\n---\n[[b]] [[b|x]]\n", "b.md", "## b\n[[b]]",
	})
	r, after, n := x.Resolver(), index.Location{}, 0
	for {
		page := slices.Collect(r.Backlinks("b", after))
		require.Len(t, page, 7-n)
		if len(page) == 0 {
			break
		}
		after = page[0].Location()
		n++
	}
}
