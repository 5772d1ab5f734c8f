package search_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// wordsOf are the words of a text as a person would see them: what stands between spaces, without
// the signs at its edges, and what is left when it is parted at signs.
func wordsOf(text string) []string {
	apart := func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Cf)
	}
	words := strings.FieldsFunc(text, apart)
	for _, w := range strings.Fields(text) {
		if w = strings.TrimFunc(w, apart); w != "" {
			words = append(words, w)
		}
	}
	return slices.DeleteFunc(words, func(w string) bool { // the joiners of an emoji
		return strings.IndexFunc(w, func(r rune) bool { return unicode.In(r, unicode.L, unicode.N) }) < 0
	})
}

// checker looks words up, each word of each note once for all notes that have it.
type checker struct {
	t    *testing.T
	x    *search.Index
	seen map[string]map[string]bool // the notes that a query finds
}

func (c *checker) finds(query, path string) {
	found, ok := c.seen[query]
	if !ok {
		r, err := c.x.Search(search.ParseQuery(query), search.Options{Limit: 1 << 20})
		require.NoError(c.t, err)
		found = map[string]bool{}
		for _, h := range r.Items {
			found[h.Doc] = true
		}
		c.seen[query] = found
	}
	require.True(c.t, found[path], "%q does not find %s", query, path)
}

func TestEveryWordOfEveryNoteFindsIt(t *testing.T) {
	v := generated(11, 60)
	for i, text := range odd() {
		v[fmt.Sprintf("odd/%02d.md", i)] = text
	}
	for _, language := range []string{"english", "ar"} {
		c := &checker{t, v.index(language), map[string]map[string]bool{}}
		for path, text := range v {
			for _, word := range wordsOf(text) {
				c.finds(word, path)
				c.finds(strings.ToUpper(word), path)
			}
			for _, word := range wordsOf(strings.TrimSuffix(path, ".md")) {
				c.finds(word, path)
			}
		}
	}
}

// odd are texts in which words are easily lost.
func odd() []string {
	return []string{
		"the and of to be or not", "I", "x²+y½ №5 ①② Ⅷ", "naïve cafe\u0301 e\u0301\u0302x",
		"snake_case_word kebab-case-word dotted.case.word camelCaseWord HTTPServerError v2Api",
		"__init__ a__b --flag=value https://example.com/a-b?c=d#e user@example.org",
		strings.Repeat("long", 800) + " " + strings.Repeat("港", 3000),
		"soft\u00adhyphen zero\u200cwidth می\u200cخواهم ﷺ ﬁne Ⓐ", "ｶﾞｷﾞ ｱｲｳ ＡＢＣ", "ß ẞ STRASSE Straße",
		"Ὀδυσσεύς ΣΊΣΥΦΟΣ İstanbul ISPARTA ısı", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠮷野家 🚀x 👩‍👩‍👧", "한국어검색 3月4日 Go言語 v2版",
		strings.Repeat("word ", 3000) + "last", strings.Repeat("字。", 2500) + "終",
		strings.Repeat("no.spaces,only;signs/", 400) + "zebra",
		"---\nbroken: [\n---\nkept\n", "\xef\xbb\xbfbom first", "ÀÉÎ ǅ ŉ", "สวัสดีชาวโลก ບ້ານ ភាសាខ្មែរ မြန်မာ",
	}
}

func TestWordsAreFoundWithoutTheirAccents(t *testing.T) {
	v := vault{"a.md": "Crème brûlée, façade, Łódź, smørrebrød, ñandú, Ångström, đường, Ελλάς, ёлка, مُحَمَّد"}
	c := &checker{t, v.index("english"), map[string]map[string]bool{}}
	for _, q := range []string{
		"creme", "brulee", "facade", "lodz", "smorrebrod", "nandu", "angstrom", "duong", "đuong",
		"ελλας", "елка", "محمد", "fac*", "BRÛL*", "facades",
	} {
		c.finds(q, "a.md")
	}
	plain := vault{"a.md": "creme brulee facade Lodz"}
	c = &checker{t, plain.index("french"), map[string]map[string]bool{}}
	for _, q := range []string{"crème", "brûlée", "façade", "Łódź", "façades"} {
		c.finds(q, "a.md")
	}
	both := vault{"plain.md": "the resume of it", "accent.md": "the résumé of it"}
	require.Equal(t, []string{"accent.md", "plain.md"}, find(t, both, "english", "résumé"))
	require.Equal(t, []string{"plain.md", "accent.md"}, find(t, both, "english", "resume"))
}

func TestComposedAndDecomposedTextsAreTheSame(t *testing.T) {
	v := generated(12, 100)
	other := vault{}
	for path, text := range v {
		other[path] = norm.NFD.String(text)
	}
	for _, query := range []string{"forêt", "đường", "항구", "bâteau freya", "बाज़ार", "ｶﾞ"} {
		require.ElementsMatch(t, find1000(t, v.index("fr"), query),
			find1000(t, other.index("fr"), norm.NFD.String(query)), query)
	}
}

func find1000(t require.TestingT, x *search.Index, query string) []string {
	r, err := x.Search(search.ParseQuery(query), search.Options{Limit: 1000})
	require.NoError(t, err)
	return paths(r)
}

// TestHistoryMakesNoDifference folds random histories of a vault and requires of each state what
// an index answers that is made of it at once.
func TestHistoryMakesNoDifference(t *testing.T) {
	pool := generated(13, 120)
	names := slices.Sorted(maps.Keys(pool))
	queries := []string{
		"freya", "harbour quietly winter", "lan*", `"freya-holm"`, "-freya", "灯塔", "forêt", "lantren",
		"priority -done", "the", "daily 2026*", "hafenwetter",
	}
	rapid.Check(t, func(t *rapid.T) {
		now, x := vault{}, search.Empty("german")
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			var batch []search.Change
			for range rapid.IntRange(0, 5).Draw(t, "changes") {
				path := rapid.SampledFrom(names).Draw(t, "path")
				if rapid.IntRange(0, 3).Draw(t, "what") == 0 {
					delete(now, path)
					batch = append(batch, search.Change{Doc: path, Deleted: true})
					continue
				}
				now[path] = pool[rapid.SampledFrom(names).Draw(t, "text")]
				batch = append(batch, search.Change{Doc: path, Note: note(now[path])})
			}
			x = x.With(batch)
		}
		same(t, now, now.index("german"), x, queries)
	})
}

func same(t require.TestingT, v vault, want, got *search.Index, queries []string) {
	require.Equal(t, want.Notes(), got.Notes())
	require.Equal(t, want.Units(), got.Units())
	for _, query := range queries {
		o := search.Options{Text: v.text, Limit: 50}
		a, err := want.Search(search.ParseQuery(query), o)
		require.NoError(t, err)
		b, err := got.Search(search.ParseQuery(query), o)
		require.NoError(t, err)
		require.Equal(t, a, b, query)
	}
}

// TestFoldOfManyNotes goes through merges of every size.
// TestPurged holds that a purged index finds what it found before, and has nothing of notes that went.
func TestPurged(t *testing.T) {
	v := generated(5, 80)
	gone := map[string]string{}
	for i := range 9 {
		gone[fmt.Sprintf("gone/quokkapath%d.md", i)] = fmt.Sprintf("# Quokkahead %d\n\nquokkaword%d beside a heron\n", i, i)
	}
	x := v.index("english")
	for path, text := range gone {
		both := vault{path: text}
		x = x.With(both.changes())
	}
	require.Contains(t, string(x.AppendImage(nil)), "quokka")
	for path := range gone {
		x = x.With([]search.Change{{Doc: path, Deleted: true}})
	}
	p := x.Purged()
	require.NotContains(t, string(p.AppendImage(nil)), "quokka")
	require.Equal(t, x.Notes(), p.Notes())
	require.Equal(t, x.Units(), p.Units())
	for _, query := range []string{"heron", "the", "a OR i", "note", "quokka*"} {
		want, err := x.Search(search.ParseQuery(query), search.Options{Limit: 200})
		require.NoError(t, err)
		got, err := p.Search(search.ParseQuery(query), search.Options{Limit: 200})
		require.NoError(t, err)
		require.Equal(t, want, got, query)
	}
}

func TestFoldOfManyNotes(t *testing.T) {
	v := generated(14, 300)
	x := search.Empty("english")
	for _, c := range v.changes() {
		x = x.With([]search.Change{c})
	}
	for path, text := range v { // and once again, in another order
		x = x.With([]search.Change{{Doc: path, Note: note(text)}})
	}
	same(t, v, v.index("english"), x, []string{"freya", "lan*", "lantren", "灯塔 港口", "-harbour"})
	for path := range v {
		x = x.With([]search.Change{{Doc: path, Deleted: true}})
	}
	require.Zero(t, x.Notes())
	require.Zero(t, x.Units())
	require.Empty(t, find1000(t, x, "freya"))
}

func TestOldIndexesStayAsTheyAre(t *testing.T) {
	x := vault{"a.md": "old words", "b.md": "old"}.index("english")
	y := x.With([]search.Change{
		{Doc: "a.md", Note: note("new words")}, {Doc: "b.md", Deleted: true},
		{Doc: "none.md", Deleted: true}, {Doc: "c.md", Note: note("first")},
		{Doc: "c.md", Note: note("second")},
	})
	require.Equal(t, []string{"b.md", "a.md"}, find1000(t, x, "old"))
	require.Empty(t, find1000(t, x, "new"))
	require.Equal(t, []string{"a.md"}, find1000(t, y, "new"))
	require.Empty(t, find1000(t, y, "old"))
	require.Empty(t, find1000(t, y, "first"))
	require.Equal(t, []string{"c.md"}, find1000(t, y, "second"))
	require.Equal(t, 2, y.Notes())
}

func FuzzSearch(f *testing.F) {
	for _, text := range odd() {
		f.Add(text, "the -x \"a b\" c*", 3)
		f.Add("boat", text, 0)
	}
	f.Fuzz(func(t *testing.T, text, query string, section int) {
		n := note(text)
		n.Sections = append(n.Sections, search.Section{Heading: query, Start: section})
		n.Body = section
		v := vault{"a.md": text, "b.md": "boat"}
		x := search.Empty("english").With([]search.Change{
			{Doc: "a.md", Note: n}, {Doc: "b.md", Note: note("boat")},
		})
		for _, q := range []string{query, text} {
			r, err := x.Search(search.ParseQuery(q), search.Options{Text: v.text})
			require.NoError(t, err)
			require.Len(t, r.Items, r.Total)
			for _, h := range r.Items {
				for _, m := range h.Ranges {
					require.Less(t, m[0], m[1])
					require.LessOrEqual(t, m[1], len(h.Snippet))
				}
			}
		}
	})
}

// TestBuildOnSeveralProcessors makes the index of more text than one builder takes in alone, and of
// what changes in it.
func TestBuildOnSeveralProcessors(t *testing.T) {
	v := generated(16, 700)
	changes := v.changes()
	size := 0
	for _, c := range changes {
		size += len(c.Note.Text)
	}
	require.Greater(t, size, 3<<19)
	queries := []string{"freya", "lan*", "lantren", `"freya holm"`, "灯塔 港口", "-harbour", "s* -the"}
	fold := search.Empty("english")
	for part := range slices.Chunk(changes, 50) {
		fold = fold.With(part)
	}
	built := search.Empty("english").WithAll(slices.Values(changes))
	same(t, v, fold, built, queries)
	var after []search.Change
	for path, text := range v {
		if strings.Contains(text, "harbour") {
			after = append(after, search.Change{Doc: path, Deleted: true})
			delete(v, path)
			continue
		}
		v[path] = text + "\n\nrewritten\n"
		after = append(after, search.Change{Doc: path, Note: note(v[path])})
	}
	same(t, v, fold.With(after), built.WithAll(slices.Values(after)), append(queries, "rewritten"))
}

// TestBuildThatPanics: a sequence that panics ends the build.
func TestBuildThatPanics(t *testing.T) {
	changes := generated(16, 700).changes()
	require.PanicsWithValue(t, "no more", func() {
		search.Empty("english").WithAll(func(yield func(search.Change) bool) {
			for _, c := range changes {
				yield(c)
			}
			panic("no more")
		})
	})
}
