package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMatchTraitsInOrder checks that traits are matched in order as they are matched by kin, also if
// several are alike.
func TestMatchTraitsInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	inOrder := 0
	for range 2000 {
		old := prevTraitsOf(someTraits(r, 1+r.IntN(4)))
		n := someTraits(r, 1+r.IntN(4))
		fast := traitMatcher{n, make([]*prevTrait, len(n.Annotations))}
		slow := traitMatcher{n, make([]*prevTrait, len(n.Annotations))}
		left := slow.matchSame(old)
		if !fast.matchInOrder(old) {
			require.NotContains(t, fast.matches, old[0], "nothing was matched")
			continue
		}
		inOrder++
		require.Empty(t, left)
		for i, f := range slow.matches {
			require.Same(t, f, fast.matches[i])
		}
	}
	require.Greater(t, inOrder, 100)
}

// TestMatchTraitsOfAnUnchangedList checks that no maps are made for a note whose traits all stay.
func TestMatchTraitsOfAnUnchangedList(t *testing.T) {
	n := &Note{File: &File{}}
	for i := range 100 {
		n.Annotations = append(n.Annotations, someTrait(n, fmt.Sprint("text ", i)))
	}
	old := prevTraitsOf(n)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { matchTraits(n, old) }), 1.0)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { prevTraitsOf(n) }), 2.0)
}

// someTraits returns a note with n random traits, of which several may be alike.
func someTraits(r *rand.Rand, n int) *Note {
	note := &Note{File: &File{Path: "n.md"}}
	for range n {
		note.Annotations = append(note.Annotations, someTrait(note, fmt.Sprint("text ", r.IntN(2))))
	}
	return note
}

// someTrait returns a trait of a note whose line has a text.
func someTrait(n *Note, text string) Trait {
	p := &Place{Note: n, Content: text, scope: -1, end: int32(len(text))}
	return Trait{Place: p, TraitValue: &TraitValue{Type: "due"}}
}
