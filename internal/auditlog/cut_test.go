package auditlog_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auditlog"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// TestCutPieces checks that pieces of whole lines are cut out of a text if each occurs once.
func TestCutPieces(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		pieces     []string
		ok         bool
	}{
		"none":               {"a\nb\n", "a\nb\n", nil, true},
		"several":            {"a\nb\nc\nd\ne\n", "a\ne\n", []string{"d\n", "b\nc\n"}, true},
		"all":                {"a\nb\n", "", []string{"a\n", "b\n"}, true},
		"the same beginning": {"a\nb\na\nc\n", "", []string{"a\nc\n", "a\nb\n"}, true},
		"not there":          {"a\nb\n", "", []string{"c\n"}, false},
		"there in part":      {"a\nb\n", "", []string{"b\nc\n"}, false},
		"twice":              {"a\nb\na\n", "", []string{"a\n"}, false},
		"named twice":        {"a\nb\n", "", []string{"a\n", "a\n"}, false},
		"within a line":      {"xa\n", "", []string{"a\n"}, false},
		"without an end":     {"a\nb", "", []string{"b\n"}, false},
	} {
		pieces := make([][]byte, len(c.pieces))
		for i, p := range c.pieces {
			pieces[i] = []byte(p)
		}
		got, ok := auditlog.CutPieces([]byte(c.text), pieces)
		require.Equal(t, c.ok, ok, name)
		if ok {
			require.Equal(t, c.want, string(got), name)
		}
	}
}

// TestCutPiecesInOnePass checks that many pieces cost no more than one pass over the text.
func TestCutPiecesInOnePass(t *testing.T) {
	var text, rest []byte
	var pieces [][]byte
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20_000 {
		line := fmt.Appendf(nil, "line %d %s\n", i, bytes.Repeat([]byte("x"), r.IntN(200)))
		text = append(text, line...)
		if i%5 == 0 {
			pieces = append(pieces, line)
		} else {
			rest = append(rest, line...)
		}
	}
	r.Shuffle(len(pieces), func(i, j int) { pieces[i], pieces[j] = pieces[j], pieces[i] })
	_, allocated := tooltest.Allocated(func() {
		got, ok := auditlog.CutPieces(text, pieces)
		require.True(t, ok)
		require.Equal(t, string(rest), string(got))
	})
	require.Less(t, allocated, uint64(6*len(text)), "with the copy, and with the race detector")
}
