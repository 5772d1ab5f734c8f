// Package tabletest has a suite that every table must pass, and a table that fails as planned.
//
// The suite tests what the port promises, which is what AWS promises and nothing more: no case
// needs several items to be read at one moment, or a Query to be a snapshot.
package tabletest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/table"
)

// suite is the state of a case.
type suite struct {
	table.Table
	clock  *clock
	prefix int // bytes that the table puts before every Part, for tests of limits
}

// A testCase tests one promise of the port.
type testCase struct {
	name string
	run  func(t *testing.T, s *suite)
}

// Run runs the suite on tables that open returns, once directly and once through Sub. Each call of
// open returns an empty table, which calls now for the time; open closes it with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) table.Table) {
	ways := []struct {
		name   string
		prefix int
		wrap   func(table.Table) table.Table
	}{
		{"plain", 0, func(t table.Table) table.Table { return t }},
		{"sub", len("team/"), func(t table.Table) table.Table { return table.Sub(t, "team") }},
		{"sub of sub", len("team/v-1/"), func(t table.Table) table.Table {
			return table.Sub(table.Sub(t, "team"), "v-1")
		}},
	}
	cases := append(append(append(opCases(), limitCases()...), queryCases()...), raceCases()...)
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					clock := newClock()
					c.run(t, &suite{way.wrap(open(t, clock.now)), clock, way.prefix})
				})
			}
		})
	}
	for _, c := range subCases() {
		t.Run("isolation/"+c.name, func(t *testing.T) {
			clock := newClock()
			c.run(t, &suite{open(t, clock.now), clock, 0})
		})
	}
}

// A clock stands still until it is told to move.
type clock struct {
	mu   sync.Mutex
	time time.Time
}

func newClock() *clock {
	return &clock{time: time.Date(2026, 11, 21, 9, 0, 0, 500_000_000, time.UTC)}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
}

// at is a key in the partition that most cases use.
func at(sort string) table.Key { return table.Key{Part: "part", Sort: sort} }

// item is an item in that partition.
func item(sort, data string) table.Item {
	return table.Item{Key: at(sort), Data: []byte(data)}
}

// must commits what has to hold.
func (s *suite) must(t *testing.T, ops ...table.Op) {
	t.Helper()
	require.NoError(t, s.Commit(t.Context(), ops...))
}

// conflict commits what must not hold, and returns why it does not.
func (s *suite) conflict(t *testing.T, ops ...table.Op) *table.Conflict {
	t.Helper()
	var c *table.Conflict
	require.ErrorAs(t, s.Commit(t.Context(), ops...), &c)
	return c
}

// get reads an item that has to be there.
func (s *suite) get(t *testing.T, k table.Key) table.Item {
	t.Helper()
	it, err := s.Get(t.Context(), k)
	require.NoError(t, err)
	require.Equal(t, k, it.Key)
	require.NotNil(t, it.Data, "an item that was read has Data, if empty")
	return it
}

// absent requires that neither Get nor Query find the item.
func (s *suite) absent(t *testing.T, k table.Key) {
	t.Helper()
	_, err := s.Get(t.Context(), k)
	require.ErrorIs(t, err, table.ErrNotFound)
	require.Empty(t, s.query(t, k.Part, k.Sort, k.Sort))
}

// query collects a Query that has to succeed.
func (s *suite) query(t *testing.T, part, from, to string) []table.Item {
	t.Helper()
	var items []table.Item
	for it, err := range s.Query(t.Context(), part, from, to) {
		require.NoError(t, err)
		items = append(items, it)
	}
	return items
}

// sorts are the Sorts of items.
func sorts(items []table.Item) []string {
	all := []string{}
	for _, it := range items {
		all = append(all, it.Sort)
	}
	return all
}

// fill puts n items with these numbers of bytes, a hundred a Commit, and returns their Sorts.
func (s *suite) fill(t *testing.T, n, size int) []string {
	t.Helper()
	var all []string
	var ops []table.Op
	for i := range n {
		sort := fmt.Sprintf("%06d", i)
		all = append(all, sort)
		ops = append(ops, table.Create(table.Item{Key: at(sort), Data: make([]byte, size)}))
		if len(ops) == table.MaxOps || i == n-1 {
			s.must(t, ops...)
			ops = nil
		}
	}
	return all
}
