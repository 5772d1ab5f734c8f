package search_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/rookeryhq/rookery/internal/search"
)

// start is when the memories of tests begin.
var start = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC) // a Monday

// A turn is a memory of a test: what one says in a thread, so many minutes after start.
type turn struct {
	who, text, thread string
	minute            int
}

// note is what is searched of a turn.
func (m turn) note(seq int) *search.Note {
	return &search.Note{Text: []byte(m.text), Memory: &search.MemoryFields{
		Name: m.text, Author: m.who, Persons: []search.Person{{Name: m.who}}, Thread: m.thread,
		Date: start.Add(time.Duration(m.minute) * time.Minute), Seq: uint64(seq),
	}}
}

// talk is some turns, by id.
type talk map[string]turn

func (t talk) changes() []search.Change {
	var list []search.Change
	for i, id := range slices.Sorted(maps.Keys(t)) {
		list = append(list, search.Change{Doc: id, Note: t[id].note(i)})
	}
	return list
}

func (t talk) index() *search.Index {
	return search.New(search.Memories(), "english").With(t.changes())
}

// conversation is a talk in which each turn is in one thread, a minute after the one before.
func conversation(lines ...string) talk {
	t := talk{}
	for i, line := range lines {
		who, text, _ := strings.Cut(line, ": ")
		t[fmt.Sprintf("t%02d", i)] = turn{who, text, "one", i}
	}
	return t
}

// recall are all hits of a plain query.
func recall(t require.TestingT, x *search.Index, query string) []search.Hit {
	r, err := x.Search(search.PlainQuery(query), search.Options{Limit: 1 << 20, Explain: true})
	require.NoError(t, err)
	require.Len(t, r.Items, r.Total)
	return r.Items
}

// best are the best five things that a plain query finds.
func best(t require.TestingT, x *search.Index, query string) []string {
	r, err := x.Search(search.PlainQuery(query), search.Options{Limit: 5})
	require.NoError(t, err)
	return paths(r)
}

func TestAnAnswerIsFoundByItsQuestion(t *testing.T) {
	x := conversation(
		"ann: What did you paint for the exhibition last week?",
		"bob: A lighthouse in the fog.",
		"ann: Lovely! My sister would like it.",
		"bob: I will send you a photo of the exhibition soon.",
	).index()
	hits := recall(t, x, "Which picture did somebody paint for the exhibition")
	require.Equal(t, "t00", hits[0].Doc)
	answer := slices.IndexFunc(hits, func(h search.Hit) bool { return h.Doc == "t01" })
	require.GreaterOrEqual(t, answer, 0, "a unit without a word of the query is found by the one before it")
	require.Positive(t, hits[answer].Why.Parts.Neighbours)
	require.Zero(t, hits[answer].Why.Parts.Text)
	require.Equal(t, search.Fuzzy, hits[answer].Why.Match)
}

func TestAGapEndsAThread(t *testing.T) {
	t0 := turn{"ann", "Which boat was repainted?", "one", 0}
	for minute, found := range map[int]bool{1: true, 240: true, 241: false} {
		x := talk{"a": t0, "b": {"bob", "The heron.", "one", minute}, "c": {"bob", "The seal.", "two", 1}}.index()
		hits := recall(t, x, "boat repainted")
		require.Equal(t, found, len(hits) == 2, "%d minutes later", minute)
	}
}

func TestThePersonAskedForComesFirst(t *testing.T) {
	x := talk{
		"a1": {"ann", "my favourite harbour dish is the fish soup", "", 0},
		"b1": {"bob", "my favourite harbour dish is the fish soup pie", "", 1},
		"c1": {"carol", "bob likes the favourite dish of the harbour", "", 2},
	}.index()
	hits := recall(t, x, "What is Bob's favourite dish in the harbour?")
	require.Equal(t, "b1", hits[0].Doc)
	require.Positive(t, hits[0].Why.Parts.Person)
	require.Zero(t, hits[1].Why.Parts.Person)
	for _, h := range recall(t, x, "What dish do Ann and Bob like?") {
		require.Zero(t, h.Why.Parts.Person, "two persons are named")
	}
	for _, h := range recall(t, x, "the favourite dish") {
		require.Zero(t, h.Why.Parts.Person)
	}
}

func TestASlipInANameIsAName(t *testing.T) {
	x := talk{
		"a1": {"tomas", "my favourite harbour dish is the fish soup", "", 0},
		"b1": {"alice", "my favourite harbour dish is the fish soup", "", 1},
	}.index()
	hits := recall(t, x, "What is toams' favourite dish in the harbour?")
	require.Equal(t, "a1", hits[0].Doc)
	require.Positive(t, hits[0].Why.Parts.Person)
}

// TestPagesAreOneRanking holds that pages of any size, which need not rank all that is found, are those of the whole.
func TestPagesAreOneRanking(t *testing.T) {
	m := talk{}
	for i, goal := range goals(900) {
		m[fmt.Sprintf("m%03d", i)] = turn{[]string{"ann", "bob"}[i%2], goal, fmt.Sprint(i % 60), i}
	}
	x := m.index()
	for _, query := range []string{"fix the login page", "deploy bob's cache of the team", m["m007"].text, "modulebrabrabra"} {
		all := recall(t, x, query)
		for _, limit := range []int{1, 5, 150, 250} {
			var got []string
			var after *search.Cursor
			for len(got) < min(len(all), 3*limit) {
				r, err := x.Search(search.PlainQuery(query), search.Options{Limit: limit, After: after})
				require.NoError(t, err)
				require.Equal(t, len(all), r.Total, query)
				require.NotEmpty(t, r.Items)
				got = append(got, paths(r)...)
				after = r.Items[len(r.Items)-1].Cursor()
			}
			for i, id := range got {
				require.Equal(t, all[i].Doc, id, "%s: %d of pages of %d", query, i, limit)
			}
		}
	}
}

func TestPersonsOfSeveralWords(t *testing.T) {
	add := func(x *search.Index, id, text string, p ...search.Person) *search.Index {
		return x.With([]search.Change{{Doc: id, Note: &search.Note{
			Text: []byte(text), Memory: &search.MemoryFields{Persons: p},
		}}})
	}
	x := search.New(search.Memories(), "english")
	x = add(x, "a", "deploy the harbour", search.Person{Name: "release-bot", Whole: true})
	x = add(x, "b", "deploy the harbour", search.Person{Name: "Alice Holm"})
	x = add(x, "c", "deploy the harbour", search.Person{Name: "Alice Berg"})
	theirsIn := func(x *search.Index, query string) (all []string) {
		for _, h := range recall(t, x, query) {
			if h.Why.Parts.Person > 0 {
				all = append(all, h.Doc)
			}
		}
		slices.Sort(all)
		return all
	}
	theirs := func(query string) []string { return theirsIn(x, query) }
	require.Empty(t, theirs("the release deploy"), "one word of an agent's id is no name")
	require.Equal(t, []string{"a"}, theirs("what did release-bot deploy"))
	require.Empty(t, theirs("what did alice deploy"), "there are two of that name")
	for _, h := range recall(t, x, "what did alice deploy") {
		require.Positive(t, h.Why.Parts.Text)
	}
	require.Equal(t, []string{"c"}, theirs("what did Alice Berg deploy"))
	require.Empty(t, theirs("what did Holm and Berg deploy"))
	plain := add(x, "d", "deploy the harbour", search.Person{Name: "Alice"})
	require.Equal(t, []string{"d"}, theirsIn(plain, "what did alice deploy"), "one has the whole name")
	require.Equal(t, []string{"c"}, theirsIn(plain, "what did Alice Berg deploy"))
	one := x.With([]search.Change{{Doc: "c", Deleted: true}})
	require.Equal(t, []string{"b"}, theirsIn(one, "what did alice deploy"), "there is one of that name")
	x = x.With([]search.Change{{Doc: "c", Deleted: true}})
	require.Empty(t, theirs("what did Berg deploy"), "nothing of the person is left")
}

func TestADateIsFoundByItsWords(t *testing.T) {
	x := talk{"a": {"ann", "a walk", "", 0}, "b": {"ann", "a walk", "", 60 * 24 * 40}}.index()
	for query, want := range map[string]string{
		"the walk in May 2026": "a", "walk of june": "b", "walk on Monday": "a", "4 may": "a", "walk jun": "b",
	} {
		require.Equal(t, want, recall(t, x, query)[0].Doc, query)
	}
}

func TestSignsInAPlainQueryMeanNothing(t *testing.T) {
	x := conversation("ann: run go test with the race detector", "bob: the build broke on linux").index()
	for _, query := range []string{
		"go test -race", "-race", `"race detector`, `"no such words" race`, "race*", strings.Repeat("race -x \"y\" ", 100_000),
	} {
		require.Equal(t, "t00", recall(t, x, query)[0].Doc)
	}
	require.Empty(t, recall(t, x, `- "" *`))
}

func TestQuotesMakeAnExactMatch(t *testing.T) {
	m := conversation("ann: the harbour light broke", "bob: the light of the harbour is broken today")
	x := m.index()
	r, err := x.Search(search.PlainQuery(`why "harbour light" failed`), search.Options{
		Explain: true, Text: func(id string) ([]byte, error) { return []byte(m[id].text), nil },
	})
	require.NoError(t, err)
	for _, h := range r.Items {
		require.Equal(t, h.Doc == "t00", h.Why.Match == search.Exact, h.Doc)
	}
}

// goals are texts of which each has a word of its own.
func goals(n int) []string {
	r := rand.New(rand.NewPCG(5, 5))
	verbs := []string{"fix", "add", "remove", "document", "measure", "refactor", "deploy", "test"}
	things := []string{"login page", "payment queue", "search index", "harbour ferry timetable", "release pipeline", "cache"}
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s the %s of module%s for the team", verbs[r.IntN(len(verbs))],
			things[r.IntN(len(things))], wordOf(i))
	}
	return all
}

// wordOf is a word for a number, unlike those of others.
func wordOf(n int) string {
	syllables := []string{"bra", "keld", "mon", "ruf", "stip", "dorv", "gla", "henn", "wix", "zopp"}
	return syllables[n%10] + syllables[n/10%10] + syllables[n/100%10]
}

func TestEachOfAThousandIsFirstForItsGoal(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	m := talk{}
	all := goals(1000)
	for i, goal := range all {
		m[fmt.Sprintf("m%03d", r.IntN(1000)*1000+i)] = turn{
			who: []string{"ann", "bob"}[i%2], text: goal, thread: []string{"", "one", "two"}[i%3], minute: i,
		}
	}
	x := m.index()
	for id, turn := range m {
		require.Equal(t, id, best(t, x, turn.text)[0], turn.text)
		for _, other := range []string{variant(turn.text), slip(r, turn.text)} {
			require.Contains(t, best(t, x, other), id, other)
		}
	}
}

// variant says a goal in other forms.
func variant(goal string) string {
	words := strings.Fields(goal)
	slices.Reverse(words)
	return "how we were " + strings.Join(words, "s ")
}

// slip exchanges two letters of the longest word.
func slip(r *rand.Rand, goal string) string {
	words := strings.Fields(goal)
	longest := slices.MaxFunc(words, func(a, b string) int { return len(a) - len(b) })
	i := 1 + r.IntN(len(longest)-2)
	b := []byte(longest)
	b[i], b[i-1] = b[i-1], b[i]
	return strings.Replace(goal, longest, string(b), 1)
}

// TestThreadsMakeNoDifferenceInLayers folds random histories, through images too, and requires of each state the hits, the
// scores and the order of one that is made at once.
func TestThreadsMakeNoDifferenceInLayers(t *testing.T) {
	pool := goals(60)
	rapid.Check(t, func(t *rapid.T) {
		now, x := talk{}, search.New(search.Memories(), "english")
		seqs := map[string]int{}
		note := func(id string) *search.Note { return now[id].note(seqs[id]) }
		for range rapid.IntRange(1, 25).Draw(t, "batches") {
			var batch []search.Change
			for range rapid.IntRange(0, 6).Draw(t, "changes") {
				id := fmt.Sprintf("m%d", rapid.IntRange(0, 40).Draw(t, "id"))
				if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
					delete(now, id)
					batch = append(batch, search.Change{Doc: id, Deleted: true})
					continue
				}
				if _, there := now[id]; !there {
					seqs[id] = len(seqs)
				}
				now[id] = turn{
					rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who"), rapid.SampledFrom(pool).Draw(t, "text"),
					rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "thread"), rapid.IntRange(0, 30).Draw(t, "minute") * 30,
				}
				batch = append(batch, search.Change{Doc: id, Note: note(id)})
			}
			x = x.With(batch)
			if rapid.IntRange(0, 3).Draw(t, "image") == 0 {
				x = reopened(t, x, rapid.IntRange(0, 8).Draw(t, "shift"))
			}
		}
		var all []search.Change
		for id := range now {
			all = append(all, search.Change{Doc: id, Note: note(id)})
		}
		made := search.New(search.Memories(), "english").With(all)
		for _, query := range []string{
			"fix the cache", pool[0], pool[1], "bob and the payment queue", "what did ann deploy", "monday", "modulebrabrabra",
		} {
			require.Equal(t, recall(t, made, query), recall(t, x, query), query)
		}
		require.Equal(t, made.Units(), x.Units())
		require.Equal(t, recall(t, made, pool[2]), recall(t, x.Purged(), pool[2]))
	})
}

// TestManyEqualMemories: of more memories with one score than are scored in full, those with most merit come first, and
// of these the newest, whether the index was made at once or one by one.
func TestManyEqualMemories(t *testing.T) {
	const n = 1000
	merit := func(i int) float64 { return float64(i%7) / 7 }
	var changes []search.Change
	at := map[string]int{}
	for i := range n {
		id := fmt.Sprintf("m%03d", i*37%n)
		at[id] = i
		changes = append(changes, search.Change{Doc: id, Note: &search.Note{Text: []byte("one lighthouse"), Memory: &search.MemoryFields{
			Merit: merit(i), Date: start.Add(time.Duration(i) * time.Minute), Seq: uint64(i),
		}}})
	}
	tie := func(a, b string) int {
		return cmp.Or(cmp.Compare(merit(at[b]), merit(at[a])), cmp.Compare(at[b], at[a]))
	}
	want := slices.SortedFunc(maps.Keys(at), tie)[:50]
	whole := search.New(search.Memories(), "english")
	parts := whole
	for i := range changes {
		parts = parts.With(changes[i : i+1])
	}
	for _, x := range []*search.Index{whole.With(changes), parts} {
		r, err := x.Search(search.PlainQuery("lighthouse"), search.Options{Limit: 50, Tie: tie})
		require.NoError(t, err)
		require.Equal(t, n, r.Total)
		require.Equal(t, want, paths(r))
	}
}

func TestAFilterDoesNotChangeTheOrder(t *testing.T) {
	m := talk{}
	for i, goal := range goals(900) {
		m[fmt.Sprintf("m%03d", i)] = turn{"ann", goal, fmt.Sprint(i % 40), i}
	}
	x := m.index()
	for _, query := range []string{"fix the login page", "deploy the cache of the team"} {
		all := recall(t, x, query)
		keep := func(id string) bool { return strings.HasSuffix(id, "7") || strings.HasSuffix(id, "3") }
		r, err := x.Search(search.PlainQuery(query), search.Options{Limit: 1000, Filter: keep})
		require.NoError(t, err)
		var want []string
		for _, h := range all {
			if keep(h.Doc) {
				want = append(want, h.Doc)
			}
		}
		require.Equal(t, want, paths(r))
	}
}

// TestPartsAreTheScore: what a hit says of its score adds up to it.
func TestPartsAreTheScore(t *testing.T) {
	m := talk{}
	for i, goal := range goals(700) {
		m[fmt.Sprintf("m%03d", i)] = turn{[]string{"ann", "bob"}[i%2], goal, fmt.Sprint(i % 90), i}
	}
	x := m.index()
	for _, query := range []string{"fix bob's login page", m["m007"].text, "unheard of deploy"} {
		last := 0.
		for i, h := range recall(t, x, query) {
			p := h.Why.Parts
			require.InDelta(t, h.Score, p.Text+p.Neighbours+p.Thread+p.Person+p.Name, 1e-3, query)
			require.GreaterOrEqual(t, h.Why.Confidence, .01)
			require.LessOrEqual(t, h.Why.Confidence, .95)
			require.True(t, i == 0 || h.Score <= last)
			last = h.Score
		}
	}
}

func TestWordsOfMemoriesInManyLanguages(t *testing.T) {
	for _, text := range []string{
		"the ferry leaves", "die Fähre fährt ab", "le bac s'en va", "el transbordador sale", "il traghetto parte",
		"паром отходит", "フェリーが出る", "渡轮出发了", "여객선이 떠난다", "العبارة تغادر", "η πορθμείο φεύγει", "เรือข้ามฟากออก",
	} {
		for _, language := range []string{"english", "de", "ja", ""} {
			x := search.New(search.Memories(), language).With([]search.Change{
				{Doc: "a", Note: turn{"ann", text, "", 0}.note(0)}, {Doc: "b", Note: turn{"bob", "nothing", "", 0}.note(1)},
			})
			for _, word := range wordsOf(text) {
				require.Equal(t, "a", recall(t, x, word)[0].Doc, word)
			}
		}
	}
}
