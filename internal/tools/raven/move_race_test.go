package raven_test

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// referredVault has a person whom so many notes refer to, in each form.
func referredVault(n int) map[string]string {
	files := map[string]string{
		"schema.yaml":     batchSchema,
		"people/freya.md": "---\ntype: person\nname: Freya\n---\n# Freya\n\n- @due(2026-03-05) Call [[people/thor]]\n\n## Part\n",
		"people/thor.md":  "---\ntype: person\nname: Thor\n---\n# Thor\n",
	}
	for i := range n {
		files[fmt.Sprintf("n/%02d.md", i)] = fmt.Sprintf(
			"# N\n\nOf [[people/freya]], [[people/freya#part|her part]] and [Freya](../people/freya.md). %d\n", i)
	}
	return files
}

// movedVault is referredVault after the move of a person.
func movedVault(files map[string]string, from, to string) map[string]string {
	after := map[string]string{}
	for path, text := range files {
		text = strings.ReplaceAll(text, "[["+from, "[["+to)
		after[path] = strings.ReplaceAll(text, "../"+from+".md", "../"+to+".md")
	}
	after[to+".md"] = after[from+".md"]
	delete(after, from+".md")
	return after
}

// TestMoveIsWholeUnderFaults covers that a move is done as a whole or not at all when a call of the store fails
// before or after it has an effect, that a repetition with the same key has one effect, that ids and times stay, and
// that an undo is the identity.
func TestMoveIsWholeUnderFaults(t *testing.T) {
	t.Parallel()
	const most = 12 // more calls of the table than a start and a move make
	failed, unseen := 0, 0
	files := referredVault(20)
	after := movedVault(files, "people/freya", "team/freya")
	for n := 1; n <= most; n++ {
		for _, kind := range []tabletest.Fault{tabletest.Before, tabletest.After} {
			p := open(t, files)
			was := p.shownAs(t, "people/freya")
			inner := p.table
			p.serve(t)
			p.version(t) // the calls of a start are not counted
			p.table = tabletest.NewFlaky(inner, tabletest.At(n, kind))
			p.serve(t)
			in := args{"source": "people/freya", "destination": "team/freya", "idempotency_key": "k"}
			e := p.answer(t, "raven_move", in)
			p.table = inner
			p.serve(t)
			if got := p.texts(t); !maps.Equal(files, got) || e.OK {
				require.Equal(t, after, got, "fault %v at %d", kind, n)
			} else {
				failed++
			}
			if !e.OK && n == most {
				unseen++
			}
			require.True(t, p.answer(t, "raven_move", in).OK)
			require.Equal(t, after, p.texts(t))
			require.Equal(t, was, p.shownAs(t, "team/freya"))
			p.must(t, "raven_undo", args{"version": fmt.Sprintf("v%d", p.version(t))}, nil)
			require.Equal(t, files, p.texts(t))
			require.Equal(t, was, p.shownAs(t, "people/freya"))
		}
	}
	require.Positive(t, failed, "no fault kept a move from being done")
	require.Zero(t, unseen, "a move makes more calls than were tried")
}

// A shownNote is what stays of a note when it moves.
type shownNote struct {
	FirstSeen string   // of the note
	Traits    []string // their ids, with when each was first seen
}

// shownAs is what stays of the note with an id.
func (p *place) shownAs(t testing.TB, id string) shownNote {
	t.Helper()
	var got struct {
		Object struct {
			FirstSeen string `json:"first_seen_at"`
		}
	}
	p.must(t, "raven_object_get", args{"id": id}, &got)
	shown := shownNote{FirstSeen: got.Object.FirstSeen}
	var traits struct {
		Items []struct {
			ID        string
			FirstSeen string `json:"first_seen_at"`
		}
	}
	p.must(t, "raven_trait_list", args{"trait_type": "due", "path": id}, &traits)
	for _, one := range traits.Items {
		shown.Traits = append(shown.Traits, one.ID+" "+one.FirstSeen)
	}
	require.NotEmpty(t, shown.Traits)
	return shown
}

// beside is another process over the same stores.
func (p *place) beside(t *testing.T) *place {
	q := &place{table: p.table, bucket: p.bucket, now: p.now}
	q.serve(t)
	t.Cleanup(func() { q.teams.Close() })
	return q
}

// TestMovesRace covers that moves and edits of the same notes, by two processes at once, lose nothing: every note is
// at one place, every reference leads where it led, and every edit is there.
func TestMovesRace(t *testing.T) {
	t.Parallel()
	for round := range 4 {
		files := referredVault(8)
		p := open(t, files)
		q := p.beside(t)
		var all sync.WaitGroup
		answers := make([]envelope, 8)
		call := func(i int, at *place, name string, in args) {
			all.Go(func() { answers[i] = at.answer(t, name, in) })
		}
		call(0, p, "raven_move", args{"source": "people/freya", "destination": "team/freya"})
		call(1, q, "raven_move", args{"source": "people/thor", "destination": "gods/thor"})
		call(2, p, "raven_add", args{"text": "First of p", "to": "n/00"})
		call(3, q, "raven_add", args{"text": "First of q, see [[people/freya]]", "to": "n/00"})
		call(4, q, "raven_edit", args{"id": "n/01", "old_str": "# N", "new_str": "# Edited"})
		call(5, p, "raven_add", args{"text": "Of the moved one", "to": "freya"})
		call(6, q, "raven_section", args{"op": "rename", "id": "freya#part", "title": "Piece"})
		call(7, p, "raven_set", args{"id": "thor", "set": args{"email": "t@example.test"}})
		all.Wait()
		for i, a := range answers {
			require.True(t, a.OK, "round %d, call %d: %v", round, i, a.Error)
		}
		texts := p.texts(t)
		require.Equal(t, texts, q.texts(t))
		require.NotContains(t, texts, "people/freya.md")
		require.NotContains(t, texts, "people/thor.md")
		require.Contains(t, texts["team/freya.md"], "Call [[gods/thor]]")
		require.Contains(t, texts["team/freya.md"], "- Of the moved one")
		require.Contains(t, texts["team/freya.md"], "## Piece")
		require.Contains(t, texts["gods/thor.md"], "email: t@example.test")
		require.Contains(t, texts["n/01.md"], "# Edited")
		for i := range 8 {
			text := texts[fmt.Sprintf("n/%02d.md", i)]
			require.Contains(t, text, fmt.Sprintf(
				"Of [[team/freya]], [[team/freya#piece|her part]] and [Freya](../team/freya.md). %d\n", i))
		}
		require.Contains(t, texts["n/00.md"], "- First of p\n")
		var left struct{ Items []struct{ ID string } }
		p.must(t, "raven_query", args{"query": "type:* refs(team/freya)"}, &left)
		require.Len(t, left.Items, 8)
		only := args{"issues": list{"missing_reference", "stale_fragment"}}
		found, _ := p.checked(t, only)
		if len(found) > 0 { // the edit that names the note by its old id came after the move
			require.Len(t, found, 1)
			require.Contains(t, texts["n/00.md"], "First of q, see [[people/freya]]")
		}
	}
}

// TestMovesOfOneRace covers that of several moves of one note by two processes, one is done and the others are
// refused, and that references follow the one.
func TestMovesOfOneRace(t *testing.T) {
	t.Parallel()
	files := referredVault(5)
	p := open(t, files)
	q := p.beside(t)
	var all sync.WaitGroup
	answers := make([]envelope, 6)
	for i := range answers {
		at := []*place{p, q}[i%2]
		all.Go(func() {
			answers[i] = at.answer(t, "raven_move", args{"source": "people/freya", "destination": fmt.Sprintf("to%d/f%d", i, i)})
		})
	}
	all.Wait()
	won := -1
	for i, a := range answers {
		if a.OK {
			require.Equal(t, -1, won, "two moves of one note")
			won = i
			continue
		}
		require.Equal(t, fault.NotFound, a.Error.Code)
	}
	require.NotEqual(t, -1, won)
	require.Equal(t, movedVault(files, "people/freya", fmt.Sprintf("to%d/f%d", won, won)), p.texts(t))
}
