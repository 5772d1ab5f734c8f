package tabletest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// subCases are the promises of table.Sub, on the table of an engine.
func subCases() []testCase {
	return []testCase{
		{"partitions of a sub", subParts},
		{"tenants do not meet", subIsolation},
		{"keys come back relative", subRelative},
		{"what is not a name", subNames},
	}
}

func subParts(t *testing.T, s *suite) {
	for _, c := range []struct{ part, real string }{
		{"", "a"}, {"x", "a/x"}, {"x/y", "a/x/y"}, {"/x", "a//x"}, {"a", "a/a"}, {"a/x", "a/a/x"},
	} {
		in := table.Item{Key: table.Key{Part: c.part, Sort: "s"}, Data: []byte(c.part)}
		require.NoError(t, table.Sub(s, "a").Commit(t.Context(), table.Create(in)))
		require.Equal(t, c.part, string(s.get(t, table.Key{Part: c.real, Sort: "s"}).Data))
	}
}

func subIsolation(t *testing.T, s *suite) {
	names := []string{"a", "ab", "a-b", "a-", "b", "0", "0a"}
	parts := []string{"", "a", "b", "-b", "/", "/b", "../ab", "\x00", "ab/a"}
	for _, name := range names {
		for _, part := range parts {
			it := table.Item{
				Key: table.Key{Part: part, Sort: "s"}, Data: []byte(name + " " + part),
			}
			require.NoError(t, table.Sub(s, name).Commit(t.Context(), table.Create(it)),
				"%q under %q is somebody else's", part, name)
		}
	}
	for _, name := range names {
		for _, part := range parts {
			sub := suite{Table: table.Sub(s, name)}
			want := table.Item{
				Key: table.Key{Part: part, Sort: "s"}, Data: []byte(name + " " + part),
			}
			require.Equal(t, want, sub.get(t, want.Key))
			require.Equal(t, []table.Item{want}, sub.query(t, part, "", "~"))
		}
	}
	require.NoError(t, table.Sub(s, "a").Commit(t.Context(),
		table.Remove(table.Key{Part: "", Sort: "s"}),
		table.Remove(table.Key{Part: "b", Sort: "s"})))
	ab := suite{Table: table.Sub(s, "ab")}
	ab.get(t, table.Key{Part: "", Sort: "s"})
	ab.get(t, table.Key{Part: "b", Sort: "s"})
}

func subRelative(t *testing.T, s *suite) {
	sub := suite{Table: table.Sub(table.Sub(s, "team"), "v")}
	for _, part := range []string{"", "v", "team/v", "/"} {
		it := table.Item{Key: table.Key{Part: part, Sort: "s"}, Data: []byte("x")}
		sub.must(t, table.Create(it))
		require.Equal(t, it, sub.get(t, it.Key))
		require.Equal(t, []table.Item{it}, sub.query(t, part, "s", "s"))
		want := &table.Conflict{Key: it.Key, Item: it, Found: true}
		require.Equal(t, want, sub.conflict(t, table.Create(it)))

		none := table.Item{Key: table.Key{Part: part, Sort: "none"}, Data: []byte("x")}
		want = &table.Conflict{Key: none.Key}
		require.Equal(t, want, sub.conflict(t, table.Check(none)))
		require.Equal(t, want, sub.conflict(t, table.Replace(none, none)))
	}
}

func subNames(t *testing.T, s *suite) {
	for _, name := range []string{"a/b", "", "/", "-a", "A", "a_b", "a.b", "..", "a\n", "é", "a b"} {
		sub := table.Sub(s, name)
		k := table.Key{Part: "x", Sort: "s"}
		require.ErrorIs(t, sub.Commit(t.Context(), table.Set(table.Item{Key: k})), table.ErrLimit)
		_, err := sub.Get(t.Context(), k)
		require.ErrorIs(t, err, table.ErrLimit)
		n := 0
		for _, err := range sub.Query(t.Context(), "x", "", "~") {
			require.ErrorIs(t, err, table.ErrLimit)
			n++
		}
		require.Equal(t, 1, n)
	}
	long := table.Sub(s, strings.Repeat("a", table.MaxKey))
	require.NoError(t, long.Commit(t.Context(), table.Set(table.Item{Key: table.Key{Sort: "s"}})))
	require.ErrorIs(t, long.Commit(t.Context(), table.Set(item("s", ""))), table.ErrLimit)
}
