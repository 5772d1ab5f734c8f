package index_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A named thing is a name that a note has, or an object in it.
type namedThing struct{ by, name, id, note string }

// thingsOf lists the names of all notes, as the tiers of reference/raven-rest.md §25 read them.
func thingsOf(x *index.Index) []namedThing {
	var all []namedThing
	for n := range x.Notes("") {
		add := func(by, name string, o index.Object) {
			if name != "" {
				all = append(all, namedThing{by, norm.NFC.String(name), o.ID(), n.ID})
			}
		}
		whole := index.Object{Note: n}
		add("file", path.Base(stemOf(n.ID)), whole)
		if stemOf(n.ID) != n.ID {
			add("file", path.Base(n.ID), whole)
		}
		add("title", n.Title, whole)
		objects := []index.Object{whole}
		for i := range n.Sections {
			objects = append(objects, n.Object(i))
			if n.Sections[i].DeclaredType() != "" {
				add("heading", n.Sections[i].Slug, n.Object(i))
			}
		}
		for _, o := range objects {
			if o.Type() == "person" {
				add("field", fmt.Sprint(o.Values()["name"]), o)
			}
			if v, ok := o.Values()["title"].(string); ok {
				add("title", v, o)
			}
			switch v := o.Values()["aliases"].(type) {
			case string:
				add("alias", v, o)
			case []any:
				for _, name := range v {
					add("alias", fmt.Sprint(name), o)
				}
			}
		}
	}
	return all
}

// stemOf is an id without the ending of a note that is named otherwise than in .md.
func stemOf(id string) string {
	switch ext := path.Ext(id); strings.ToLower(ext) {
	case ".md", ".markdown":
		return strings.TrimSuffix(id, ext)
	}
	return id
}

func naiveFold(s string) string {
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(width.Fold.String(s))))
}

// naive resolves a reference by going through all names once for each tier.
func naive(x *index.Index, from *index.Note, ref string) (id string, matches []string) {
	ref = norm.NFC.String(strings.TrimSpace(ref))
	base, fragment, inside := strings.Cut(ref, "#")
	base = strings.TrimSpace(strings.TrimSuffix(base, ".md"))
	if base == "" {
		if !inside || from == nil {
			return "", nil
		}
		return inNote(x, from.ID, strings.TrimSpace(fragment)), nil
	}
	found, whole := naiveTiers(x, from, base, ref, inside)
	if from != nil && len(found) > 1 {
		own := slices.DeleteFunc(slices.Clone(found), func(t namedThing) bool { return path.Dir(t.note) != path.Dir(from.ID) })
		if len(own) > 0 {
			found = own
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		if inside && !whole && !strings.Contains(found[0].id, "#") {
			return inNote(x, found[0].id, strings.TrimSpace(fragment)), nil
		}
		return found[0].id, nil
	}
	for _, t := range found {
		matches = append(matches, t.id)
	}
	slices.Sort(matches)
	return "", matches
}

// inNote is the id of what a fragment names in a note, of the note if there is no such thing.
func inNote(x *index.Index, id, fragment string) string {
	n, ok := x.ByID(id)
	if !ok || fragment == "" {
		return id
	}
	for _, is := range []func(a, b string) bool{
		func(slug, _ string) bool { return slug == fragment },
		func(_, title string) bool { return title == fragment },
		func(_, title string) bool { return naiveFold(title) == naiveFold(fragment) },
		func(slug, _ string) bool { return slug == markdown.Slug(fragment) },
	} {
		if n.Title != "" && is(n.TitleSlug, n.Title) {
			return id
		}
		for i := range n.Sections {
			if is(n.Sections[i].Slug, n.Sections[i].Title) {
				return n.Object(i).ID()
			}
		}
	}
	return id
}

// naiveTiers are the things of the first tier that has any, and whether it was the whole reference that
// named them.
func naiveTiers(x *index.Index, from *index.Note, base, ref string, inside bool) ([]namedThing, bool) {
	things := thingsOf(x)
	pick := func(is func(t namedThing) bool) []namedThing {
		var some []namedThing
		for _, t := range things {
			known := slices.ContainsFunc(some, func(o namedThing) bool { return o.id == t.id })
			if !known && is(t) {
				some = append(some, t)
			}
		}
		return slices.DeleteFunc(some, func(t namedThing) bool {
			return t.id != t.note && slices.ContainsFunc(some, func(o namedThing) bool { return o.id == t.note })
		})
	}
	slugs := map[string]string{}
	slugPath := func(s string) string {
		if _, known := slugs[s]; !known {
			slugs[s] = vault.SlugPath(naiveFold(s))
		}
		return slugs[s]
	}
	at := func(id string) []namedThing {
		if some := pick(func(t namedThing) bool { return t.note == id && t.id == id }); len(some) > 0 {
			return some
		}
		return pick(func(t namedThing) bool {
			return t.id == t.note && (slugPath(t.note) == slugPath(id) || slugPath(stemOf(t.note)) == slugPath(id))
		})
	}
	switch {
	case strings.HasSuffix(base, "/"), strings.HasSuffix(base, "/.."), strings.HasSuffix(base, "/."):
		return nil, false
	case strings.HasPrefix(base, "./"), strings.HasPrefix(base, "../"):
		if from == nil {
			return nil, false
		}
		return at(path.Join(path.Dir(from.ID), base)), false
	case base[0] == '/':
		return at(base[1:]), false
	}
	ends := func(t namedThing, is func(id string) bool) bool {
		return t.by == "file" && (is(t.note) || is(stemOf(t.note)))
	}
	forms := []func(a, b string) bool{
		func(a, b string) bool { return a == b },
		func(a, b string) bool { return naiveFold(a) == naiveFold(b) },
		func(a, b string) bool { return slugPath(a) == slugPath(b) },
	}
	var tiers []func(t namedThing) bool
	call := func(by, want string, form int) {
		tiers = append(tiers, func(t namedThing) bool { return t.by == by && forms[form](t.name, want) })
	}
	if inside {
		for _, by := range []string{"field", "title", "alias", "heading"} {
			call(by, ref, 0)
			call(by, ref, 1)
		}
	}
	whole := len(tiers)
	dirs := x.Config().Directories
	tiers = append(tiers, func(t namedThing) bool { return t.id == base }, func(t namedThing) bool {
		return dirs.Type != "" && t.id == dirs.Type+base || dirs.Page != "" && t.id == dirs.Page+base
	})
	for _, by := range []string{"file", "field", "title", "alias", "heading"} {
		for form := range 2 {
			if by != "file" || !strings.Contains(base, "/") {
				call(by, base, form)
			}
		}
	}
	tiers = append(tiers,
		func(t namedThing) bool {
			return strings.Contains(base, "/") && ends(t, func(id string) bool { return strings.HasSuffix(id, "/"+base) })
		},
		func(t namedThing) bool {
			return strings.Contains(base, "/") && ends(t, func(id string) bool { return slugPath(id) == slugPath(base) })
		})
	for _, by := range []string{"file", "field", "title", "alias", "heading"} {
		if by != "file" || !strings.Contains(base, "/") {
			call(by, base, 2)
		}
	}
	tiers = append(tiers,
		func(t namedThing) bool {
			return strings.Contains(base, "/") && ends(t, func(id string) bool { return strings.HasSuffix(slugPath(id), "/"+slugPath(base)) })
		},
		func(t namedThing) bool {
			dir := "/" + path.Dir(t.note) + "/"
			return t.by != "file" && strings.Contains(base, "/") && strings.HasSuffix(dir, "/"+path.Dir(base)+"/") &&
				slugPath(t.name) == slugPath(path.Base(base))
		})
	for i, is := range tiers {
		if some := pick(is); len(some) > 0 {
			return some, i < whole
		}
	}
	return nil, false
}

// scripts are names in twelve languages, with others that differ by case, width or accents only.
var scripts = []string{
	"Note", "note", "NOTE", "Été", "été", "ÉTE\u0301", "Größe", "GRÖSSE", "Заметка", "заметка", "Σημείωση", "ΣΗΜΕΊΩΣΗ",
	"日本語", "ノート", "ﾉｰﾄ", "笔记", "노트", "ملاحظة", "הערה", "नोट", "บันทึก", "Ｗｉｄｅ", "wide", "İnce", "Một ghi chú",
	"C#", "a-b", "A B", "v1.2",
}

// TestResolveAsTheNaive compares the resolver with a naive one on random vaults, in every tier, as notes
// come, go and are renamed; and the backlinks of each note with a walk over all references.
func TestResolveAsTheNaive(t *testing.T) {
	name := rapid.SampledFrom(scripts)
	file := name.Filter(func(s string) bool { return !strings.Contains(s, "#") })
	folder := rapid.SampledFrom([]string{"", "x/", "y/", "x/y/", "Été/"})
	rapid.Check(t, func(t *rapid.T) {
		ref := rapid.Custom(func(t *rapid.T) string {
			s := rapid.SampledFrom([]string{"", "", "", "/", "./", "../", "x/", "X/", "y/", "été/"}).Draw(t, "before")
			if rapid.IntRange(0, 9).Draw(t, "own") > 0 {
				s += name.Draw(t, "name")
			}
			return s + rapid.SampledFrom([]string{"", "", ".md", ".markdown", ".MD", "#" + name.Draw(t, "part"), "#"}).Draw(t, "behind")
		})
		text := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf("---\ntype: %s\nname: %q\n%s: %q\naliases: [%q]\n---\n%s%s\n## %s\n%s\n[[%s]] [[%s]] [t](<%s>)\n",
				rapid.SampledFrom([]string{"person", "page"}).Draw(t, "type"), name.Draw(t, "called"),
				rapid.SampledFrom([]string{"title", "other"}).Draw(t, "field"), name.Draw(t, "title"), name.Draw(t, "alias"),
				rapid.SampledFrom([]string{"# ", ""}).Draw(t, "heading"), name.Draw(t, "first"), name.Draw(t, "section"),
				rapid.SampledFrom([]string{"", "::meeting(id=note)", "::person(id=wide, name=Note)"}).Draw(t, "declares"),
				ref.Draw(t, "refers"), ref.Draw(t, "refers"), ref.Draw(t, "links"))
		})
		x := index.Empty().With(commit(1, "schema.yaml", "types: {person: {name_field: name, fields: {name: string}}}\n",
			"raven.yaml", rapid.SampledFrom([]string{"", "directories: {type: x}\n", "directories: {type: x, page: y}\n"}).
				Draw(t, "directories")))
		for seq := range rapid.IntRange(1, 3).Draw(t, "commits") {
			var pairs []string
			for range rapid.IntRange(1, 4).Draw(t, "changes") {
				p := vault.CleanPath(folder.Draw(t, "folder")+file.Draw(t, "file")) +
					rapid.SampledFrom([]string{".md", ".md", ".md", ".markdown", ".MD"}).Draw(t, "ending")
				body := "-"
				if rapid.IntRange(0, 4).Draw(t, "goes") > 0 {
					body = text.Draw(t, "text")
				}
				pairs = append(pairs, p, body)
			}
			x = x.With(commit(uint64(seq+2), pairs...))
		}
		requireAsNaive(t, x)
		for range 4 {
			r := ref.Draw(t, "argument")
			id, matches := naive(x, nil, r)
			got := x.Resolve(r)
			require.Equal(t, []any{id, matches}, []any{got.ID, got.Matches}, "%q", r)
		}
	})
}

func requireAsNaive(t *rapid.T, x *index.Index) {
	back := map[string][]string{}
	for n := range x.Notes("") {
		for i := range n.Refs {
			r := &n.Refs[i]
			id, matches := naive(x, n, r.Target)
			got := x.From(n, r.Target)
			require.Equal(t, []any{id, matches}, []any{got.ID, got.Matches}, "%q in %q", r.Target, n.ID)
			to, _, _ := strings.Cut(id, "#")
			back[to] = append(back[to], link(index.Link{Source: n.Object(r.Scope()), Ref: r, To: got}))
		}
	}
	for n := range x.Notes("") {
		r := x.Resolver()
		require.Equal(t, append([]string{}, back[n.ID]...), append([]string{}, links(r.Backlinks(n.ID, index.Location{}))...), n.ID)
		require.Equal(t, len(back[n.ID]), r.CountBacklinks(n.ID), n.ID)
	}
}
