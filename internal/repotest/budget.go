package repotest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/tabletest"
)

// requests holds what calls may cost (DESIGN §8).
func requests(t *testing.T, e Engine) {
	for _, k := range []kind{logKind, vaultKind} {
		t.Run(k.name, func(t *testing.T) { budgets(t, newPlace(e, k.name, nil), k) })
	}
	t.Run("folded", func(t *testing.T) { foldedBudgets(t, newPlace(e, "folded", nil)) })
	t.Run("many texts", func(t *testing.T) { prefetchBudgets(t, newPlace(e, "many texts", nil)) })
	t.Run("foreseen", func(t *testing.T) { foreseenBudgets(t, newPlace(e, "foreseen", nil)) })
	t.Run("trimming", func(t *testing.T) { trimBudgets(t, newPlace(e, "trimming", nil)) })
	t.Run("long tail", func(t *testing.T) { tailBudgets(t, newPlace(e, "long tail", nil)) })
}

// A cost is what a call asks of the table and the bucket.
type cost struct {
	queries, gets, commits, puts, objects, lists, deletes int

	// What it asks of images: one that is put, one that a process begins with, and what it reads of that later, which
	// comes with the image where that is in items.
	imagePuts, images, sections int
}

// on returns the cost on an engine, with what is asked of images among the rest.
func (c cost) on(e Engine) cost {
	if e.Items {
		c.queries, c.commits = c.queries+c.images, c.commits+c.imagePuts
	} else {
		c.objects, c.puts = c.objects+c.images+c.sections, c.puts+c.imagePuts
	}
	c.imagePuts, c.images, c.sections = 0, 0, 0
	return c
}

// A priced call is one whose cost is known.
type priced struct {
	name string
	call func() error
	want cost
}

// budgets makes calls in a warm process and compares what they cost.
func budgets(t *testing.T, p *place, k kind) {
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	u, other := k.open(t, p, p.flakyEngine()), k.open(t, p, p.flakyEngine())
	do := func(u subject, s step) func() error {
		return func() error { _, err := u.do(t.Context(), s); return err }
	}
	read := func() error { return warmRead(t, u) }
	require.NoError(t, read())
	big := step{tool: "big", put: map[string]string{"b": noise(40<<10, 3)}}
	small := step{tool: "small", key: "k", put: map[string]string{"a": "one"}}
	again, tried := small, big
	again.tool, again.replays, tried.dryRun = "again", "small", true
	cold := cost{queries: 1, commits: 1, objects: 1}
	if k.name == vaultKind.name {
		cold.gets = 1 // of the control item, which names the image
	}
	for _, c := range []priced{
		{"a read", read, cost{queries: 1}},
		{"a write", do(u, step{tool: "w", put: map[string]string{"a": "w"}}),
			cost{queries: 1, commits: 1}},
		{"a write with a key", do(u, small), cost{queries: 1, commits: 1}},
		{"its replay", do(u, again), cost{queries: 1, gets: 1}},
		{"one that changes nothing", do(u, step{tool: "n", put: small.put}), cost{queries: 1}},
		{"one that is tried", do(u, tried), cost{queries: 1}},
		{"one over 16 KB", do(u, big), cost{queries: 1, commits: 1, puts: 1}},
		{"a read after own writes", read, cost{queries: 1}},
		{"one of another process", do(other, step{tool: "o", put: map[string]string{"c": "c"}}),
			cold},
		{"a read after it", read, cost{queries: 1}},
	} {
		p.flaky.Reset()
		p.bucket.counts()
		require.NoError(t, c.call(), c.name)
		require.Equal(t, c.want, spent(t, p, c.want), c.name)
	}
}

// warmRead reads the newest state, and no text.
func warmRead(t *testing.T, u subject) error {
	switch u := u.(type) {
	case logSubject:
		_, err := u.Read(t.Context())
		return err
	case vaultSubject:
		_, err := u.Read(t.Context())
		return err
	}
	panic("no such subject")
}

// spent is what was asked for since the counts began.
func spent(t *testing.T, p *place, want cost) cost {
	n := p.flaky.Counts()
	require.Equal(t, tabletest.Counts{
		Gets: n.Gets, Queries: n.Queries, Commits: want.commits, Pages: n.Queries,
		Ops: want.commits,
	}, n, "an append is one operation, and a tail one page")
	return p.spent(n)
}

// spent is what was asked for since the counts began, of which a table tells its part.
func (p *place) spent(n tabletest.Counts) cost {
	b := p.bucket.counts()
	return cost{
		queries: n.Queries, gets: n.Gets, commits: n.Commits,
		puts: b.puts, objects: b.gets, lists: b.lists, deletes: b.deletes,
	}
}
