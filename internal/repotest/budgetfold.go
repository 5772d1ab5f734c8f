package repotest

import (
	"fmt"
	"testing"
	"time"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/stretchr/testify/require"
)

// foldedBudgets makes calls in a process that has just started, of a vault whose log has left the table
// but for its newest commits. A process knows the segments from the image, and reads the directory of each that
// it needs: warm is who has it.
func foldedBudgets(t *testing.T, p *place) {
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	writer := vaultKind.open(t, p, p.Engine).(vaultSubject)
	write := func(s step) { requireDone(t, writer, s) }
	old := step{tool: "old", key: "old", put: map[string]string{"folded 0": "0"}}
	write(old)
	for i := range 20 {
		write(step{tool: "w", put: map[string]string{fmt.Sprintf("folded %d", i): noise(99, uint64(i))}})
	}
	outward(t, p, writer)
	late := step{tool: "late", key: "late", put: map[string]string{"late": "late"}}
	write(late)
	u := vaultSubject{Vault: p.vault(t, p.flakyEngine(), 1)} // it keeps one text only
	v := u.Vault
	text := func(name string) func() error {
		return func() error {
			f, ok := v.Known().File(name + ".md")
			require.True(t, ok, name)
			_, err := v.Text(t.Context(), f.Body)
			return err
		}
	}
	do := func(s step) func() error {
		return func() error { _, err := u.do(t.Context(), s); return err }
	}
	again, lateAgain := old, late
	again.tool, again.replays, lateAgain.tool, lateAgain.replays = "again", "old", "again", "late"
	search := func() error { _, err := v.Searchable(t.Context()); return err }
	idle := func() error { return v.Compact(t.Context(), eventlog.Compaction{}) }
	p.require(t, []priced{
		{"a start", func() error { return warmRead(t, u) }, cost{queries: 1, gets: 1, images: 1}},
		{"a read", func() error { return warmRead(t, u) }, cost{queries: 1}},
		{"a first text of a segment", text("folded 1"), cost{objects: 2}},
		{"another text of it", text("folded 7"), cost{objects: 1}},
		{"the same text", text("folded 7"), cost{}},
		{"a text in the table", text("late"), cost{gets: 1}},
		{"a first call with a key", do(step{tool: "k1", key: "k1", put: map[string]string{"k": "1"}}),
			cost{queries: 1, commits: 1, sections: 1}},
		{"a call with a key", do(step{tool: "k2", key: "k2", put: map[string]string{"k": "2"}}),
			cost{queries: 1, commits: 1}},
		{"a replay of a folded call", do(again), cost{queries: 1, objects: 1}},
		{"a replay", do(lateAgain), cost{queries: 1, gets: 1}},
		{"a write", do(step{tool: "w", put: map[string]string{"w": "w"}}), cost{queries: 1, commits: 1}},
		{"a first search", search, cost{queries: 1, gets: 2, sections: 1}},
		{"a search", search, cost{queries: 1}},
		{"a pass with nothing to do", idle, cost{queries: 1}},
	})
}

// tailBudgets reads tails of many runs: up to 1 MB in one Query, and beyond it from the image. A pass of
// folding after 500 commits puts one segment and one image, and moves the cursor, the image and the mark.
func tailBudgets(t *testing.T, p *place) {
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	writer := vaultKind.open(t, p, p.Engine).(vaultSubject)
	near, far := p.warm(t), p.warm(t)
	for i := range 400 {
		requireDone(t, writer, step{tool: "w", put: map[string]string{"a": fmt.Sprint(i)}})
	}
	p.require(t, []priced{
		{"a tail of 400 runs", func() error { return warmRead(t, near) }, cost{queries: 1}},
	})
	for i := range 100 {
		requireDone(t, writer, step{tool: "w", put: map[string]string{"b": noise(15<<10, uint64(i))}})
	}
	require.NoError(t, warmRead(t, near))
	_, err := near.Searchable(t.Context())
	require.NoError(t, err)
	p.require(t, []priced{
		{"a pass after 500 commits",
			func() error { return near.Compact(t.Context(), eventlog.Compaction{}) },
			cost{queries: 4, gets: 4, commits: 3, puts: 1, imagePuts: 1}},
		{"a pass after it", func() error { return near.Compact(t.Context(), eventlog.Compaction{}) },
			cost{queries: 1}},
		{"a tail over 1 MB", func() error { return warmRead(t, far) },
			cost{queries: 2, gets: 1, images: 1}},
		{"a read after it", func() error { return warmRead(t, far) }, cost{queries: 1}},
	})
}

// warm is a process that has read the vault.
func (p *place) warm(t *testing.T) vaultSubject {
	t.Helper()
	u := vaultKind.open(t, p, p.flakyEngine()).(vaultSubject)
	require.NoError(t, warmRead(t, u))
	return u
}

// require makes calls and compares what they cost.
func (p *place) require(t *testing.T, calls []priced) {
	t.Helper()
	for _, c := range calls {
		p.flaky.Reset()
		p.bucket.counts()
		require.NoError(t, c.call(), c.name)
		require.Equal(t, c.want.on(p.Engine), p.spent(p.flaky.Counts()), c.name)
	}
}

// requireDone makes a call that succeeds.
func requireDone(t *testing.T, u subject, s step) {
	t.Helper()
	_, err := u.do(t.Context(), s)
	require.NoError(t, err)
}

// outward folds everything, and lets it leave the table.
func outward(t *testing.T, p *place, v vaultSubject) {
	t.Helper()
	for range 2 {
		require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
		p.clock.Move(61 * time.Minute)
	}
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
}
