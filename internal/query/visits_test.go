package query_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/query"
)

var update = flag.Bool("update", false, "write the golden file again")

// largeVault is a vault of a few hundred notes, always the same.
func largeVault() *testVault {
	files := smallSchema()
	for i := range 40 {
		files = append(files, txtar.File{Name: fmt.Sprintf("people/p%02d.md", i), Data: fmt.Appendf(nil,
			"---\ntype: person\nname: P%02d\nrating: %d\ntags: [t%d]\n---\n# P\n\nKnows [[people/p%02d]].\n", i, i%5, i%4, (i+1)%40)})
	}
	for i := range 200 {
		files = append(files, txtar.File{Name: fmt.Sprintf("projects/q%03d.md", i), Data: fmt.Appendf(nil,
			"---\ntype: project\nstatus: %s\nlead: people/p%02d\nrating: %d\n---\n# Q\n\n## Tasks\n\n"+
				"- @due(2026-03-%02d) @priority(%s) One\n- @due(2026-02-%02d) Two [[people/p%02d]]\n\n### Later\n\n- @status(todo) Three\n",
			[]string{"planned", "active", "done"}[i%3], i%40, i%7, i%28+1, []string{"low", "high"}[i%2], i%28+1, i%10)})
	}
	for i := range 60 {
		files = append(files, txtar.File{Name: fmt.Sprintf("notes/n%02d.md", i), Data: fmt.Appendf(nil,
			"# N\n\nThe wheel %d of [[projects/q%03d]]. [x](https://example.test/%d)\n", i, i, i)})
	}
	return newVault(files)
}

// smallSchema is the schema of the small vault.
func smallSchema() []txtar.File {
	data, err := os.ReadFile("testdata/vault.txt")
	if err != nil {
		panic(err) // the tests have it
	}
	return txtar.Parse(data).Files[:1]
}

// counted are queries whose visits are counted.
var counted = []string{
	"type:person", "type:*", "section", "trait:due", "link", "type:person .rating==3", "type:person .id==people/p07",
	"type:* .id==people/p07", "type:* .tags==t1", "type:project .status==active", "type:project .lead==people/p03",
	"type:* .modified>=today", "type:project .created==2026-02-21", "trait:due .value==2026-03-02", "trait:due .value==past",
	"trait:due .value==2026-03-02 .line_number<20", "trait:priority .value==high", "trait:status .value==done",
	"type:project has(trait:due)", "type:project contains(trait:due .value==2026-03-02)",
	"type:project contains(trait:status .value==done)", "section has(trait:due)", "section contains(trait:status)",
	"type:* contains(trait:due .value==2026-03-02)", "trait:due in(section)", "trait:due within(type:project .status==done)",
	"trait:due within(projects/q007)", "trait:due at(trait:priority .value==high)", "type:project refs(people/p03)",
	"type:project refs(type:person .rating==4)", "type:* refs(type:project)", "type:person refs(type:person)",
	"type:person refd(type:project .status==done)", "type:person refd(projects/q007)", "section refs(type:person)",
	"type:page links(.scheme==url)", `type:* content("wheel")`, `type:project matches(.lead, "p0[1-3]")`,
	"type:project .status==active | type:person .rating==0", "type:project (.rating==1 | .rating==2) .status!=done sort:-.rating",
	"type:person refd(type:project contains(section has(trait:due at(trait:priority .value==high))))",
	"trait:due within(type:project refs(type:person refs(type:person .rating==1)))",
}

// TestVisits says exactly how many things each query looks at, on a page of ten.
func TestVisits(t *testing.T) {
	v := largeVault()
	var b strings.Builder
	for _, text := range counted {
		q, err := query.Parse(text)
		require.NoError(t, err, text)
		a, err := query.Find(q, v.state, query.Page{Limit: 10})
		require.NoError(t, err, text)
		again, err := query.Find(q, v.state, query.Page{Limit: 10})
		require.NoError(t, err, text)
		require.Equal(t, a.Visits, again.Visits, text)
		fmt.Fprintf(&b, "%6d visits, %4d found: %s\n", a.Visits, a.Total, text)
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/visits.txt", []byte(b.String()), 0o644))
	}
	golden, err := os.ReadFile("testdata/visits.txt")
	require.NoError(t, err)
	require.Equal(t, string(golden), b.String())
}

// TestCost says that a query with one visit too few is refused, always in the same way, and that one with
// just enough is answered.
func TestCost(t *testing.T) {
	v := largeVault()
	for _, text := range counted {
		q, err := query.Parse(text)
		require.NoError(t, err, text)
		s := v.state
		a, err := query.Find(q, s, query.Page{Limit: 10})
		require.NoError(t, err, text)
		s.Visits = max(a.Visits, 1)
		_, err = query.Find(q, s, query.Page{Limit: 10})
		require.NoError(t, err, text)
		if s.Visits = a.Visits - 1; s.Visits < 1 {
			continue
		}
		for range 2 {
			_, err = query.Find(q, s, query.Page{Limit: 10})
			require.True(t, fault.Is(err, fault.InvalidQuery), text)
			f := fault.Of(err)
			require.Equal(t, "cost", f.Details["reason"])
			require.Equal(t, s.Visits, f.Details["budget"])
			require.NotEmpty(t, f.Fixes)
		}
	}
}

// TestEnds says that a query stops when its call ends.
func TestEnds(t *testing.T) {
	s := largeVault().state
	s.Canceled = func() error { return fault.New(fault.Unavailable, "ended") }
	q, err := query.Parse("type:* refs(type:*) refd(type:*)")
	require.NoError(t, err)
	_, err = query.Select(q, s)
	require.True(t, fault.Is(err, fault.Unavailable))
}

// TestMatchesCosts covers that a regular expression makes one visit more for each 100 bytes that it reads.
func TestMatchesCosts(t *testing.T) {
	visits := func(size int) int {
		v := newVault([]txtar.File{{Name: "a.md", Data: []byte("---\nv: " + strings.Repeat("a", size) + "\n---\n")}})
		q, err := query.Parse(`type:page matches(.v, "^a+$")`)
		require.NoError(t, err)
		a, err := query.Find(q, v.state, query.Page{Limit: 10})
		require.NoError(t, err)
		require.Equal(t, 1, a.Total)
		return a.Visits
	}
	short := visits(99)
	require.Equal(t, short+1, visits(100))
	require.Equal(t, short+1, visits(199))
	require.Equal(t, short+50, visits(5000))
}
