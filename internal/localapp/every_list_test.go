package localapp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/leaktest"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A listed is an object of a list, with the members that these tests use.
type listed struct {
	ID       string
	Type     string
	Fields   map[string]any
	Created  time.Time `json:"first_seen_at"`
	Modified time.Time `json:"last_modified_at"`
}

// pages returns the items of all pages of a list, and requires that the pages are consistent: each
// of them is full except the last one, and all have the same total, which is the number of items.
func pages[T any](t testing.TB, i tool.Invoker, name string, in args, limit int) []T {
	t.Helper()
	var all []T
	var totals []int
	in = with(in, "limit", limit)
	for {
		raw, err := json.Marshal(with(in, "vault", "v"))
		require.NoError(t, err)
		out, err := i.Invoke(t.Context(), name, raw)
		require.NoError(t, err, "%s %s", name, raw)
		var a struct {
			Data struct{ Items []T }
			Meta struct {
				Count, Total int
				More         bool   `json:"has_more"`
				Next         string `json:"next_page_token"`
			}
		}
		require.NoError(t, json.Unmarshal(out, &a))
		require.Len(t, a.Data.Items, a.Meta.Count)
		all, totals = append(all, a.Data.Items...), append(totals, a.Meta.Total)
		if !a.Meta.More {
			break
		}
		require.Equal(t, limit, a.Meta.Count)
		in = with(in, "page_token", a.Meta.Next)
	}
	for _, total := range totals {
		require.Equal(t, len(all), total, "%s %v", name, in)
	}
	return all
}

func with(in args, name string, value any) args {
	all := args{name: value}
	for k, v := range in {
		if k != name {
			all[k] = v
		}
	}
	return all
}

// openGrown returns a vault with random writes over three weeks, up to the given time.
func openGrown(t testing.TB, now *clock, seed uint64) tool.Invoker {
	app, err := openApp(t.Context(), localapp.Config{
		Log: leaktest.Logger(t, nil), Data: t.TempDir(), Now: now.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, app.Close()) })
	inv := local{app}
	must(t, inv, "team_vault_create", args{"name": "v"})
	put(t, inv, map[string]string{"schema.yaml": `types:
  person: { fields: { boss: { type: ref, target: person }, born: { type: date }, rank: { type: number } } }
  meeting: { fields: { who: { type: "ref[]", target: person } } }
`})
	r := rand.New(rand.NewPCG(seed, 4))
	for range 42 {
		now.pass(12)
		files := map[string]string{}
		for range 1 + r.IntN(3) {
			files[fmt.Sprintf("n/%02d.md", r.IntN(40))] = grownNote(r)
		}
		put(t, inv, files)
		if r.IntN(8) == 0 {
			_, _ = call(t.Context(), inv, "raven_delete", args{"id": fmt.Sprintf("n/%02d", r.IntN(40))})
		}
	}
	return inv
}

func grownNote(r *rand.Rand) string {
	var b strings.Builder
	switch r.IntN(4) {
	case 0:
		fmt.Fprintf(&b, "---\ntype: person\nboss: n/%02d\nborn: 2026-12-%02d\nrank: %d\n---\n", r.IntN(40), 1+r.IntN(28), r.IntN(3))
	case 1:
		b.WriteString("Plain #tag and [[n/07]].\n")
	}
	for i := range r.IntN(4) {
		fmt.Fprintf(&b, "\n## S%d\n", i)
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "\n::meeting(who=[[[n/%02d]], [[n/07|seven]]])\n", r.IntN(40))
		}
		fmt.Fprintf(&b, "\nWord %d of [[n/07]].\n", r.IntN(5))
	}
	return b.String()
}

// timeTests returns the time filters and their meaning at a time, in UTC (reference/raven.md
// §6.10).
func timeTests(now time.Time) map[string]func(time.Time) bool {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return midnight.AddDate(0, 0, n) }
	monday := day(-(int(now.Weekday()) + 6) % 7)
	return map[string]func(time.Time) bool{
		"today=true":         func(t time.Time) bool { return !t.Before(midnight) && t.Before(day(1)) },
		"this_week=true":     func(t time.Time) bool { return !t.Before(monday) && t.Before(monday.AddDate(0, 0, 7)) },
		"after=yesterday":    func(t time.Time) bool { return !t.Before(midnight) },
		"after=2 days ago":   func(t time.Time) bool { return t.After(now.Add(-48 * time.Hour)) },
		"after=past":         func(t time.Time) bool { return !t.Before(midnight) },
		"before=yesterday":   func(t time.Time) bool { return t.Before(day(-1)) },
		"before=1 weeks ago": func(t time.Time) bool { return t.Before(now.Add(-7 * 24 * time.Hour)) },
		"since=yesterday":    func(t time.Time) bool { return !t.Before(day(-1)) },
		"since=this-week":    func(t time.Time) bool { return !t.Before(monday) },
		"since=90 hours ago": func(t time.Time) bool { return !t.Before(now.Add(-90 * time.Hour)) },
		"since=future":       func(t time.Time) bool { return !t.Before(day(1)) },
		"before=" + day(-4).Format(time.DateOnly): func(t time.Time) bool { return t.Before(day(-4)) },
		"after=" + day(-4).Format(time.DateOnly):  func(t time.Time) bool { return !t.Before(day(-3)) },
		"since=" + day(-4).Format(time.DateOnly):  func(t time.Time) bool { return !t.Before(day(-4)) },
	}
}

// TestTimeFilters compares the time filters with their meaning, over random vaults.
func TestTimeFilters(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		now := newClock()
		inv := openGrown(t, now, seed)
		for _, typ := range []string{"", "person", "meeting", "section", "page"} {
			whole := pages[listed](t, inv, "raven_object_list", args{"type": typ}, 200)
			for text, test := range timeTests(now.time()) {
				name, value, _ := strings.Cut(text, "=")
				requireFiltered(t, inv, filtered{typ, "created_" + name, value, whole}, func(o listed) bool { return test(o.Created) })
				requireFiltered(t, inv, filtered{typ, "modified_" + name, value, whole}, func(o listed) bool { return test(o.Modified) })
			}
		}
	}
}

// A filtered is a list with a filter, and the whole list.
type filtered struct {
	typ, name, value string
	whole            []listed
}

// requireFiltered requires that a filter selects the right items, in pages of any size.
func requireFiltered(t testing.TB, inv tool.Invoker, f filtered, holds func(listed) bool) {
	t.Helper()
	in := args{"type": f.typ, f.name: f.value}
	if f.value == "true" {
		in[f.name] = true
	}
	var want []listed
	for _, o := range f.whole {
		if holds(o) {
			want = append(want, o)
		}
	}
	got := pages[listed](t, inv, "raven_object_list", in, 1+len(f.whole)/3)
	require.Equal(t, want, got, "%v", in)
}

// TestListsInPages checks that the pages of a list, of any size, are the list.
func TestListsInPages(t *testing.T) {
	inv := openGrown(t, newClock(), 7)
	put(t, inv, map[string]string{"n/07.md": "---\ntype: person\n---\n\nSee [[n/08]].\n"})
	for _, c := range []struct {
		name string
		in   args
		some int // how many there are at least
	}{
		{"raven_object_list", args{}, 20},
		{"raven_object_list", args{"type": "section"}, 5},
		{"raven_object_list", args{"type": "meeting", "field": "who=07"}, 5},
		{"raven_object_list", args{"type": "person", "field": "rank=1", "modified_since": "3 weeks ago"}, 1},
		{"raven_type", args{"name": "meeting"}, 5},
		{"raven_type", args{"name": "page", "slim": true}, 5},
		{"raven_tag", args{"tag": "tag"}, 3},
		{"raven_untyped", args{}, 5},
		{"raven_backlinks", args{"target": "n/07"}, 20},
		{"raven_outlinks", args{"target": "n/07"}, 1},
	} {
		whole := pages[json.RawMessage](t, inv, c.name, c.in, 200)
		require.GreaterOrEqual(t, len(whole), c.some, "%s %v", c.name, c.in)
		for _, limit := range []int{1, 2, 7} {
			require.Equal(t, whole, pages[json.RawMessage](t, inv, c.name, c.in, limit), "%s %v", c.name, c.in)
		}
	}
}

// TestDayInPages checks that each field and trait on a day is on one page, even if several are on
// one line of a note.
func TestDayInPages(t *testing.T) {
	app, _ := openVault(t)
	inv := local{app}
	put(t, inv, map[string]string{
		"schema.yaml": "types:\n  trip: { fields: { from: { type: date }, to: { type: date } } }\ntraits:\n  due: { type: date }\n  remind: { type: date }\n",
		"a.md":        "@due(2026-03-02) @remind(2026-03-02) @due(2026-03-02) one\n\n## T\n\n::trip(from=2026-03-02, to=2026-03-02)\n\n- @due(2026-03-02) two\n",
		"b.md":        "---\ntype: trip\nfrom: 2026-03-02\nto: 2026-03-03\n---\n@due(2026-03-02)\n",
	})
	type item struct {
		Source string `json:"source_id"`
		Field  string `json:"field_name"`
	}
	whole := pages[item](t, inv, "raven_date", args{"date": "2026-03-02"}, 200)
	require.Len(t, whole, 8)
	for limit := 1; limit < 9; limit++ {
		require.Equal(t, whole, pages[item](t, inv, "raven_date", args{"date": "2026-03-02"}, limit))
	}
}

// TestMatchesAreBounded checks that a name which is that of a section in every note does not make
// an answer long, and that the excerpt of a long line is around the reference.
func TestMatchesAreBounded(t *testing.T) {
	app, _ := openVault(t)
	defer func() { require.NoError(t, app.Close()) }()
	inv := local{app}
	files := map[string]string{
		"long.md": "See [[target]] and " + strings.Repeat("é ", 2000) + "[[target]]" + strings.Repeat(" ü", 2000) + "\n",
		"many.md": strings.Repeat("[[tasks]] ", 50) + "\n", "target.md": "T\n",
	}
	for i := range 500 {
		files[fmt.Sprintf("n/%03d/tasks.md", i)] = "T\n"
	}
	put(t, inv, files)
	type resolution struct{ Matches []string }
	require.Len(t, into[resolution](t, must(t, inv, "raven_resolve", args{"reference": "tasks"})).Matches, 200)
	f := refused(t, "AMBIGUOUS_REF", inv, "raven_backlinks", args{"target": "tasks"})
	require.Len(t, f.Details["matches"], 20)
	require.Less(t, len(f.Message), 1000)
	type item struct {
		Content string
		Matches []string
	}
	for _, o := range pages[item](t, inv, "raven_outlinks", args{"target": "many"}, 200) {
		require.Len(t, o.Matches, 20)
	}
	links := pages[item](t, inv, "raven_backlinks", args{"target": "target"}, 200)
	require.Len(t, links, 2)
	for i, link := range links {
		require.Less(t, len(link.Content), 520)
		require.Contains(t, link.Content, "[[target]]")
		require.True(t, strings.HasSuffix(link.Content, "…"))
		require.Equal(t, i == 1, strings.HasPrefix(link.Content, "…"))
	}
}
