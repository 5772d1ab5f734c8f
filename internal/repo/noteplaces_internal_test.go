package repo

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/stretchr/testify/require"
)

// TestNotePlaces checks that the changes in a run are the same when they are found by places as
// when the whole run is read: for notes that were moved, deleted or erased, and for several commits
// of one note.
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
		places := newNotePlaces(run)
		for seq := run.First; seq <= run.Last; seq++ {
			for j := range 12 {
				k := changeKey{seq: seq, path: fmt.Sprintf("n%d.md", j)}
				want, _, err := findChangeIn(run, k)
				require.NoError(t, err)
				got, err := places.change(k, run.Part)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
		}
	}
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
