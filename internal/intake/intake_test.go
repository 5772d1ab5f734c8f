package intake_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/intake"
)

// gone is a file that was there with a text and is gone; made is a new one.
func gone(path, text string) *intake.Found {
	return &intake.Found{Path: path, Before: &index.File{Path: path, Digest: index.DigestOf([]byte(text))}}
}

func made(path, text string) *intake.Found {
	return &intake.Found{Path: path, Text: []byte(text), Digest: index.DigestOf([]byte(text))}
}

func TestPair(t *testing.T) {
	from := func(f *intake.Found) string {
		if f.From == nil {
			return ""
		}
		return f.From.Path
	}
	for name, c := range map[string]struct {
		all  []*intake.Found
		want string // the path that the last one was moved from
	}{
		"the same text":               {[]*intake.Found{gone("a.md", "x"), made("b.md", "x")}, "a.md"},
		"another text":                {[]*intake.Found{gone("a.md", "x"), made("b.md", "y")}, ""},
		"the same name is likelier":   {[]*intake.Found{gone("c.md", "x"), gone("a/b.md", "x"), made("b.md", "x")}, "a/b.md"},
		"one goes to one":             {[]*intake.Found{gone("a.md", "x"), made("b.md", "x"), made("c.md", "x")}, ""},
		"not out of the trash":        {[]*intake.Found{gone(".trash/a.md", "x"), made("a.md", "x")}, ""},
		"another spelling, edited":    {[]*intake.Found{{Path: "a.md", To: "A.md", Before: &index.File{}}, made("A.md", "y")}, "a.md"},
		"a file that was there stays": {[]*intake.Found{gone("a.md", "x"), {Path: "b.md", Text: []byte("x"), Before: &index.File{}}}, ""},
	} {
		intake.Pair(c.all)
		last := c.all[len(c.all)-1]
		require.Equal(t, c.want, from(last), name)
		if last.From != nil {
			require.True(t, last.From.Moved, name)
			require.False(t, last.From.TakesAway(), name)
		}
	}
}

// many are removals of that many files.
func many(n int, kept bool) []*intake.Found {
	var all []*intake.Found
	for i := range n {
		f := gone(fmt.Sprintf("%03d.md", i), fmt.Sprint(i))
		f.Kept = kept
		all = append(all, f)
	}
	return all
}

func TestGuard(t *testing.T) {
	trips := func(all []*intake.Found) bool {
		n, _ := intake.Away(all)
		return intake.TooMany(n, 100)
	}
	require.False(t, intake.TooMany(20, 100))
	require.True(t, intake.TooMany(21, 100))
	require.False(t, intake.TooMany(21, 210))
	for name, c := range map[string]struct {
		all        []*intake.Found
		accepted   bool
		take, hold int
	}{
		"few":                               {many(20, false), false, 20, 0},
		"too many are held whole":           {append(many(21, false), made("n.md", "n")), false, 0, 22},
		"what is held stays":                {append(many(3, true), made("n.md", "n")), false, 1, 3},
		"until it is accepted":              {append(many(30, true), made("n.md", "n")), true, 31, 0},
		"with as many more, these are held": {append(many(30, true), many(21, false)...), true, 30, 21},
		"what takes nothing away is free":   {[]*intake.Found{{Path: "n.md", Text: []byte("n"), Kept: true}}, false, 1, 0},
	} {
		take, hold := intake.Guard(c.all, c.accepted, trips)
		require.Len(t, take, c.take, name)
		require.Len(t, hold, c.hold, name)
	}
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	two := many(2, false)
	two[0].At, two[1].At = at.Add(time.Second), at
	n, first := intake.Away(append(two, made("n.md", "n")))
	require.Equal(t, 2, n)
	require.Equal(t, at, first)
}

func TestHeldOf(t *testing.T) {
	moved, reverted := made("to.md", "x"), made("r.md", "r")
	moved.From = gone("from.md", "x")
	moved.From.Moved = true
	reverted.Before, reverted.Reverts = &index.File{}, true
	held := intake.HeldOf([]*intake.Found{
		moved, moved.From, reverted, made("n.md", "n"), gone("g.md", "g"),
		{Path: "c.md", Text: []byte("c"), Before: &index.File{}},
	})
	require.Equal(t, []string{"to.md", "from.md", "r.md", "n.md", "g.md", "c.md"}, held.Paths)
	require.Equal(t, []int{1, 1, 1, 1, 1}, []int{held.Moved, held.Reverted, held.Created, held.Removed, held.Changed})
}

func TestPieces(t *testing.T) {
	var all []*intake.Found
	for i := range intake.PieceFiles + 1 {
		all = append(all, made(fmt.Sprintf("%04d.md", i), "x"))
	}
	all = append(all, made("schema.yaml", "types: {}"))
	pieces := intake.Pieces(all)
	require.Len(t, pieces, 2)
	require.Equal(t, "schema.yaml", pieces[0][0].Path)
	require.Len(t, pieces[0], intake.PieceFiles)

	whole := intake.Pieces(append(all, gone("gone.md", "g")))
	require.Len(t, whole, 1, "what takes something away is one commit")
	require.Equal(t, "gone.md", whole[0][len(whole[0])-1].Path)

	pair := []*intake.Found{gone("a.md", "x"), made("b.md", "x")}
	intake.Pair(pair)
	require.Equal(t, [][]*intake.Found{{pair[1]}}, intake.Pieces(pair), "a move is one edit")
}

func TestInHalves(t *testing.T) {
	var done []int
	most := 3
	do := func(part []*intake.Found) error {
		if len(part) > most {
			return fault.New(fault.BatchTooLarge, "too much")
		}
		done = append(done, len(part))
		return nil
	}
	require.NoError(t, intake.InHalves(many(10, false), do))
	require.Equal(t, []int{2, 3, 2, 3}, done)
	most = 0
	require.True(t, fault.Is(intake.InHalves(many(2, false), do), fault.BatchTooLarge))
	other := errors.New("other")
	require.ErrorIs(t, intake.InHalves(many(2, false), func([]*intake.Found) error { return other }), other)
}
