package localapp_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rookery/bench/babel"
	"rookery/internal/markdown"
	"rookery/internal/tool"
	"rookery/internal/vault"
)

// TestTwelveLanguages reads, resolves and searches the vault of package babel through the tools: every
// note reads, every reference leads where it was said to lead, and every third word of every note, or with
// ROOKERY_SOAK every word, finds it.
func TestTwelveLanguages(t *testing.T) {
	t.Parallel()
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	v, via := babel.New(7), local{app}
	files := map[string]string{vault.SchemaFile: v.Schema}
	for _, n := range v.Notes {
		files[n.Path] = n.Text
	}
	put(t, via, files)
	words := map[string][]string{} // to the paths of the notes that have them
	for _, n := range v.Notes {
		require.Equal(t, n.Text, read(t, via, n.Path))
		requireOutlinks(t, via, n.ID, n.References)
		for _, r := range n.References {
			requireResolved(t, via, r)
		}
		for _, w := range n.Words {
			words[w] = append(words[w], n.Path)
		}
	}
	for i, word := range slices.Sorted(maps.Keys(words)) {
		if i%3 == 0 || soaked() {
			requireFinds(t, via, word, words[word])
		}
	}
}

// requireOutlinks requires of a note these references, and no others.
func requireOutlinks(t *testing.T, via tool.Invoker, id string, want []babel.Reference) {
	t.Helper()
	var got []babel.Reference
	for token := ""; ; {
		a := must(t, via, "raven_outlinks", args{"target": id, "limit": 200, "page_token": token})
		for _, l := range into[struct {
			Items []struct {
				Line    int
				Raw     string  `json:"target_raw"`
				ID      *string `json:"target_id"`
				Matches []string
			}
		}](t, a).Items {
			r := babel.Reference{Target: l.Raw, Line: l.Line, Matches: l.Matches}
			if l.ID != nil {
				r.ID = *l.ID
			}
			got = append(got, r)
		}
		if token = a.Meta.Next; token == "" {
			break
		}
	}
	require.ElementsMatch(t, want, got, id)
}

// requireResolved requires that a reference leads where it is said to lead.
func requireResolved(t *testing.T, via tool.Invoker, r babel.Reference) {
	t.Helper()
	got := into[struct {
		Resolved, Ambiguous bool
		ID                  string
		Matches             []string
	}](t, must(t, via, "raven_resolve", args{"reference": r.Target}))
	require.Equal(t, r.ID, got.ID, r.Target)
	require.Equal(t, r.ID != "", got.Resolved, r.Target)
	require.Equal(t, len(r.Matches) > 0, got.Ambiguous, r.Target)
	require.Equal(t, r.Matches, got.Matches, r.Target)
}

// requireFinds requires that a word finds these notes; others may have it too.
func requireFinds(t *testing.T, via tool.Invoker, word string, paths []string) {
	t.Helper()
	found := map[string]bool{}
	for token := ""; ; {
		a := must(t, via, "raven_search", args{"query": word, "limit": 200, "page_token": token})
		for _, h := range into[struct {
			Items []struct {
				Path string `json:"file_path"`
			}
		}](t, a).Items {
			found[h.Path] = true
		}
		if token = a.Meta.Next; token == "" {
			break
		}
	}
	for _, path := range paths {
		require.True(t, found[path], "%q does not find %s", word, path)
	}
}

// TestReferencesOfRealNotes compares what the tools say of all references of a real vault with what
// a scan through its notes says.
func TestReferencesOfRealNotes(t *testing.T) {
	files := folder(t, realVault(t))
	notes := map[string]string{}
	for path, text := range files {
		if strings.HasSuffix(path, ".md") && !strings.HasPrefix(path, ".") {
			notes[vault.CleanPath(path)] = text
		}
	}
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	put(t, local{app}, notes)
	s, kinds := newScan(notes), map[string]int{}
	for path, text := range notes {
		var want []babel.Reference
		for _, r := range markdown.Parse([]byte(text)).References {
			ref := s.resolve(r.Target)
			ref.Line = r.Line
			want = append(want, ref)
			requireResolved(t, local{app}, ref)
			switch {
			case ref.ID != "":
				kinds["resolved"]++
			case len(ref.Matches) > 0:
				kinds["ambiguous"]++
			default:
				kinds["missing"]++
			}
		}
		requireOutlinks(t, local{app}, strings.TrimSuffix(path, ".md"), want)
	}
	require.NotEmpty(t, kinds)
	t.Logf("references of %d notes: %v", len(notes), kinds)
}

// A scan resolves references as §1.9 says, of a vault without a schema and without declarations, by
// looking at every note for every reference.
type scan struct{ notes []scanned }

// scanned is what a note and its sections go by.
type scanned struct {
	id, title string
	sections  []string // ids
	aliases   []string
}

func newScan(notes map[string]string) scan {
	var s scan
	for path, text := range notes {
		d, n := markdown.Parse([]byte(text)), scanned{id: strings.TrimSuffix(path, ".md")}
		for _, h := range d.Headings {
			if h.Title {
				n.title = h.Slug
				continue
			}
			n.sections = append(n.sections, n.id+"#"+h.Slug)
		}
		if d.Frontmatter != nil {
			for _, key := range []string{"alias", "aliases"} {
				if e, ok := d.Frontmatter.Get(key); ok {
					n.aliases = append(n.aliases, texts(e.Value)...)
				}
			}
		}
		s.notes = append(s.notes, n)
	}
	return s
}

// texts are the texts of a field with one, or with a list of them.
func texts(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, e := range v {
			all = append(all, texts(e)...)
		}
		return all
	}
	return nil
}

// resolve is a reference and what it leads to.
func (s scan) resolve(target string) babel.Reference {
	ref := strings.TrimSuffix(strings.TrimSpace(target), ".md")
	var ids []string
	if _, ok := vault.ParseDate(ref); ok {
		ids = append(ids, "daily/"+ref)
	}
	ids = append(ids, s.all(scanned.others, ref)...)
	if strings.ContainsAny(ref, "/#") {
		ids = append(ids, s.paths(ref)...)
	} else {
		ids = append(ids, s.all(scanned.names, ref)...)
	}
	return decided(target, ids)
}

// called is a name, and the id of what goes by it.
type called struct{ name, id string }

// names are the last segment of a note's id, its title, and the names of its sections.
func (n scanned) names() []called {
	list := []called{{n.id[strings.LastIndex(n.id, "/")+1:], n.id}, {n.title, n.id}}
	for _, id := range n.sections {
		_, name, _ := strings.Cut(id, "#")
		list = append(list, called{name, id})
	}
	return list
}

// others are the aliases of a note.
func (n scanned) others() []called {
	var list []called
	for _, name := range n.aliases {
		list = append(list, called{name, n.id})
	}
	return list
}

// all are the ids of what goes by a name, or, if nothing does, by another spelling of it.
func (s scan) all(names func(scanned) []called, ref string) []string {
	var same, alike []string
	for _, n := range s.notes {
		for _, c := range names(n) {
			switch {
			case c.name == ref:
				same = append(same, c.id)
			case vault.Slug(c.name) == vault.Slug(ref) && c.name != "":
				alike = append(alike, c.id)
			}
		}
	}
	if len(same) > 0 {
		return same
	}
	return alike
}

// paths are the ids that a path leads to: it is the id, or another spelling of it, or its end.
func (s scan) paths(ref string) []string {
	base, fragment, inside := strings.Cut(ref, "#")
	for _, fits := range []func(string) bool{
		func(id string) bool { return id == base },
		func(id string) bool { return vault.SlugPath(id) == vault.SlugPath(base) },
		func(id string) bool { return strings.HasSuffix(id, "/"+base) },
	} {
		var ids []string
		for _, n := range s.notes {
			switch {
			case !fits(n.id):
			case !inside:
				ids = append(ids, n.id)
			default:
				ids = append(ids, n.inside(fragment)...)
			}
		}
		if len(ids) > 0 {
			return ids
		}
	}
	return nil
}

// inside is the section that a fragment names; the title names the note.
func (n scanned) inside(fragment string) []string {
	id := n.id + "#" + markdown.Slug(fragment)
	switch {
	case fragment != "" && markdown.Slug(fragment) == n.title:
		return []string{n.id}
	case fragment != "" && slices.Contains(n.sections, id):
		return []string{id}
	}
	return nil
}

// decided is the one thing that is left when sections of other candidates are dropped, or all.
func decided(target string, ids []string) babel.Reference {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		note, _, inside := strings.Cut(id, "#")
		return inside && slices.Contains(ids, note)
	})
	if len(ids) == 1 {
		return babel.Reference{Target: target, ID: ids[0]}
	}
	return babel.Reference{Target: target, Matches: slices.Clip(ids)}
}
