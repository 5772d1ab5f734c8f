package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/index"
)

// TestTraitNumbers holds that the numbers of the traits of a type are those of the traits themselves, also among more
// types than there are marks, and that scopes and lines are theirs.
func TestTraitNumbers(t *testing.T) {
	var schema, text strings.Builder
	schema.WriteString("traits:\n")
	text.WriteString("---\nt1: x\n---\n# N\n\n")
	for i := range 400 {
		fmt.Fprintf(&schema, "  t%d: {type: string}\n", i)
		if i%7 == 0 {
			fmt.Fprintf(&text, "\n%s Part %d\n\n", strings.Repeat("#", 2+i%3), i)
		}
		fmt.Fprintf(&text, "- @t%d(a) and @t%d(b) and @undefined(c)\n", i, (i*i+3)%400)
	}
	x := index.Build(slices.Values([]index.Commit{{Seq: 1, Time: time.Unix(0, 0), Changes: []index.Change{
		{Path: "schema.yaml", Text: []byte(schema.String())}, {Path: "n.md", Text: []byte(text.String())},
	}}}))
	n, ok := x.Note("n.md")
	require.True(t, ok)
	for i, a := range n.EachAnnotation {
		require.Equal(t, a.Scope(), n.TraitScope(i))
		require.Equal(t, i, n.NumberOf(a))
		require.Same(t, &a.OnLine()[0], &n.Annotations[n.LineOfTrait(i)])
	}
	found := 0
	for i := range 400 {
		typ := fmt.Sprint("t", i)
		want := slices.Collect(n.TraitsAfter(typ, index.Location{}, nil))
		for _, numbers := range [][]int{
			slices.Collect(n.TraitNumbers(typ, nil)), slices.Collect(x.AllTraitNumbers(typ)(n)),
		} {
			var got []*index.Trait
			for _, at := range numbers {
				got = append(got, &n.Annotations[at])
			}
			require.Equal(t, want, got, typ)
		}
		found += len(want)
	}
	require.GreaterOrEqual(t, found, 800)
}
