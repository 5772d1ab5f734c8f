package localapp_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/bench/babel"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// TestTwelveLanguages reads, resolves and searches the vault of package babel with the tools: every
// note can be read, every reference leads to its target, and every third word of every note (with
// ROOKERY_SOAK every word) finds the note.
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
		var want []babel.Reference
		for _, r := range n.References {
			requireResolved(t, via, r)
			r.Elsewhere = babel.Leading{}
			want = append(want, r)
		}
		requireOutlinks(t, via, n.ID, want)
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

// requireOutlinks requires that a note has these references, and no others.
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

// requireResolved requires that a reference leads to its target even if no note has it.
func requireResolved(t *testing.T, via tool.Invoker, r babel.Reference) {
	t.Helper()
	got := into[struct {
		Resolved, Ambiguous bool
		ID                  string
		Matches             []string
	}](t, must(t, via, "raven_resolve", args{"reference": r.Target}))
	want := r.Elsewhere
	require.Equal(t, want.ID, got.ID, r.Target)
	require.Equal(t, want.ID != "", got.Resolved, r.Target)
	require.Equal(t, len(want.Matches) > 0, got.Ambiguous, r.Target)
	require.Equal(t, want.Matches, got.Matches, r.Target)
}

// requireFinds requires that a word finds these notes. It may find others too.
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
