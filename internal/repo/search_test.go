package repo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/bench/corpus"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/table"
)

// searchable returns the Searchable of a vault. It requires that the index and the search index
// have the same notes.
func searchable(t require.TestingT, ctx context.Context, v *repo.Vault) repo.Searchable {
	s, err := v.Searchable(ctx)
	require.NoError(t, err)
	require.Equal(t, s.Index.Totals().Notes, s.Search.Notes())
	units := 0
	for n := range s.Index.Notes("") {
		units += n.Units()
	}
	require.Equal(t, s.Search.Units(), units)
	return s
}

// found returns the paths that a query finds in a vault, best first.
func found(t *testing.T, v *repo.Vault, query string) []string {
	t.Helper()
	return hits(t, searchable(t, t.Context(), v).Search, query)
}

func hits(t require.TestingT, x *search.Index, query string) []string {
	r, err := x.Search(search.ParseQuery(query), search.Options{Limit: 1 << 20})
	require.NoError(t, err)
	paths := []string{}
	for _, h := range r.Items {
		paths = append(paths, h.Doc)
	}
	return paths
}

// TestSearchFollowsEveryWrite searches after each acknowledged write, in the process that wrote and
// in another one.
func TestSearchFollowsEveryWrite(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	other := openVault(t, e, repo.Limits{})
	finds := func(query string, paths ...string) {
		t.Helper()
		if paths == nil {
			paths = []string{}
		}
		require.ElementsMatch(t, paths, found(t, v, query), query)
		require.ElementsMatch(t, paths, found(t, other, query), query)
	}
	finds("lantern")
	change(t, v, edit{"a.md", "# A\n\nlantern\n"})
	finds("lantern", "a.md")
	change(t, v, edit{"b.md", "# B\n\nlantern harbour\n"}, edit{"a.md", "# A\n\nferry\n"})
	finds("lantern", "b.md")
	finds("ferry", "a.md")
	change(t, other, edit{"a.md", ""}, edit{"moved/c.md", "# A\n\nferry\n"})
	finds("ferry", "moved/c.md")
	change(t, v, edit{".trash/b.md", "lantern"}, edit{"b.md", ""}, edit{"_folder.md", "lantern"},
		edit{"schema.yaml", "version: 1 # lantern\n"})
	finds("lantern")
	change(t, v, edit{"b.md", "again a lantern"})
	finds("lantern", "b.md")
	change(t, v, edit{"broken.md", "---\ntags: [x\n---\n\nquarantined lantern\n"})
	finds("quarantined", "broken.md")
}

// TestSearchAfterARestart searches when no text is in memory, so that all are read from the log.
func TestSearchAfterARestart(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	for i := range 20 {
		change(t, v, edit{fmt.Sprintf("n%02d.md", i), fmt.Sprintf("# N\n\nword%02d common\n", i)})
	}
	for i := 10; i < 13; i++ {
		change(t, v, edit{fmt.Sprintf("large%02d.md", i), bulky(i)})
	}
	change(t, v, edit{"n03.md", ""})
	before := searchable(t, t.Context(), v)
	again, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1),
		Now: time.Now,
	})
	require.NoError(t, err)
	after := searchable(t, t.Context(), again)
	for _, query := range []string{"common", "word07", "word03", "x11a9"} {
		require.Equal(t, hits(t, before.Search, query), hits(t, after.Search, query), query)
	}
	require.Len(t, hits(t, after.Search, "common"), 19)
	require.Empty(t, hits(t, after.Search, "word03"))
	require.Equal(t, []string{"large11.md"}, hits(t, after.Search, "x11a9"))
	_, err = again.Rebuild(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, found(t, again, "common"), 19)
}

// bulky returns a text whose payload does not fit in an item, so that it is an object.
func bulky(seed int) string {
	var b strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&b, "x%da%d ", seed, i*i*7919%100_003)
	}
	fmt.Fprintf(&b, "x%da9\n", seed)
	return b.String()
}

func TestSearchInTheLanguageOfTheVault(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"a.md", "# A\n\nViele Häuser stehen leer.\n"}, edit{"b.md", "# B\n\nrunning\n"})
	require.Empty(t, found(t, v, "haus"))
	require.Equal(t, []string{"b.md"}, found(t, v, "run"))
	change(t, v, edit{"rookery.yaml", "language: de-AT\n"})
	require.Equal(t, []string{"a.md"}, found(t, v, "haus"))
	require.Empty(t, found(t, v, "run"))
	change(t, v, edit{"c.md", "Ein Haus"})
	require.ElementsMatch(t, []string{"a.md", "c.md"}, found(t, v, "häuser"))
	change(t, v, edit{"rookery.yaml", "language: klingon\n"})
	require.Equal(t, []string{"c.md"}, found(t, v, "haus"))
	require.Equal(t, []string{"b.md"}, found(t, v, "run"))
}

// A failing bucket cannot read objects while it is told so.
type failing struct {
	blob.Bucket
	fails bool
}

var errFails = errors.New("it fails")

func (f *failing) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	if f.fails {
		return nil, "", errFails
	}
	return f.Bucket.Get(ctx, key, off, n)
}

// TestSearchThatFailsIsTriedAgain checks that the search index is kept if a text cannot be read or
// the context ends.
func TestSearchThatFailsIsTriedAgain(t *testing.T) {
	e := engine(t)
	bucket := &failing{Bucket: e.Bucket}
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: bucket, Texts: repo.NewTexts(1),
		Now: time.Now,
	})
	require.NoError(t, err)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	for i := range 3 {
		change(t, v, edit{fmt.Sprintf("large%d.md", i), bulky(i)})
	}
	bucket.fails = true
	_, err = v.Searchable(t.Context())
	require.ErrorIs(t, err, errFails)
	bucket.fails = false
	require.Equal(t, []string{"large1.md"}, found(t, v, "x1a9"))

	change(t, v, edit{"large1.md", bulky(5)}, edit{"large2.md", ""}, edit{"more.md", bulky(6)})
	bucket.fails = true
	_, err = v.Searchable(t.Context())
	require.ErrorIs(t, err, errFails, "nothing is answered from an older state")
	bucket.fails = false
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = v.Searchable(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, found(t, v, "x1a9"))
	require.Empty(t, found(t, v, "x2a9"))
	require.Equal(t, []string{"large1.md"}, found(t, v, "x5a9"))
}

// TestSearchWhileOthersWrite checks that a writer finds its own writes, that the index and the
// search index have the same version, and that versions never decrease.
func TestSearchWhileOthersWrite(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	processes := []*repo.Vault{v, openVault(t, e, repo.Limits{})}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			own, last := processes[w%2], uint64(0)
			for i := range 15 {
				path, word := fmt.Sprintf("w%d/n%d.md", w, i%5), fmt.Sprintf("q%dz%d", w, i)
				text := fmt.Sprintf("# N\n\n%s common\n", word)
				r, err := own.Update(t.Context(), caller(), edits(edit{path, text}))
				if !isNil(t, err) {
					return
				}
				s, err := own.Searchable(t.Context())
				if !isNil(t, err) {
					return
				}
				if s.Index.Version() < max(r.Seq, last) || s.Search.Notes() != s.Index.Totals().Notes ||
					len(hits(t, s.Search, word)) != 1 {
					t.Errorf("%s at v%d is not found at v%d", word, r.Seq, s.Index.Version())
				}
				last = s.Index.Version()
			}
		})
	}
	all.Wait()
	require.Len(t, found(t, v, "common"), 20)
}

// isNil reports whether err is nil, and fails the test otherwise without ending it, for use in
// goroutines.
func isNil(t *testing.T, err error) bool {
	if err != nil {
		t.Errorf("an error: %v", err)
	}
	return err == nil
}

// TestSearchIsTheSameHoweverItCameAbout compares a vault that is searched from time to time with
// one that is opened at the end.
func TestSearchIsTheSameHoweverItCameAbout(t *testing.T) {
	words := []string{"lantern", "harbour", "ferry", "garden", "copper", "mill"}
	rapid.Check(t, func(rt *rapid.T) {
		e := repotest.Engine{Table: engine(t).Table, Bucket: engine(t).Bucket}
		v := newVault(t, e)
		for range rapid.IntRange(1, 12).Draw(rt, "commits") {
			var all []edit
			for range rapid.IntRange(1, 4).Draw(rt, "edits") {
				path := rapid.SampledFrom([]string{"a.md", "b.md", "c/d.md", ".trash/a.md",
					"rookery.yaml"}).Draw(rt, "path")
				text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 6).
					Draw(rt, "words"), " ")
				if path == "rookery.yaml" && text != "" {
					text = "language: " + rapid.SampledFrom([]string{"de", "en"}).Draw(rt, "code") + "\n"
				}
				all = append(all, edit{path, text})
			}
			change(t, v, all...)
			if rapid.Bool().Draw(rt, "search") {
				searchable(t, t.Context(), v)
			}
		}
		was, is := searchable(t, t.Context(), v), searchable(t, t.Context(), openVault(t, e, repo.Limits{}))
		for _, w := range append(words, "garden lantern mill", `"copper mill"`, "-ferry") {
			a, err := was.Search.Search(search.ParseQuery(w), search.Options{})
			require.NoError(rt, err)
			b, err := is.Search.Search(search.ParseQuery(w), search.Options{})
			require.NoError(rt, err)
			require.Equal(rt, b, a, w)
		}
	})
}

// TestEveryWordOfARealVaultFindsItsNote imports a vault written by people, and one in many
// languages.
func TestEveryWordOfARealVaultFindsItsNote(t *testing.T) {
	generated := map[string]string{}
	for f := range corpus.Vault(3, 60) {
		if strings.HasSuffix(f.Path, ".md") {
			generated[f.Path] = f.Text
		}
	}
	t.Run("generated", func(t *testing.T) { requireEveryWord(t, generated) })
	t.Run("real", func(t *testing.T) { requireEveryWord(t, realNotes(t)) })
}

// realNotes returns the notes of a vault written by people. The test is skipped if it is not
// available.
func realNotes(t *testing.T) map[string]string {
	dir := os.Getenv("ROOKERY_TEST_VAULT")
	if dir == "" {
		dir = filepath.FromSlash("../../../shared/data/kepano-obsidian")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("there is no real vault: %v; ROOKERY_TEST_VAULT names one", err)
	}
	notes := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		notes[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return notes
}

func requireEveryWord(t *testing.T, notes map[string]string) {
	v := newVault(t, engine(t))
	var all []edit
	for path, text := range notes {
		if text != "" {
			all = append(all, edit{path, text})
		}
	}
	require.NotEmpty(t, all)
	change(t, v, all...)
	s := searchable(t, t.Context(), v)
	finds, words := map[string]map[string]bool{}, 0
	for _, e := range all {
		if _, ok := s.Index.Note(e.path); !ok {
			continue
		}
		for _, w := range strings.FieldsFunc(e.text, noWord) {
			if strings.IndexFunc(w, isAlnum) < 0 {
				continue
			}
			words++
			if finds[w] == nil {
				finds[w] = map[string]bool{}
				for _, path := range hits(t, s.Search, w) {
					finds[w][path] = true
				}
			}
			require.True(t, finds[w][e.path], "%q does not find %s", w, e.path)
		}
	}
	t.Logf("%d words, %d different, of %d notes", words, len(finds), len(all))
}

func noWord(r rune) bool { return !isAlnum(r) && !unicode.In(r, unicode.M, unicode.Cf) }

func isAlnum(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }

// A countingTable counts its Gets.
type countingTable struct {
	table.Table
	gets atomic.Int64
}

func (t *countingTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	t.gets.Add(1)
	return t.Table.Get(ctx, k)
}

// TestTextsOfAnImportAreReadAtOnce reads the notes of one commit when none is in memory, with a
// cache that can contain all of them and with a smaller one.
func TestTextsOfAnImportAreReadAtOnce(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	var edits []edit
	for i := range 50 {
		edits = append(edits, edit{fmt.Sprintf("n%02d.md", i), fmt.Sprintf("# N\n\nword%02d\n", i)})
	}
	change(t, v, edits...)
	change(t, v, edit{"large.md", bulky(1) + bulky(2)}) // so that earlier texts are evicted
	for most, gets := range map[int64]int64{1 << 16: 1, 1 << 10: 50} {
		counting := &countingTable{Table: e.Table}
		again, err := repo.NewVault(repo.VaultOptions{
			Name: "team", Part: "v", Table: counting, Bucket: e.Bucket, Texts: repo.NewTexts(most),
			Now: time.Now,
		})
		require.NoError(t, err)
		idx, err := again.Read(t.Context())
		require.NoError(t, err)
		begun := counting.gets.Load()
		for i := range 50 {
			f, ok := idx.File(fmt.Sprintf("n%02d.md", i*7%50))
			require.True(t, ok)
			text, err := again.Text(t.Context(), f.Body)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("# N\n\nword%02d\n", i*7%50), string(text))
		}
		require.Equal(t, gets, counting.gets.Load()-begun)
	}
}
