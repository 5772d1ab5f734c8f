package repotest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
)

// prefetchBudgets read the texts of many notes at once: each run once, whether it is in the table or in a segment,
// and none that is at hand.
func prefetchBudgets(t *testing.T, p *place) {
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	writer := vaultKind.open(t, p, p.Engine).(vaultSubject)
	for i := range 40 {
		requireDone(t, writer, step{tool: "w", put: map[string]string{fmt.Sprint("one ", i): fmt.Sprint(i)}})
	}
	several := map[string]string{}
	for i := range 10 {
		several[fmt.Sprint("of several ", i)] = fmt.Sprint(i)
	}
	requireDone(t, writer, step{tool: "w", put: several})
	v := p.vault(t, p.flakyEngine(), 1<<20)
	all := func() error {
		idx, err := v.Read(t.Context())
		if err != nil {
			return err
		}
		var bodies []index.Body
		for f := range idx.Files() {
			bodies = append(bodies, f.Body)
		}
		v.Prefetch(t.Context(), bodies)
		for _, b := range bodies {
			if _, err := v.Text(t.Context(), b); err != nil {
				return err
			}
		}
		return nil
	}
	p.require(t, []priced{
		{"a start, whose texts stay at hand", all, cost{queries: 1, gets: 1}},
	})
	outward(t, p, writer)
	v = p.vault(t, p.flakyEngine(), 1<<20)
	p.require(t, []priced{
		{"a start from an image", func() error { _, err := v.Read(t.Context()); return err },
			cost{queries: 1, gets: 1, images: 1}},
		{"50 texts in 41 runs of a segment", all, cost{queries: 1, objects: 1 + 41}},
		{"the same texts", all, cost{queries: 1}},
	})
}

// foreseenBudgets ask how large a vault is and read it: the control item is read once.
func foreseenBudgets(t *testing.T, p *place) {
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	writer := vaultKind.open(t, p, p.Engine).(vaultSubject)
	requireDone(t, writer, step{tool: "w", put: map[string]string{"a": "a"}})
	outward(t, p, writer)
	read := func(wait time.Duration) func() error {
		v := p.vault(t, p.flakyEngine(), 1<<20)
		return func() error {
			if _, err := v.Foreseen(t.Context()); err != nil {
				return err
			}
			p.clock.Move(wait)
			_, _, err := v.ReadControl(t.Context())
			return err
		}
	}
	p.require(t, []priced{
		{"a start whose size was foreseen", read(0), cost{queries: 1, gets: 1, images: 1}},
		{"a minute later", read(time.Minute), cost{queries: 1, gets: 2, images: 1}},
	})
}

// trimBudgets let items leave the table, each by itself.
func trimBudgets(t *testing.T, p *place) {
	const runs = 30
	require.NoError(t, p.log(t, p.Engine).Create(t.Context()))
	writer := vaultKind.open(t, p, p.Engine).(vaultSubject)
	for i := range runs {
		requireDone(t, writer, step{tool: "w", put: map[string]string{"a": fmt.Sprint(i)}})
	}
	require.NoError(t, writer.Compact(t.Context(), eventlog.Compaction{All: true}))
	p.clock.Move(61 * time.Minute)
	v := p.warm(t)
	pass := func() error { return v.Compact(t.Context(), eventlog.Compaction{}) }
	p.require(t, []priced{
		{"a pass that trims", pass,
			cost{queries: 2, gets: 1, commits: 1 + runs, objects: 1, lists: 1}},
		{"a pass after it", pass, cost{queries: 1}},
	})
}
