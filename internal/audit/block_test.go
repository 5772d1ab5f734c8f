package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/table"
)

// flood writes n entries of refused calls to the table, at a constant interval, the last one now.
func (b *bench) flood(t *testing.T, n int, apart time.Duration) {
	t.Helper()
	var ops []table.Op
	for i := range n {
		at := b.clock.time().Add(-time.Duration(n-1-i) * apart)
		data, err := json.Marshal(audit.Entry{
			Time: at, Request: fmt.Sprint("f", i), Tenant: "acme", Operation: "f_write", Outcome: audit.Refused,
		})
		require.NoError(t, err)
		key := table.Key{Part: "refusals", Sort: fmt.Sprintf("%019d-%06d", at.UnixNano(), i)}
		if ops = append(ops, table.Create(table.Item{Key: key, Data: data})); len(ops) == 100 || i == n-1 {
			require.NoError(t, table.Sub(b.table, "acme").Commit(t.Context(), ops...))
			ops = nil
		}
	}
}

// TestAFloodCostsAPage checks that the cost of a page depends on its entries, however many calls
// were refused recently and however close they are: the first page, one in the middle, and one of a
// caller without entries.
func TestAFloodCostsAPage(t *testing.T) {
	for name, f := range map[string]struct {
		n     int
		apart time.Duration
	}{
		"in five minutes": {8000, 37 * time.Millisecond},
		"in a second":     {8000, 100 * time.Microsecond},
		"in a week":       {8000, 75 * time.Second},
		"few":             {60, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.flood(t, f.n, f.apart)
			read := &counted{Table: b.table}
			a, err := b.process(t, read, b.files.Bucket).Tenant(t.Context(), "acme")
			require.NoError(t, err)
			ctx := context.WithValue(t.Context(), counting{}, true)
			page := func(q audit.Query, after audit.Position) audit.Page {
				read.items, read.queries = 0, 0
				p, err := audit.List(ctx, a, q, 50, after)
				require.NoError(t, err)
				return p
			}
			first := page(audit.Query{}, audit.Position{})
			require.Len(t, first.Entries, 50)
			require.Equal(t, fmt.Sprint("f", f.n-1), first.Entries[0].Request)
			t.Logf("first page: %d items, %d Queries", read.items, read.queries)
			require.LessOrEqual(t, read.items, 700, "items")
			require.LessOrEqual(t, read.queries, 20, "Queries")

			second := page(audit.Query{}, first.Next)
			require.Equal(t, fmt.Sprint("f", f.n-51), second.Entries[0].Request)
			require.LessOrEqual(t, read.items, 700, "items")
			require.LessOrEqual(t, read.queries, 20, "Queries")

			middle := page(audit.Query{Until: first.Entries[0].Time.Add(-time.Duration(f.n/2) * f.apart)},
				audit.Position{})
			require.Equal(t, fmt.Sprint("f", f.n/2-2), middle.Entries[0].Request)
			require.LessOrEqual(t, read.items, 700, "items")
			require.LessOrEqual(t, read.queries, 20, "Queries")

			none := page(audit.Query{Agent: "nobody"}, audit.Position{})
			require.Empty(t, none.Entries)
			require.LessOrEqual(t, read.items, 4*5000, "items")
			require.LessOrEqual(t, read.queries, 60, "Queries")
		})
	}
}

// TestAFloodIsListedWhole checks that pages of many entries contain each entry once, in order,
// however dense they are.
func TestAFloodIsListedWhole(t *testing.T) {
	for _, apart := range []time.Duration{0, time.Nanosecond, time.Millisecond, time.Minute} {
		b := newBench(t)
		b.flood(t, 700, apart)
		var got []string
		for after, more := (audit.Position{}), true; more; {
			p, err := audit.List(t.Context(), b.team(t), audit.Query{}, 90, after)
			require.NoError(t, err)
			got, after, more = append(got, requests(p.Entries)...), p.Next, p.More
		}
		require.Len(t, got, 700, apart)
		for i, id := range got {
			require.Equal(t, fmt.Sprint("f", 699-i), id)
		}
	}
}

// An archiving is a table that archives before one of the Queries for refused calls.
type archiving struct {
	table.Table
	left    int
	archive func()
}

func (a *archiving) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		if part == "acme/refusals" {
			if a.left--; a.left == 0 {
				a.archive()
			}
		}
		a.Table.Query(ctx, part, from, to)(yield)
	}
}

// TestAFloodThatIsArchivedMeanwhile checks that a list contains each existing entry once, whichever
// read the archiving precedes.
func TestAFloodThatIsArchivedMeanwhile(t *testing.T) {
	for n := 1; ; n++ {
		require.Less(t, n, 60)
		b := newBench(t)
		b.flood(t, 1500, time.Second)
		moved := false
		slow := &archiving{Table: b.table, left: n, archive: func() {
			moved = true
			_, err := audit.RefusalsOf(b.team(t)).Archive(t.Context(), b.clock.time())
			require.NoError(t, err)
		}}
		a, err := b.process(t, slow, b.files).Tenant(t.Context(), "acme")
		require.NoError(t, err)
		page, err := audit.List(t.Context(), a, audit.Query{}, 2000, audit.Position{})
		require.NoError(t, err)
		require.Len(t, page.Entries, 1500, "archived at read %d", n)
		for i, e := range page.Entries {
			require.Equal(t, fmt.Sprint("f", 1499-i), e.Request)
		}
		if !moved {
			require.Greater(t, n, 4)
			return
		}
		require.NotEmpty(t, b.archives(t))
	}
}
