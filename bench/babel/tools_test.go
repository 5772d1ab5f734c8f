package babel_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery"
	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/vault"
)

type args map[string]any

// An answer is an answer of a tool.
type answer struct {
	Data json.RawMessage
	Meta struct {
		Next string `json:"next_page_token"`
	}
}

// must calls a tool on the vault "v". The call must succeed.
func must(t *testing.T, r *rookery.Rookery, name string, in args) (a answer) {
	t.Helper()
	if name != "team_vault_create" {
		in["vault"] = "v"
	}
	data, err := json.Marshal(in)
	require.NoError(t, err)
	out, err := r.Invoke(t.Context(), name, data)
	require.NoError(t, err, name)
	require.NoError(t, json.Unmarshal(out, &a))
	return a
}

// into decodes the data of an answer.
func into[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal(a.Data, &v))
	return v
}

// TestTwelveLanguages reads, resolves and searches the vault with the tools: every
// note can be read, every reference leads to its target, and every third word of every note (with
// ROOKERY_SOAK every word) finds the note.
func TestTwelveLanguages(t *testing.T) {
	t.Parallel()
	r, err := rookery.Open(t.Context(), rookery.Config{Data: t.TempDir(), Log: leaktest.Logger(t, nil)})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	must(t, r, "team_vault_create", args{"name": "v"})
	v := New(7)
	files := []args{{"path": vault.SchemaFile, "text": v.Schema}}
	for _, n := range v.Notes {
		files = append(files, args{"path": n.Path, "text": n.Text})
	}
	must(t, r, "team_vault_import", args{"mode": "replace", "notes": files})
	words := map[string][]string{} // to the paths of the notes that have them
	for _, n := range v.Notes {
		got := must(t, r, "raven_read", args{"path": n.Path})
		require.Equal(t, n.Text, into[struct{ Content string }](t, got).Content)
		var want []Reference
		for _, ref := range n.References {
			requireResolved(t, r, ref)
			ref.Elsewhere = Leading{}
			want = append(want, ref)
		}
		requireOutlinks(t, r, n.ID, want)
		for _, w := range n.Words {
			words[w] = append(words[w], n.Path)
		}
	}
	for i, word := range slices.Sorted(maps.Keys(words)) {
		if i%3 == 0 || os.Getenv("ROOKERY_SOAK") != "" {
			requireFinds(t, r, word, words[word])
		}
	}
}

// requireOutlinks requires that a note has these references, and no others.
func requireOutlinks(t *testing.T, via *rookery.Rookery, id string, want []Reference) {
	t.Helper()
	var got []Reference
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
			r := Reference{Target: l.Raw, Line: l.Line, Matches: l.Matches}
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
func requireResolved(t *testing.T, via *rookery.Rookery, r Reference) {
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
func requireFinds(t *testing.T, via *rookery.Rookery, word string, paths []string) {
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
