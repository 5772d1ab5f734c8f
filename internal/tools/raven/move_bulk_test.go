package raven_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// TestBulkMove covers notes that move together: what refers to them, and they to each other, leads where it led.
func TestBulkMove(t *testing.T) {
	t.Parallel()
	files := bulkVault()
	files["people/sif.md"] += "\nSee [[thor]], [t](thor.md) and [[people/freya]].\n"
	files["x.md"] = "[[people/sif]] [[people/thor]] [f](people/freya.md)\n"
	p := open(t, files)
	in := args{"query": "type:person .rating>=2", "destination": "team/"}
	var plan, done struct {
		bulkData
		Refs  int      `json:"updated_refs_total"`
		Moved []string `json:"updated_refs"`
	}
	p.must(t, "raven_move", with(in, args{"dry_run": true}), &plan)
	p.must(t, "raven_move", with(in, args{"plan_token": plan.Token}), &done)
	require.Equal(t, 2, done.Modified)
	require.Equal(t, plan.Refs, done.Refs)
	texts := p.texts(t)
	require.NotContains(t, texts, "people/sif.md")
	require.Contains(t, texts["team/sif.md"], "See [[thor]], [t](thor.md) and [[people/freya]].")
	require.Equal(t, "[[team/sif]] [[team/thor]] [f](people/freya.md)\n", texts["x.md"])
	require.Contains(t, texts["projects/dam.md"], "[[team/thor]]")
	p.must(t, "raven_move", with(in, args{"dry_run": true}), &plan)
	require.Equal(t, 2, plan.Unchanged)

	p.write(t, map[string]string{"people/thor.md": "---\ntype: person\nname: T\nrating: 3\n---\n"})
	before := p.texts(t)
	for _, c := range []struct {
		in   args
		code fault.Code
	}{
		{with(in, args{"dry_run": true}), fault.ValidationFailed},
		{args{"query": "type:person", "destination": "team"}, fault.MissingRequired},
		{args{"query": "type:person", "destination": "team", "dry_run": true}, fault.InvalidValue},
		{args{"query": "trait:due", "destination": "team/", "dry_run": true}, fault.InvalidQuery},
		{args{"destination": "team/"}, fault.MissingRequired},
		{args{"query": "type:person", "source": "x", "destination": "team/"}, fault.InvalidValue},
	} {
		require.Equal(t, c.code, p.answer(t, "raven_move", c.in).Error.Code, "%v", c.in)
	}
	require.Equal(t, before, p.texts(t))
}

// TestBatchMoves covers moves and changes of type in a batch.
func TestBatchMoves(t *testing.T) {
	t.Parallel()
	p := open(t, bulkVault())
	p.must(t, "raven_batch", args{"operations": list{
		args{"op": "move", "data": args{"source": "people/thor", "destination": "team/"}},
		args{"op": "reclassify", "data": args{"id": "team/thor", "type": "page"}},
	}}, nil)
	texts := p.texts(t)
	require.Contains(t, texts["team/thor.md"], "type: page")
	require.Contains(t, texts["projects/dam.md"], "[[team/thor]]")
}
