package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// marked is a snippet with what was looked for in brackets.
func marked(h search.Hit) string {
	var b strings.Builder
	at := 0
	for _, r := range h.Ranges {
		b.WriteString(h.Snippet[at:r[0]] + "[" + h.Snippet[r[0]:r[1]] + "]")
		at = r[1]
	}
	return b.String() + h.Snippet[at:]
}

func TestSnippets(t *testing.T) {
	far := strings.Repeat("plain text. ", 40)
	for _, c := range []struct{ text, query, want string }{
		{"One boat.", "boats", "One [boat]."},
		{"One  \r\n\n boat\tis\x00red ", "boat red", "One [boat] is [red]"},
		{"Runs readFile twice", "read_file", "Runs [readFile] twice"},
		{"Runs readFile twice", "file", "Runs read[File] twice"},
		{"in the lantern's light", "lanterns", "in the [lantern's] light"},
		{"lantern lanes land", "lan*", "[lantern] [lanes] [land]"},
		{"Un café fermé", "cafe", "Un [café] fermé"},
		{"港口的灯塔很安静", "灯塔很", "港口的[灯塔很]安静"},
		{"the ＦＵＬＬ width", "full", "the [ＦＵＬＬ] width"},
		{"bad\xffbytes boat", "boat", "bad�bytes [boat]"},
	} {
		v := vault{"n.md": c.text}
		r, err := v.index("english").Search(search.ParseQuery(c.query),
			search.Options{Text: v.text})
		require.NoError(t, err)
		require.Len(t, r.Items, 1, c.query)
		require.Equal(t, c.want, marked(r.Items[0]), c.query)
	}
	v := vault{"n.md": far + "A boat sails. " + far + "A boat meets a whale here. " + far}
	r, err := v.index("english").Search(search.ParseQuery("boat whale"),
		search.Options{Text: v.text})
	require.NoError(t, err)
	h := r.Items[0]
	require.Contains(t, marked(h), "A [boat] meets a [whale] here.")
	require.LessOrEqual(t, len(h.Snippet), 240)
	require.Greater(t, len(h.Snippet), 200)
	for _, word := range strings.Fields(h.Snippet) {
		require.Contains(t, v["n.md"], " "+word+" ")
	}
}

// TestSnippetsShowTheHit covers that a snippet comes from the body where that says as much as the
// frontmatter, and is a field of the frontmatter otherwise.
func TestSnippetsShowTheHit(t *testing.T) {
	const ferry = "---\ntype: project\ntitle: Ferry timetable\nlead: \"[[people/freya]]\"\n" +
		"tags: [winter, \n  island]\n---\n\nIntro.\n\n# Plan\n\nThe ferry sails in winter.\n"
	for _, c := range []struct {
		text, query, want string
		line              int
	}{
		{ferry, "ferry", "# Plan The [ferry] sails in winter.", 11},
		{ferry, "timetable", "title: Ferry [timetable]", 3},
		{ferry, "ferry timetable", "title: [Ferry] [timetable]", 3},
		{ferry, "freya", "lead: \"[[people/[freya]]]\"", 4},
		{ferry, "island", "tags: [winter, [island]]", 5},
		{ferry, "ferry winter", "# Plan The [ferry] sails in [winter].", 11},
		{ferry, `"ferry timetable"`, "title: [Ferry] [timetable]", 3},
		{ferry, "-zebra", "Intro.", 9},
		{ferry, "notes", "Intro.", 9},
		{"---\ntype: [person\nnote: boat\n---\nText.\n", "boat", "--- type: [person note: [boat] ---", 1},
		{"---\ntype: boat\n---\n", "boat", "type: [boat]", 2},
		{"---\n{type: boat, k: v}\n---\nText.\n", "boat", "{type: [boat], k: v}", 2},
		{"---\n# a boat\ntype: x\n---\nText.\n", "boat", "# a [boat] type: x", 2},
	} {
		v := vault{"notes/n.md": c.text}
		r, err := v.index("english").Search(search.ParseQuery(c.query),
			search.Options{Text: v.text})
		require.NoError(t, err)
		require.Len(t, r.Items, 1, c.query)
		require.Equal(t, c.want, marked(r.Items[0]), c.query)
		require.Equal(t, c.line, r.Items[0].Unit.LineStart, c.query)
	}
}

func TestSnippetsOfOddTextsAreValid(t *testing.T) {
	for _, text := range []string{
		"boat" + strings.Repeat("x", 5000),
		strings.Repeat("é", 300) + " boatx* " + strings.Repeat("é", 300),
		strings.Repeat("\xff\xfe", 300) + " boat " + strings.Repeat("\xc3", 300),
		strings.Repeat("e\u0301\u0302", 100) + "灯boat塔" + strings.Repeat("\u0e49", 300),
		"boat\n" + strings.Repeat("\n", 4000) + "boat",
	} {
		v := vault{"n.md": text}
		r, err := v.index("english").Search(search.ParseQuery("boat*"), search.Options{Text: v.text})
		require.NoError(t, err)
		require.Len(t, r.Items, 1)
		h := r.Items[0]
		require.True(t, utf8.ValidString(h.Snippet))
		require.NotEmpty(t, h.Ranges)
		for _, m := range h.Ranges {
			require.True(t, utf8.ValidString(h.Snippet[m[0]:m[1]]))
			require.Contains(t, strings.ToLower(h.Snippet[m[0]:m[1]]), "boat")
		}
	}
}

// TestSnippetShowsFormsThatBeginOtherwise: what a word counts as need not begin as it does.
func TestSnippetShowsFormsThatBeginOtherwise(t *testing.T) {
	for _, c := range []struct{ language, text, query, shows string }{
		{"english", "Then they went home.", "going", "went"},
		{"english", "The mice sleep.", "mouse", "mice"},
		{"english", "All of us, 1 by 1.", "one", "1"},
		{"english", "In jan it snows.", "january", "jan"},
		{"english", "A better way.", "good", "better"},
		{"english", "Über den Fluss.", "uber", "Über"},
		{"english", "The øre.", "ore", "øre"},
		{"german", "Ein altes Übel.", "übeln", "Übel"},
		{"german", "Die Äpfel sind reif.", "apfel", "Äpfel"},
		{"arabic", "قرأت الكتاب أمس", "كتاب", "الكتاب"},
	} {
		v := vault{"a.md": c.text}
		r, err := v.index(c.language).Search(search.ParseQuery(c.query), search.Options{Text: v.text})
		require.NoError(t, err)
		require.Len(t, r.Items, 1, c.query)
		h := r.Items[0]
		require.NotEmpty(t, h.Ranges, c.query)
		require.Equal(t, c.shows, h.Snippet[h.Ranges[0][0]:h.Ranges[0][1]])
	}
}

// TestEveryWordIsMarkedByItsTerms covers that a look at the first letters of a word excludes none that
// matches.
func TestEveryWordIsMarkedByItsTerms(t *testing.T) {
	for _, language := range []string{"english", "german", "romanian", "russian", "turkish", "irish"} {
		require.Empty(t, search.Unmarked(language, strings.Fields("kids Kinder children ʼn ĳzer ﬁre ½a xy½ İstanbul ısı şi "+
			"și Ёлка елка йод ΘΆΛΑΣΣΑ ἀρχή Đường Þoka æðarfugl œuvre ölçü Straße readFile HTTPServer read-File x.Été "+
			"go_Écran O'Été soft\u00adhyphen \u00ad-été ͺabc ＦＵＬＬ n-Été Ünder2Über mom best went t-shirt an gcapall")), language)
	}
	var texts []string
	for _, text := range generated(5, 60) {
		texts = slices.AppendSeq(texts, strings.FieldsSeq(text))
	}
	slices.Sort(texts)
	require.Empty(t, search.Unmarked("english", slices.Compact(texts)))
	texts = nil
	for r := rune(0x80); r < 0x3000; r++ {
		texts = append(texts, string(r)+"bc", "a"+string(r), "a-"+string(r)+"b", "x"+string(unicode.ToUpper(r))+"b")
	}
	for r := rune(0x3000); r < 0x10000; r++ {
		texts = append(texts, string(r)+"bc")
	}
	require.Empty(t, search.Unmarked("english", texts))
	require.Empty(t, search.Unmarked("english", []string{"語Go", "Go語Été語x", "מְגדל", "آب", "한a", "𝔸bc", "𐐀x"}))
}

// allocations returns how many objects a search with snippets allocates.
func allocations(t *testing.T, v vault, query string) float64 {
	t.Helper()
	x, q := v.index("english"), search.ParseQuery(query)
	return testing.AllocsPerRun(10, func() {
		r, err := x.Search(q, search.Options{Text: v.text})
		require.NoError(t, err)
		require.Len(t, r.Items, len(v))
	})
}

// TestSnippetsReadFewWords covers that the words of a text which cannot match are not analyzed.
func TestSnippetsReadFewWords(t *testing.T) {
	short, long := vault{"n.md": "гавань lantern"}, vault{}
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "Слово%c%c été%c%c fileRead%c%c ", 'а'+i/10, 'а'+i%10, 'a'+i/10, 'a'+i%10, 'a'+i/10, 'a'+i%10)
	}
	long["n.md"] = short["n.md"] + " " + b.String()
	few := allocations(t, short, "lantern гавань")
	require.LessOrEqual(t, allocations(t, long, "lantern гавань"), few+30, "300 words more")
}

// TestSnippetsParseNoFields covers that fields of the frontmatter are parsed only for a hit that shows one.
func TestSnippetsParseNoFields(t *testing.T) {
	plain, fields := vault{}, vault{}
	for i := range 10 {
		path, text := fmt.Sprintf("%d.md", i), "A lantern at the harbour.\n"
		plain[path] = text
		fields[path] = "---\n" + strings.Repeat("# a comment\n", 3) + "status: active\nowner: [a, b, c]\n---\n" + text
	}
	require.LessOrEqual(t, allocations(t, fields, "lantern"), allocations(t, plain, "lantern")+10)
}

// TestSnippetsReadFewPassages covers that passages without a word of the query are not read when the
// frontmatter has it.
func TestSnippetsReadFewPassages(t *testing.T) {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "# Part\n\nlaw%d\n\n", i)
	}
	head := "---\nkind: lantern\n---\n"
	few := allocations(t, vault{"n.md": head + "A harbour.\n"}, "lantern")
	require.LessOrEqual(t, allocations(t, vault{"n.md": head + b.String()}, "lantern"), few+10)
}

// TestWordsOfOtherScriptsAreNotNormalized covers that words of scripts without capital letters are compared
// by their first letters, as others are.
func TestWordsOfOtherScriptsAreNotNormalized(t *testing.T) {
	for _, text := range []string{"המגדל בנמל", "المنارة في الميناء", "नाव बगीचा", "phía Đường ở", "վաղ"} {
		require.Zero(t, search.NormalizedFor(text, "lantern"), text)
	}
	require.NotZero(t, search.NormalizedFor("½a", "lantern"))
}

// TestSnippetsReadLittle covers that words that cannot match are not examined, and that the rest of a
// passage is not read after a place that has all of its words.
func TestSnippetsReadLittle(t *testing.T) {
	text := "the harbour lantern was lit. " + strings.Repeat("a cold evening near harbour and lantern, ", 100)
	examined, marks, snippet, ranges := search.ExaminedFor(text, true, "harbour", "lantern")
	require.Less(t, examined, 210)
	require.Less(t, marks, 20)
	full, all, want, same := search.ExaminedFor(text, false, "harbour", "lantern")
	require.Equal(t, examined, full)
	require.Equal(t, 202, all)
	require.Equal(t, want, snippet)
	require.Equal(t, same, ranges)
}

// TestShortenedSearchForSnippets covers that a snippet is the same whether or not the rest of a passage is
// read, whatever the order of its words.
func TestShortenedSearchForSnippets(t *testing.T) {
	words := []string{"harbour", "lantern", "market", "ferry"}
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(words, "a-quiet-evening-by-the-sea", "and",
			"Market-ferry", "harbour-lantern")), 4, 60).Draw(rt, "words"), " ")
		for n := 1; n <= len(words); n++ {
			has := strings.Contains(text, words[0])
			for _, w := range words[:n] {
				has = has && strings.Contains(text, w)
			}
			_, _, got, ranges := search.ExaminedFor(text, has, words[:n]...)
			_, _, want, same := search.ExaminedFor(text, false, words[:n]...)
			require.Equal(rt, want, got, text)
			require.Equal(rt, same, ranges, text)
		}
	})
}

// TestSnippetsReuseMemory covers that a snippet takes the memory of its text, its ranges and an iterator only.
func TestSnippetsReuseMemory(t *testing.T) {
	text := strings.Repeat("a cold evening near the harbour, ", 40)
	require.LessOrEqual(t, search.SnippetAllocations(text, "harbour"), 3.)
}
