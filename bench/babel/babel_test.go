package babel_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// seeds of the vaults that are looked at.
var seeds = []uint64{1, 2}

func TestSameSeedSameVault(t *testing.T) {
	require.Equal(t, New(5), New(5))
	require.NotEqual(t, New(5), New(6))
}

// indexOf is the index of a vault, all of whose notes come at once.
func indexOf(v Vault) *index.Index {
	c := index.Commit{Seq: 1, Time: time.Unix(0, 0), Changes: []index.Change{
		{Path: vault.SchemaFile, Text: []byte(v.Schema)},
	}}
	for _, n := range v.Notes {
		c.Changes = append(c.Changes, index.Change{Path: n.Path, Text: []byte(n.Text)})
	}
	return index.Empty().With(c)
}

func TestEveryNoteReads(t *testing.T) {
	languages := map[string]int{}
	for _, seed := range seeds {
		v := New(seed)
		x := indexOf(v)
		require.NoError(t, x.SchemaErr())
		require.Equal(t, len(v.Notes), x.Totals().Notes)
		require.Zero(t, x.Totals().Quarantined)
		for _, n := range v.Notes {
			_, err := vault.ParsePath(n.Path)
			require.NoError(t, err)
			got, ok := x.ByID(n.ID)
			require.True(t, ok, n.ID)
			require.Equal(t, index.DigestOf([]byte(n.Text)), got.Digest)
			languages[n.Language]++
		}
	}
	require.Len(t, languages, 12)
}

// TestEveryReferenceLeadsWhereItIsSaid compares all references of all notes, in both directions.
func TestEveryReferenceLeadsWhereItIsSaid(t *testing.T) {
	kinds := map[string]int{}
	for _, seed := range seeds {
		for _, v := range []Vault{New(seed), decomposed(New(seed))} {
			requireReferences(t, v)
			for _, n := range v.Notes {
				for _, r := range n.References {
					kinds[kindOf(r)]++
				}
			}
		}
	}
	for _, kind := range []string{"resolved", "ambiguous", "missing"} {
		require.Greater(t, kinds[kind], 100, kind)
	}
}

func kindOf(r Reference) string {
	switch {
	case r.ID != "":
		return "resolved"
	case len(r.Matches) > 0:
		return "ambiguous"
	}
	return "missing"
}

// requireReferences requires of each note the references that it was written with.
func requireReferences(t *testing.T, v Vault) {
	x := indexOf(v)
	to := map[string][]string{}
	for _, n := range v.Notes {
		note, _ := x.ByID(n.ID)
		var got []Reference
		for l := range x.Resolver().Outlinks(note.Object(-1), index.Location{}) {
			got = append(got, Reference{
				Target: l.Ref.Target, Line: l.Ref.Line(), ID: l.To.ID, Matches: l.To.Matches,
			})
		}
		require.ElementsMatch(t, inNotes(n.References), got, "%s:\n%s", n.Path, n.Text)
		for _, r := range n.References {
			to[r.ID] = append(to[r.ID], r.Target)
		}
	}
	requireBacklinks(t, x, v, to)
}

// inNotes are references without what they lead to elsewhere.
func inNotes(all []Reference) []Reference {
	all = slices.Clone(all)
	for i := range all {
		all[i].Elsewhere = Leading{}
	}
	return all
}

// requireBacklinks requires that each note has the references that lead to it, or into it.
func requireBacklinks(t *testing.T, x *index.Index, v Vault, to map[string][]string) {
	for _, n := range v.Notes {
		var want, got []string
		for id, targets := range to {
			if id == n.ID || strings.HasPrefix(id, n.ID+"#") {
				want = append(want, targets...)
			}
		}
		for l := range x.Resolver().Backlinks(n.ID, index.Location{}) {
			got = append(got, l.Ref.Target)
		}
		require.ElementsMatch(t, want, got, n.ID)
	}
}

// A finder looks words up, each once for all notes.
type finder struct {
	t     *testing.T
	x     *search.Index
	found map[string]map[string]bool // the notes that a query finds
}

func newFinder(t *testing.T, v Vault, language string) *finder {
	x := indexOf(v)
	var changes []search.Change
	for _, n := range v.Notes {
		note, _ := x.ByID(n.ID)
		changes = append(changes, search.Change{
			Doc: n.Path, Note: repo.SearchNote(note, []byte(n.Text)),
		})
	}
	return &finder{t, search.Empty(language).With(changes), map[string]map[string]bool{}}
}

func (f *finder) requireFound(query string, n Note) {
	if f.found[query] == nil {
		r, err := f.x.Search(search.ParseQuery(query), search.Options{Limit: 1000})
		require.NoError(f.t, err)
		f.found[query] = map[string]bool{}
		for _, h := range r.Items {
			f.found[query][h.Doc] = true
		}
	}
	require.True(f.t, f.found[query][n.Path], "%q does not find %s:\n%s", query, n.Path, n.Text)
}

func TestEveryWordOfEveryNoteFindsIt(t *testing.T) {
	for _, seed := range seeds {
		v := New(seed)
		for _, f := range []*finder{
			newFinder(t, v, "english"), newFinder(t, decomposed(v), "fr"),
		} {
			for _, n := range v.Notes {
				for _, word := range n.Words {
					for _, form := range forms(word) {
						f.requireFound(form, n)
					}
				}
			}
		}
	}
}

// forms are the ways in which a word is typed: as it is, in capital letters, composed and not, without
// its accents, and as a phrase.
func forms(word string) []string {
	list := []string{
		word, strings.ToUpper(word), norm.NFC.String(word), norm.NFD.String(word),
		norm.NFD.String(strings.ToUpper(word)), plain(word), strings.ToUpper(plain(word)), `"` + word + `"`,
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// plain is a word without accents, for who has no such keys. In scripts whose marks are vowels it is
// the word itself.
func plain(word string) string {
	bare := strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36F {
			return -1
		}
		return r
	}, norm.NFD.String(word))
	return norm.NFC.String(strings.NewReplacer("đ", "d", "ı", "i", "œ", "oe").Replace(bare))
}

func TestEveryIdentifierIsFoundInItsOtherForms(t *testing.T) {
	v := New(1)
	f := newFinder(t, v, "english")
	for _, n := range v.Notes {
		for _, id := range n.Identifiers {
			f.requireFound(strings.ToLower(id), n)
			if strings.HasPrefix(id, "v") && strings.Contains(id, ".") {
				continue // a version has no other form
			}
			parts := strings.FieldsFunc(snake(id), func(r rune) bool { return r == '_' || r == '-' })
			for _, gap := range []string{"_", "-", "."} {
				f.requireFound(strings.Join(parts, gap), n)
			}
			for _, part := range parts {
				f.requireFound(part, n)
			}
		}
	}
}

// snake parts a word before each capital letter.
func snake(id string) string {
	var b strings.Builder
	for i, r := range id {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// decomposed is a vault whose notes were typed where letters and their accents are two characters, as
// macOS gives the names of files. The paths are composed, as all paths of a vault.
func decomposed(v Vault) Vault {
	notes := slices.Clone(v.Notes)
	for i, n := range notes {
		notes[i].Text = norm.NFD.String(n.Text)
		notes[i].References = slices.Clone(n.References)
		for j, r := range n.References {
			notes[i].References[j].Target = norm.NFD.String(r.Target)
		}
	}
	return Vault{Schema: v.Schema, Notes: notes}
}
