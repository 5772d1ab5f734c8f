package tabletest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// limitCases are the limits of every engine, tested from both sides.
func limitCases() []testCase {
	return []testCase{
		{"operations of a commit", limitOps},
		{"one key twice", limitTwice},
		{"size of an item", limitItem},
		{"size of a commit", limitCommit},
		{"keys", limitKeys},
		{"malformed operations", limitMalformed},
		{"a context that ended", contextEnded},
	}
}

// refused requires that the Commit breaks a limit, as a plain write and within a transaction.
func (s *suite) refused(t *testing.T, op table.Op) {
	t.Helper()
	require.ErrorIs(t, s.Commit(t.Context(), op), table.ErrLimit)
	other := table.Set(table.Item{Key: table.Key{Part: "bystander", Sort: "x"}})
	require.ErrorIs(t, s.Commit(t.Context(), other, op), table.ErrLimit)
	s.absent(t, other.Item.Key)
}

func limitOps(t *testing.T, s *suite) {
	var ops []table.Op
	for i := range table.MaxOps + 1 {
		ops = append(ops, table.Create(item(fmt.Sprintf("%03d", i), "x")))
	}
	require.ErrorIs(t, s.Commit(t.Context(), ops...), table.ErrLimit)
	require.ErrorIs(t, s.Commit(t.Context()), table.ErrLimit)
	require.Empty(t, s.query(t, "part", "", "z"))
	s.must(t, ops[:table.MaxOps]...)
	require.Len(t, s.query(t, "part", "", "z"), table.MaxOps)
}

func limitTwice(t *testing.T, s *suite) {
	a := item("a", "one")
	for _, second := range []table.Op{
		table.Set(a), table.Remove(a.Key), table.Check(a), table.Add(a, 1, 2),
	} {
		err := s.Commit(t.Context(), table.Create(a), second)
		require.ErrorIs(t, err, table.ErrLimit)
	}
	s.absent(t, at("a"))
	same := table.Item{Key: table.Key{Part: "other", Sort: "a"}}
	s.must(t, table.Create(a), table.Create(same))
}

func limitItem(t *testing.T, s *suite) {
	most := table.MaxItem - 100 - s.prefix - len("part") - len("a")
	fits := table.Item{Key: at("a"), Data: make([]byte, most)}
	over := table.Item{Key: at("a"), Data: make([]byte, most+1)}
	s.refused(t, table.Create(over))
	s.refused(t, table.Set(over))
	s.refused(t, table.Replace(item("a", "x"), over))
	s.absent(t, at("a"))
	s.must(t, table.Create(fits))
	require.Len(t, s.get(t, at("a")).Data, most)
	s.must(t, table.Replace(fits, item("a", "x")))
}

func limitCommit(t *testing.T, s *suite) {
	var ops []table.Op
	for i := range 11 {
		big := table.Item{Key: at(fmt.Sprintf("%02d", i)), Data: make([]byte, 390<<10)}
		ops = append(ops, table.Create(big))
	}
	require.ErrorIs(t, s.Commit(t.Context(), ops...), table.ErrLimit)
	require.Empty(t, s.query(t, "part", "", "z"))
	s.must(t, ops[:10]...)
	require.Len(t, s.query(t, "part", "", "z"), 10)
}

func limitKeys(t *testing.T, s *suite) {
	long := strings.Repeat("k", table.MaxKey)
	fits := table.Key{Part: long[s.prefix:], Sort: long}
	s.must(t, table.Set(table.Item{Key: fits}))
	s.get(t, fits)
	require.Len(t, s.query(t, fits.Part, "", long), 1)
	if s.prefix == 0 {
		_, err := s.Get(t.Context(), table.Key{Sort: "a"})
		require.ErrorIs(t, err, table.ErrLimit, "an empty Part is for a Sub")
		s.refused(t, table.Set(table.Item{Key: table.Key{Sort: "a"}}))
	}
	for _, k := range []table.Key{
		{Part: "part"},
		{Part: long + "k", Sort: "a"},
		{Part: fits.Part + "k", Sort: "a"},
		{Part: "part", Sort: long + "k"},
		{Part: "part", Sort: "\xff"},
		{Part: "\xc3", Sort: "a"},
	} {
		require.ErrorIs(t, s.Commit(t.Context(), table.Set(table.Item{Key: k})), table.ErrLimit)
		_, err := s.Get(t.Context(), k)
		require.ErrorIs(t, err, table.ErrLimit)
	}
	for _, q := range [][3]string{
		{fits.Part + "k", "a", "b"}, {"part", "\xff", "b"}, {"part", "a", long + "k"},
	} {
		var last error
		for _, err := range s.Query(t.Context(), q[0], q[1], q[2]) {
			last = err
		}
		require.ErrorIs(t, last, table.ErrLimit)
	}
}

func limitMalformed(t *testing.T, s *suite) {
	s.refused(t, table.Op{Item: item("a", "x")})
	s.refused(t, table.Op{Kind: table.OpAdd + 1, Item: item("a", "x")})
	s.refused(t, table.Replace(item("b", "x"), item("a", "x")))
	s.absent(t, at("a"))
}

// contextEnded requires only that the call fails: the outcome of the Commit is unknown.
func contextEnded(t *testing.T, s *suite) {
	s.must(t, table.Create(item("a", "one")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Get(ctx, at("a"))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, s.Commit(ctx, table.Set(item("b", "one"))), context.Canceled)
	var last error
	for _, err := range s.Query(ctx, "part", "a", "b") {
		last = err
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, item("a", "one"), s.get(t, at("a")))
}
