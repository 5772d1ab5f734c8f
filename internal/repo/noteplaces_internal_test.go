package repo

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/stretchr/testify/require"
)

// TestNotePlaces checks that the changes in a run are the same when they are found by places as
// when the whole run is read: for notes that were moved, deleted or erased, and for several commits
// of one note, with right and with wrong guesses.
func TestNotePlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		var commits []*eventlog.Commit
		for i := range 1 + r.IntN(4) {
			c := &eventlog.Commit{Seq: 10 + uint64(i), Call: fmt.Sprint("call ", i)}
			for _, j := range r.Perm(12)[:r.IntN(12)] {
				c.Notes = append(c.Notes, someNote(r, fmt.Sprintf("n%d.md", j)))
			}
			if r.IntN(2) == 0 {
				c.Records = []eventlog.Record{{Kind: "some"}}
			}
			commits = append(commits, c)
		}
		run, err := eventlog.NewRun(commits, nil)
		require.NoError(t, err)
		for i := range run.Parts {
			if r.IntN(10) == 0 && run.Parts[i].IsNote() {
				run.Parts[i] = eventlog.Part{}
			}
		}
		places := newNotePlaces(&eventlog.Run{Header: run.Header})
		size := 1 + r.IntN(9)
		for seq := run.First; seq <= run.Last; seq++ {
			for j := range 12 {
				k := changeKey{seq: seq, path: fmt.Sprintf("n%d.md", j)}
				want, _, err := findChangeIn(run, k)
				require.NoError(t, err)
				guess := eventlog.PartRef{Run: run.First, Part: r.IntN(len(run.Parts) + 1)}
				got, err := places.change(t.Context(), k, guess, &runParts{run: run, size: size})
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
	}
}

// TestFramesOfNotePlaces checks that a lookup unpacks no frame before that of a note whose place is
// guessed, otherwise the frames up to that of the note, and no frame a second time.
func TestFramesOfNotePlaces(t *testing.T) {
	c := &eventlog.Commit{Seq: 1}
	for i := range 100 {
		// Two of the paths have characters that JSON escapes.
		path := map[int]string{30: `a "quoted" note.md`, 31: "a<b.md"}[i]
		c.Notes = append(c.Notes, eventlog.Note{Path: cmp.Or(path, fmt.Sprintf("n%02d.md", i)), Text: []byte("text")})
	}
	run, err := eventlog.NewRun([]*eventlog.Commit{c}, nil)
	require.NoError(t, err)
	parts := &runParts{run: run, size: 10}
	places := newNotePlaces(&eventlog.Run{Header: run.Header})
	for _, of := range []struct{ note, guess, frames int }{
		{77, 77, 0}, {25, -1, 3}, {4, -1, 3}, {30, -1, 4}, {31, -1, 4}, {45, 77, 5}, {99, 99, 5}, {99, -1, 10}, {12, -1, 10},
	} {
		guess := eventlog.PartRef{Run: 1, Part: of.guess}
		got, err := places.change(t.Context(), changeKey{seq: 1, path: c.Notes[of.note].Path}, guess, parts)
		require.NoError(t, err)
		require.NotNil(t, got)
		require.Equal(t, of.note, got.at.Part)
		require.Equal(t, of.frames, parts.frames, "%+v", of)
	}
	got, err := places.change(t.Context(), changeKey{seq: 1, path: "none.md"}, eventlog.PartRef{}, parts)
	require.NoError(t, err)
	require.Nil(t, got)
}

// A runParts reads the parts of a run that is in memory, in frames of a size. It counts the frames.
type runParts struct {
	run    *eventlog.Run
	size   int
	frames int
}

func (p *runParts) part(_ context.Context, at eventlog.PartRef) (eventlog.Part, error) {
	return p.run.Part(at)
}

func (p *runParts) frame(_ context.Context, at eventlog.PartRef) ([]eventlog.Part, int, error) {
	p.frames++
	first := at.Part / p.size * p.size
	return p.run.Parts[first:min(first+p.size, len(p.run.Parts))], first, nil
}

// someNote returns a random change of a note: a new text, a deletion, or a move from another path.
func someNote(r *rand.Rand, path string) eventlog.Note {
	n := eventlog.Note{Path: path, Prev: uint64(r.IntN(9))}
	switch r.IntN(3) {
	case 0:
		n.Deleted = true
	case 1:
		n.Text, n.From, n.Prev = []byte("text"), fmt.Sprintf("n%d.md", r.IntN(12)), 0
	default:
		n.Text = []byte(fmt.Sprint("text ", r.IntN(100)))
	}
	return n
}
