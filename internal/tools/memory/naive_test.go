package memory_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A plain memory is what going through all memories needs to know of one.
type plain struct {
	id, task, agent, file string
	success               bool
	importance            float64
	created               int64 // seconds
	tags                  []string
	superseded            bool
}

// drawPlain draws a memory of few values, so that many are equal.
func drawPlain(r *rand.Rand, n int) plain {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	m := plain{
		id: fmt.Sprintf("mem_%03d", n), task: pick("bug_fix", "refactor", "other"), agent: pick("ann", "ben"),
		file:    pick("src/auth.ts", "src/oauth.ts", "lib/src/auth.ts", "auth.ts", "docs/a.md"),
		success: r.IntN(2) == 0, importance: float64(r.IntN(3)) / 2, created: 1_700_000_000 + r.Int64N(5),
	}
	for _, tag := range []string{"x", "y"} {
		if r.IntN(2) == 0 {
			m.tags = append(m.tags, tag)
		}
	}
	return m
}

// line is the memory as a line of an import.
func (m plain) line() string {
	data, err := json.Marshal(args{
		"id": m.id, "agent_id": m.agent, "created_at": m.created, "tags": m.tags, "importance": m.importance,
		"intent":  args{"goal": "alpha " + m.task, "task_type": m.task},
		"outcome": args{"success": m.success, "summary": "beta"},
		"actions": []args{{"type": "file_edit", "file_path": m.file}},
	})
	if err != nil {
		panic(err) // never: it is made of texts and numbers
	}
	return string(data)
}

// A question is a recall that is drawn.
type question struct {
	in   args
	pass func(plain) bool // the filters
	file string
	id   string
	text bool
}

// drawQuestion draws selectors and filters.
func drawQuestion(r *rand.Rand, all []plain) question {
	q := question{in: args{"depth": []string{"summary", "outcome", "reasoning", "full", "complete"}[r.IntN(5)]}}
	limit := 1 + r.IntN(30)
	q.in["limit"] = limit
	var filters []func(plain) bool
	some := func() bool { return r.IntN(3) == 0 }
	if some() {
		q.id = all[r.IntN(len(all))].id
		q.in["memory_id"] = q.id
	}
	if some() {
		q.file = []string{"src/auth.ts", "auth.ts", "/repo/src/auth.ts", "src/", "src/*.ts"}[r.IntN(5)]
		q.in["file"] = q.file
	}
	if some() {
		q.text, q.in["query"] = true, []string{"alpha", "beta gamma", "refactor"}[r.IntN(3)]
	}
	if some() {
		q.in["agent_id"] = "ann"
		filters = append(filters, func(m plain) bool { return m.agent == "ann" })
	}
	if some() || len(q.in) == 2 {
		q.in["task_type"] = "refactor"
		filters = append(filters, func(m plain) bool { return m.task == "refactor" })
	}
	if some() {
		q.in["failures_only"] = true
		filters = append(filters, func(m plain) bool { return !m.success })
	}
	if some() {
		since := 1_700_000_000 + r.Int64N(5)
		q.in["since"] = since
		filters = append(filters, func(m plain) bool { return m.created >= since })
	}
	if some() {
		before := 1_700_000_000 + r.Int64N(5)
		q.in["before"] = before
		filters = append(filters, func(m plain) bool { return m.created <= before })
	}
	if some() {
		q.in["tags"] = []string{"x", "y"}
		filters = append(filters, func(m plain) bool { return len(m.tags) == 2 })
	}
	q.pass = func(m plain) bool {
		return !slices.ContainsFunc(filters, func(f func(plain) bool) bool { return !f(m) })
	}
	return q
}

// ofFile reports whether a path is the one that is asked for, and whether it matches otherwise.
func ofFile(asked, path string) (exact, like bool) {
	switch {
	case strings.HasSuffix(asked, "/"):
		return false, strings.HasPrefix(path, asked)
	case strings.Contains(asked, "*"):
		return false, path == "src/auth.ts" || path == "src/oauth.ts"
	}
	return asked == path, strings.HasSuffix(path, "/"+asked) || strings.HasSuffix(asked, "/"+path)
}

// ranked are the ids of memories that pass, in the order of their rank; those that are superseded come last.
func ranked(all []plain, pass func(plain) bool) (ids []string) {
	var found []int
	for i, m := range all {
		if pass(m) {
			found = append(found, i)
		}
	}
	slices.SortFunc(found, func(i, j int) int {
		a, b := all[i], all[j]
		switch {
		case a.superseded != b.superseded:
			if b.superseded {
				return -1
			}
			return 1
		case a.importance != b.importance:
			return int(2 * (b.importance - a.importance))
		case a.created != b.created:
			return int(b.created - a.created)
		}
		return j - i // the one that came later
	})
	for _, i := range found {
		ids = append(ids, all[i].id)
	}
	return ids
}

// expected are the ids that going through all memories finds without words, and how many there are.
func (q question) expected(all []plain) (ids []string, total int) {
	limit := q.in["limit"].(int)
	switch {
	case q.id != "":
		ids = ranked(all, func(m plain) bool { return m.id == q.id && q.pass(m) })
	case q.file != "":
		ids = ranked(all, func(m plain) bool { exact, _ := ofFile(q.file, m.file); return exact && q.pass(m) })
		if len(ids) < limit {
			ids = append(ids, ranked(all, func(m plain) bool {
				exact, like := ofFile(q.file, m.file)
				return !exact && like && q.pass(m)
			})...)
		}
	case !q.text:
		ids = ranked(all, q.pass)
	}
	return ids[:min(len(ids), limit)], len(ids)
}

// TestRecallAsTheNaive holds for selectors, filters and depths at random that recall finds what going through all
// memories finds, in the same order; that no filter is violated; that no memory comes twice; and that total_matches is
// how many match.
func TestRecallAsTheNaive(t *testing.T) {
	p := open(t)
	seed := uint64(21)
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // it is no secret
	var all []plain
	var lines []string
	for n := range 60 {
		all = append(all, drawPlain(r, n))
		lines = append(lines, all[n].line())
	}
	p.do(t, "import", args{"files": []args{{"path": "m.jsonl", "content": strings.Join(lines, "\n")}}})
	for _, n := range []int{3, 17, 40} {
		p.do(t, "link", args{"source_id": all[n+1].id, "target_id": all[n].id, "link_type": "supersedes"})
		all[n].superseded = true
	}
	questions := 300
	if os.Getenv("ROOKERY_SOAK") != "" {
		questions = 20_000
	}
	byID := map[string]plain{}
	for _, m := range all {
		byID[m.id] = m
	}
	for range questions {
		q := drawQuestion(r, all)
		out := p.do(t, "recall", q.in)
		seen, got := map[string]bool{}, []string{}
		for _, m := range list(out, "memories") {
			id := m["id"].(string)
			require.False(t, seen[id], "%s twice: %v", id, q.in)
			require.True(t, q.pass(byID[id]), "%s is not asked for: %v", id, q.in)
			seen[id], got = true, append(got, id)
		}
		want, total := q.expected(all)
		require.LessOrEqual(t, len(got), q.in["limit"].(int))
		require.GreaterOrEqual(t, out["total_matches"], float64(len(got)))
		if q.text && q.id == "" {
			require.Equal(t, want, append([]string(nil), got[:min(len(got), len(want))]...), "%v", q.in)
			continue
		}
		require.Equal(t, append([]string{}, want...), got, "%v", q.in)
		require.EqualValues(t, total, out["total_matches"], "%v", q.in)
	}
}
