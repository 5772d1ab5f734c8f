package repo

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIDsInAnswers checks that idsIn yields every id that hasID finds, in answers of random
// characters with a meaning.
func TestIDsInAnswers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{`"`, `"`, `#`, `a`, `a/b`, `.md`, `\"`, `,`, `a.md`, ` `, "é"}
	found := 0
	for range 200_000 {
		var answer []byte
		for range r.IntN(12) {
			answer = append(answer, words[r.IntN(len(words))]...)
		}
		for _, stem := range []string{"a", "a/b", "a.md", "é", "a/ba"} {
			if !hasID(answer, []byte(stem)) {
				continue
			}
			found++
			is := func(id []byte) bool { return bytes.Equal(id, []byte(stem)) }
			require.True(t, slices.ContainsFunc(slices.Collect(idsIn(answer)), is), "%s in %s", stem, answer)
		}
	}
	require.Greater(t, found, 1000)
}
