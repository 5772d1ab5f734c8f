package tabletest

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// opCases test each kind of operation, and several in one Commit.
func opCases() []testCase {
	return []testCase{
		{"create", create},
		{"create and empty data", createEmpty},
		{"create over an expired item", createOverExpired},
		{"replace", replace},
		{"replace keeps the count", replaceKeepsCount},
		{"replace of a missing item", replaceMissing},
		{"set", set},
		{"remove", remove},
		{"check", check},
		{"check of a missing item", checkMissing},
		{"add", add},
		{"add has a bound", addBound},
		{"add and overflow", addOverflow},
		{"add and expiry", addExpiry},
		{"expiry", expiry},
		{"expiry rounds up", expiryRounds},
		{"expiry can be taken back", expiryTakenBack},
		{"all or nothing", allOrNothing},
		{"one operation conflicts as many do", oneAsMany},
		{"conflict names the first", conflictFirst},
		{"every kind in one commit", everyKind},
		{"data is not shared", dataNotShared},
	}
}

func create(t *testing.T, s *suite) {
	s.absent(t, at("a"))
	want := table.Item{Key: at("a"), Data: []byte("\x00one\xff"), Count: -7}
	s.must(t, table.Create(want))
	require.Equal(t, want, s.get(t, at("a")))
	require.Equal(t, []table.Item{want}, s.query(t, "part", "a", "a"))

	c := s.conflict(t, table.Create(item("a", "two")))
	require.Equal(t, &table.Conflict{Key: at("a"), Item: want, Found: true}, c)
	require.Equal(t, want, s.get(t, at("a")))
}

func createEmpty(t *testing.T, s *suite) {
	s.must(t, table.Create(table.Item{Key: at("a")}))
	got := s.get(t, at("a"))
	require.Empty(t, got.Data)
	s.must(t, table.Check(got))
	s.must(t, table.Replace(got, item("a", "now")))
	s.conflict(t, table.Replace(got, item("a", "again")))
}

func createOverExpired(t *testing.T, s *suite) {
	old := item("a", "old")
	old.Count, old.Expires = 5, s.clock.now().Add(time.Minute)
	s.must(t, table.Create(old))
	s.conflict(t, table.Create(item("a", "new")))
	s.clock.move(2 * time.Minute)
	s.absent(t, at("a"))
	s.must(t, table.Create(item("a", "new")))
	require.Equal(t, item("a", "new"), s.get(t, at("a")))
}

func replace(t *testing.T, s *suite) {
	s.must(t, table.Create(item("a", "one")))
	old := s.get(t, at("a"))
	next := item("a", "two")
	next.Expires = s.clock.now().Add(time.Hour).Truncate(time.Second)
	s.must(t, table.Replace(old, next))
	require.Equal(t, next, s.get(t, at("a")))

	c := s.conflict(t, table.Replace(old, item("a", "three")))
	require.Equal(t, &table.Conflict{Key: at("a"), Item: next, Found: true}, c)
	require.Equal(t, next, s.get(t, at("a")))
}

func replaceKeepsCount(t *testing.T, s *suite) {
	s.must(t, table.Create(item("a", "one")))
	old := s.get(t, at("a"))
	s.must(t, table.Add(table.Item{Key: at("a")}, 3, 10))
	next := item("a", "two")
	next.Count = 99
	s.must(t, table.Replace(old, next))
	next.Count = 3
	require.Equal(t, next, s.get(t, at("a")))
}

func replaceMissing(t *testing.T, s *suite) {
	for _, old := range []table.Item{item("a", "one"), item("a", ""), {Key: at("a")}} {
		c := s.conflict(t, table.Replace(old, item("a", "two")))
		require.Equal(t, &table.Conflict{Key: at("a")}, c)
	}
	old := item("a", "one")
	old.Expires = s.clock.now().Add(time.Minute)
	s.must(t, table.Create(old))
	s.clock.move(2 * time.Minute)
	c := s.conflict(t, table.Replace(old, item("a", "two")))
	require.Equal(t, &table.Conflict{Key: at("a")}, c)
	s.absent(t, at("a"))
}

func set(t *testing.T, s *suite) {
	first := item("a", "one")
	first.Count, first.Expires = 4, s.clock.now().Add(time.Hour).Truncate(time.Second)
	s.must(t, table.Set(first))
	require.Equal(t, first, s.get(t, at("a")))
	s.must(t, table.Set(item("a", "two")))
	require.Equal(t, item("a", "two"), s.get(t, at("a")))
}

func remove(t *testing.T, s *suite) {
	s.must(t, table.Remove(at("a")))
	s.must(t, table.Create(item("a", "one")), table.Create(item("b", "one")))
	s.must(t, table.Remove(at("a")))
	s.absent(t, at("a"))
	require.Equal(t, item("b", "one"), s.get(t, at("b")))
	s.must(t, table.Create(item("a", "two")))
}

func check(t *testing.T, s *suite) {
	s.must(t, table.Create(item("a", "one")))
	got := s.get(t, at("a"))
	s.must(t, table.Check(got))
	s.must(t, table.Check(got), table.Create(item("b", "one")))
	require.Equal(t, got, s.get(t, at("a")))

	// A count is not data: it may change under a Check.
	s.must(t, table.Add(table.Item{Key: at("a")}, 1, 10))
	s.must(t, table.Check(got))

	s.must(t, table.Set(item("a", "two")))
	c := s.conflict(t, table.Check(got), table.Create(item("c", "one")))
	require.Equal(t, &table.Conflict{Key: at("a"), Item: item("a", "two"), Found: true}, c)
	s.absent(t, at("c"))
}

func checkMissing(t *testing.T, s *suite) {
	none := table.Item{Key: at("a")}
	s.must(t, table.Check(none))
	s.must(t, table.Check(none), table.Create(item("b", "one")))
	s.absent(t, at("a"))
	require.Equal(t, &table.Conflict{Key: at("a")}, s.conflict(t, table.Check(item("a", "one"))))

	expiring := item("a", "one")
	expiring.Expires = s.clock.now().Add(time.Minute)
	s.must(t, table.Set(expiring))
	c := s.conflict(t, table.Check(none), table.Create(item("c", "one")))
	require.True(t, c.Found)
	require.Equal(t, []byte("one"), c.Item.Data)
	s.clock.move(2 * time.Minute)
	s.must(t, table.Check(none))
	s.conflict(t, table.Check(expiring))
}

func add(t *testing.T, s *suite) {
	counter := table.Item{Key: at("n")}
	s.must(t, table.Add(counter, 2, 10))
	require.Equal(t, table.Item{Key: at("n"), Data: []byte{}, Count: 2}, s.get(t, at("n")))
	s.must(t, table.Add(counter, -5, 10))
	require.Equal(t, int64(-3), s.get(t, at("n")).Count)

	s.must(t, table.Set(item("d", "data")))
	s.must(t, table.Add(table.Item{Key: at("d")}, 1, 1), table.Add(counter, 1, 10))
	want := item("d", "data")
	want.Count = 1
	require.Equal(t, want, s.get(t, at("d")))
	require.Equal(t, int64(-2), s.get(t, at("n")).Count)
}

func addBound(t *testing.T, s *suite) {
	counter := table.Item{Key: at("n")}
	c := s.conflict(t, table.Add(counter, 11, 10))
	require.Equal(t, &table.Conflict{Key: at("n")}, c)
	s.absent(t, at("n"))

	s.must(t, table.Add(counter, 10, 10))
	c = s.conflict(t, table.Add(counter, 1, 10))
	require.Equal(t, at("n"), c.Key)
	require.True(t, c.Found)
	require.Equal(t, int64(10), c.Item.Count)
	s.conflict(t, table.Add(counter, 1, 10), table.Create(item("a", "one")))
	s.absent(t, at("a"))

	s.must(t, table.Add(counter, 1, 11))
	s.must(t, table.Add(counter, -1, 10))
	s.conflict(t, table.Add(counter, -1, 8))
	require.Equal(t, int64(10), s.get(t, at("n")).Count)
}

func addOverflow(t *testing.T, s *suite) {
	most := table.Item{Key: at("most"), Count: math.MaxInt64}
	least := table.Item{Key: at("least"), Count: math.MinInt64}
	s.must(t, table.Set(most), table.Set(least))
	s.conflict(t, table.Add(most, 1, math.MaxInt64))
	s.conflict(t, table.Add(least, -1, math.MaxInt64))
	require.Equal(t, most.Count, s.get(t, most.Key).Count)
	require.Equal(t, least.Count, s.get(t, least.Key).Count)
	s.must(t, table.Add(most, math.MinInt64, 0))
	require.Equal(t, int64(-1), s.get(t, most.Key).Count)
}

func addExpiry(t *testing.T, s *suite) {
	first := s.clock.now().Truncate(time.Second).Add(time.Minute)
	counter := table.Item{Key: at("n"), Expires: first}
	s.must(t, table.Add(counter, 4, 5))
	s.must(t, table.Add(table.Item{Key: at("n")}, 1, 5))
	require.Equal(t, first, s.get(t, at("n")).Expires, "no Expires leaves it")

	counter.Expires = first.Add(time.Minute)
	s.must(t, table.Add(counter, -1, 5))
	require.Equal(t, counter.Expires, s.get(t, at("n")).Expires)

	s.clock.move(3 * time.Minute)
	s.absent(t, at("n"))
	s.must(t, table.Add(table.Item{Key: at("n")}, 3, 5))
	require.Equal(t, table.Item{Key: at("n"), Data: []byte{}, Count: 3}, s.get(t, at("n")))
}

func expiry(t *testing.T, s *suite) {
	at10 := s.clock.now().Truncate(time.Second).Add(10 * time.Second)
	for _, sort := range []string{"a", "b", "c"} {
		it := item(sort, "x")
		if sort != "b" {
			it.Expires = at10
		}
		s.must(t, table.Create(it))
	}
	require.Equal(t, at10, s.get(t, at("a")).Expires)
	s.clock.move(9 * time.Second)
	require.Equal(t, []string{"a", "b", "c"}, sorts(s.query(t, "part", "a", "c")))
	s.clock.move(time.Second)
	s.absent(t, at("a"))
	require.Equal(t, []string{"b"}, sorts(s.query(t, "part", "a", "c")))

	// A clean-up by a write removes no other item and restores none.
	s.must(t, table.Set(item("d", "x")))
	s.must(t, table.Remove(at("a")))
	require.Equal(t, []string{"b", "d"}, sorts(s.query(t, "part", "a", "d")))
}

func expiryRounds(t *testing.T, s *suite) {
	it := item("a", "x")
	it.Expires = s.clock.now().Add(100 * time.Millisecond)
	s.must(t, table.Create(it))
	want := s.clock.now().Truncate(time.Second).Add(time.Second)
	require.Equal(t, want, s.get(t, at("a")).Expires)
	s.clock.move(499 * time.Millisecond)
	s.get(t, at("a"))
	s.clock.move(time.Millisecond)
	s.absent(t, at("a"))
}

func expiryTakenBack(t *testing.T, s *suite) {
	it := item("a", "x")
	it.Expires = s.clock.now().Add(time.Second)
	s.must(t, table.Create(it))
	s.must(t, table.Replace(it, item("a", "y")))
	s.clock.move(time.Minute)
	s.must(t, table.Set(item("b", "x")))
	require.Equal(t, item("a", "y"), s.get(t, at("a")))
}

func allOrNothing(t *testing.T, s *suite) {
	s.must(t, table.Create(item("c", "one")))
	c := s.conflict(t,
		table.Create(item("a", "one")), table.Set(item("b", "one")),
		table.Create(item("c", "two")), table.Remove(at("d")),
		table.Add(table.Item{Key: at("e")}, 1, 10))
	require.Equal(t, at("c"), c.Key)
	require.Equal(t, []table.Item{item("c", "one")}, s.query(t, "part", "a", "z"))

	other := table.Item{Key: table.Key{Part: "other", Sort: "a"}, Data: []byte("one")}
	s.must(t, table.Create(item("a", "one")), table.Create(other), table.Remove(at("c")))
	require.Equal(t, item("a", "one"), s.get(t, at("a")))
	require.Equal(t, other, s.get(t, other.Key))
	s.absent(t, at("c"))
}

func oneAsMany(t *testing.T, s *suite) {
	was := item("a", "was")
	s.must(t, table.Create(was))
	for _, op := range []table.Op{
		table.Create(item("a", "new")),
		table.Replace(item("a", "other"), item("a", "new")),
		table.Check(item("a", "other")),
		table.Check(table.Item{Key: at("a")}),
		table.Add(table.Item{Key: at("a")}, 5, 4),
	} {
		want := &table.Conflict{Key: at("a"), Item: was, Found: true}
		require.Equal(t, want, s.conflict(t, op))
		require.Equal(t, want, s.conflict(t, table.Set(item("b", "new")), op))
		require.Equal(t, []table.Item{was}, s.query(t, "part", "a", "b"))
	}
}

func conflictFirst(t *testing.T, s *suite) {
	s.must(t, table.Create(item("a", "one")), table.Create(item("b", "two")))
	c := s.conflict(t,
		table.Create(item("c", "new")), table.Create(item("b", "new")),
		table.Create(item("a", "new")))
	require.Equal(t, &table.Conflict{Key: at("b"), Item: item("b", "two"), Found: true}, c)
}

func everyKind(t *testing.T, s *suite) {
	s.must(t, table.Set(item("b", "one")), table.Set(item("d", "one")), table.Set(item("e", "one")))
	ops := []table.Op{
		table.Create(item("a", "new")),
		table.Replace(item("b", "one"), item("b", "two")),
		table.Set(item("c", "new")),
		table.Remove(at("d")),
		table.Check(item("e", "one")),
		table.Add(table.Item{Key: at("f")}, 6, 6),
	}
	s.must(t, ops...)
	want := []table.Item{
		item("a", "new"), item("b", "two"), item("c", "new"), item("e", "one"),
		{Key: at("f"), Data: []byte{}, Count: 6},
	}
	require.Equal(t, want, s.query(t, "part", "a", "z"))
	s.conflict(t, ops...)
	require.Equal(t, want, s.query(t, "part", "a", "z"))
}

// dataNotShared uses more data than an engine would copy by chance.
func dataNotShared(t *testing.T, s *suite) {
	before := strings.Repeat("before", 10_000)
	data := []byte(before)
	s.must(t, table.Create(table.Item{Key: at("a"), Data: data}))
	copy(data, "AFTER!")
	got := s.get(t, at("a"))
	require.Equal(t, before, string(got.Data))
	copy(got.Data, "AFTER!")
	got = s.query(t, "part", "a", "a")[0]
	require.Equal(t, before, string(got.Data))
	copy(got.Data, "AFTER!")
	require.Equal(t, before, string(s.get(t, at("a")).Data))
}
