package tabletest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// queryCases test Query.
func queryCases() []testCase {
	return []testCase{
		{"query has two ends", queryEnds},
		{"query sorts bytewise", queryOrder},
		{"query stays in its partition", queryPartition},
		{"query of many pages by size", queryBytes},
		{"query of many pages by number", queryNumber},
		{"query over pages of expired items", queryExpired},
		{"query and commits in its body", queryCommits},
		{"query that is left", queryLeft},
		{"reads see what was committed", readsSee},
	}
}

func queryEnds(t *testing.T, s *suite) {
	for _, sort := range []string{"a", "b", "b/1", "b0", "c", "d"} {
		s.must(t, table.Create(item(sort, sort)))
	}
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"b", "c", []string{"b", "b/1", "b0", "c"}},
		{"b", "b", []string{"b"}},
		{"b/", "b/~", []string{"b/1"}},
		{"aa", "bb", []string{"b", "b/1", "b0"}},
		{"", "b", []string{"a", "b"}},
		{"", "~", []string{"a", "b", "b/1", "b0", "c", "d"}},
		{"d", "~", []string{"d"}},
		{"e", "~", []string{}},
		{"c", "b", []string{}},
		{"a", "", []string{}},
		{"", "", []string{}},
	} {
		got := s.query(t, "part", c.from, c.to)
		require.Equal(t, c.want, sorts(got), "from %q to %q", c.from, c.to)
		for _, it := range got {
			require.Equal(t, item(it.Sort, it.Sort), it)
		}
	}
	require.Empty(t, s.query(t, "nobody", "", "~"))
}

func queryOrder(t *testing.T, s *suite) {
	want := []string{"\x00", "\x01", " ", "-", "/", "0", "10", "9", "A", "a", "a\x00", "aa", "~",
		"é", "日", "😀"}
	for i := range want {
		// 7 and 16 have no common divisor, so every Sort comes once, in another order.
		s.must(t, table.Create(item(want[i*7%len(want)], "x")))
	}
	require.Equal(t, want, sorts(s.query(t, "part", "", "\U0010ffff")))
}

func queryPartition(t *testing.T, s *suite) {
	parts := []string{"a", "a/b", "ab", "a-b", "b", "a\x00", "aa/b/c", "é"}
	for _, part := range parts {
		for _, sort := range []string{"a", "b", "~"} {
			k := table.Key{Part: part, Sort: sort}
			s.must(t, table.Create(table.Item{Key: k, Data: []byte(part + " " + sort)}))
		}
	}
	for _, part := range parts {
		got := s.query(t, part, "", "\U0010ffff")
		require.Equal(t, []string{"a", "b", "~"}, sorts(got))
		for _, it := range got {
			require.Equal(t, part, it.Part)
			require.Equal(t, part+" "+it.Sort, string(it.Data))
		}
	}
}

func queryBytes(t *testing.T, s *suite) {
	all := s.fill(t, 20, 200<<10)
	require.Equal(t, all, sorts(s.query(t, "part", "", "~")))
	require.Equal(t, all[3:18], sorts(s.query(t, "part", all[3], all[17])))
}

func queryNumber(t *testing.T, s *suite) {
	all := s.fill(t, 1100, 10)
	require.Equal(t, all, sorts(s.query(t, "part", "", "~")))
	require.Equal(t, all[7:1050], sorts(s.query(t, "part", all[7], all[1049])))
}

func queryExpired(t *testing.T, s *suite) {
	var ops []table.Op
	for i := range 1000 {
		it := item(fmt.Sprintf("%06d", i), "x")
		it.Expires = s.clock.now()
		ops = append(ops, table.Set(it))
		if len(ops) == table.MaxOps {
			s.must(t, ops...)
			ops = nil
		}
	}
	s.must(t, table.Set(item("~", "x")))
	s.clock.move(2 * time.Second)
	require.Equal(t, []string{"~"}, sorts(s.query(t, "part", "", "~")))
}

// queryCommits removes what is yielded and puts items behind the end and before the beginning. All
// that was there is seen once.
func queryCommits(t *testing.T, s *suite) {
	all := s.fill(t, 600, 10)
	var seen []string
	for it, err := range s.Query(t.Context(), "part", all[0], all[599]) {
		require.NoError(t, err)
		seen = append(seen, it.Sort)
		if len(seen)%20 == 1 {
			s.must(t, table.Remove(it.Key), table.Set(item("!"+it.Sort, "x")),
				table.Set(item("~"+it.Sort, "x")))
			s.absent(t, it.Key)
		}
	}
	require.Equal(t, all, seen)
	require.Len(t, s.query(t, "part", all[0], all[599]), 570)
}

func queryLeft(t *testing.T, s *suite) {
	all := s.fill(t, 300, 10)
	items := s.Query(t.Context(), "part", "", "~")
	for it, err := range items {
		require.NoError(t, err)
		require.Equal(t, all[0], it.Sort)
		break
	}
	s.must(t, table.Remove(at(all[0])))
	for it, err := range items {
		require.NoError(t, err)
		require.Equal(t, all[1], it.Sort, "a sequence that is used again reads again")
		break
	}
}

func readsSee(t *testing.T, s *suite) {
	for i := range 50 {
		want := item("a", fmt.Sprint(i))
		s.must(t, table.Set(want), table.Set(item(fmt.Sprintf("b%02d", i), "x")))
		require.Equal(t, want, s.get(t, at("a")))
		require.Len(t, s.query(t, "part", "a", "~"), i+2)
	}
}

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
