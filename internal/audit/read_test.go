package audit_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// story creates two vaults, writes to both, puts one in the trash, and makes refused calls: four
// commits of the tenant, four of the vaults, and three refusals, a minute apart. The oldest refusal
// is archived.
func story(t *testing.T) (*bench, *audit.Auditor) {
	t.Helper()
	b := newBench(t)
	a := b.auditor(t)
	step := func(do func()) {
		do()
		b.clock.pass(time.Minute)
	}
	step(func() { b.create(t, "notes") })
	step(func() { b.create(t, "other") })
	step(func() { b.refuse(t, a, 1) })
	step(func() { b.put(t, "notes", "people/freya.md", "bot") })
	step(func() { b.put(t, "other", "a.md", "bot") })
	step(func() { b.put(t, "notes", "people/odin.md", "cat") })
	b.clock.pass(5 * time.Minute)
	require.NoError(t, a.Archive(t.Context()))
	step(func() {
		_, err := b.team(t).Trash(t.Context(), eventlog.Call{Tool: "team_vault_delete"}, "other",
			func(tenant.Entry) any { return "gone" })
		require.NoError(t, err)
	})
	step(func() { b.refuse(t, a, 2) })
	return b, a
}

// brief formats an entry on one line.
func brief(e audit.Entry) string {
	return fmt.Sprintf("%s %s %s %s %s", e.Operation, e.Vault, strings.Join(e.Targets, ","),
		e.Outcome, e.After)
}

func briefs(all []audit.Entry) []string {
	lines := []string{}
	for _, e := range all {
		lines = append(lines, brief(e))
	}
	return lines
}

// TestList checks that commits of the tenant and of all its vaults, including one in the trash, and
// refusals, archived or not, are one list, newest first, with caller, tool, targets and outcome.
func TestList(t *testing.T) {
	b, _ := story(t)
	all := b.list(t, audit.Query{})
	require.Equal(t, []string{
		"f_write notes  failed ",
		"f_write notes  failed ",
		"team_vault_delete  other ok v3",
		"team_vault_delete other  ok v3",
		"f_write notes people/odin.md ok v3",
		"f_write other a.md ok v2",
		"f_write notes people/freya.md ok v2",
		"f_write notes  failed ",
		"team_vault_create  other ok v2",
		"team_vault_create other  ok v1",
		"team_vault_create  notes ok v1",
		"team_vault_create notes  ok v1",
	}, briefs(all))
	freya := all[6]
	require.Equal(t, audit.Entry{
		Time: freya.Time, Request: "req-people/freya.md", Tenant: "acme", Principal: "p", Agent: "bot",
		Operation: "f_write", Vault: "notes", Targets: []string{"people/freya.md"},
		Outcome: audit.OK, Before: "v1", After: "v2", Token: "acme_1",
	}, freya)
	page, err := audit.List(t.Context(), b.team(t), audit.Query{}, 50, audit.Position{})
	require.NoError(t, err)
	require.False(t, page.More)
	require.EqualValues(t, 3, page.Version, "of the tenant")
	require.Equal(t, all, page.Entries)
}

// TestListFilters checks that each filter selects exactly the matching entries.
func TestListFilters(t *testing.T) {
	b, _ := story(t)
	all := b.list(t, audit.Query{})
	middle := all[6].Time
	for name, q := range map[string]struct {
		audit.Query
		wants func(audit.Entry) bool
	}{
		"agent":       {audit.Query{Agent: "bot"}, func(e audit.Entry) bool { return e.Agent == "bot" }},
		"principal":   {audit.Query{Principal: "p"}, func(e audit.Entry) bool { return e.Principal == "p" }},
		"tool":        {audit.Query{Tool: "f_write"}, func(e audit.Entry) bool { return e.Operation == "f_write" }},
		"ok":          {audit.Query{Outcome: audit.OK}, func(e audit.Entry) bool { return e.Outcome == "ok" }},
		"failed":      {audit.Query{Outcome: audit.Failed}, func(e audit.Entry) bool { return e.Outcome == "failed" }},
		"a path":      {audit.Query{Target: "people/freya.md"}, func(e audit.Entry) bool { return slices.Contains(e.Targets, "people/freya.md") }},
		"an id":       {audit.Query{Target: "people/freya"}, func(e audit.Entry) bool { return slices.Contains(e.Targets, "people/freya.md") }},
		"a vault":     {audit.Query{Target: "other"}, func(e audit.Entry) bool { return e.Vault == "other" || slices.Contains(e.Targets, "other") }},
		"since":       {audit.Query{Since: middle}, func(e audit.Entry) bool { return !e.Time.Before(middle) }},
		"until":       {audit.Query{Until: middle}, func(e audit.Entry) bool { return e.Time.Before(middle) }},
		"both, empty": {audit.Query{Since: middle, Until: middle}, func(audit.Entry) bool { return false }},
		"long ago":    {audit.Query{Until: time.Unix(-1e10, 0)}, func(audit.Entry) bool { return false }},
		"the future":  {audit.Query{Since: time.Unix(1e12, 0)}, func(audit.Entry) bool { return false }},
		"from ever":   {audit.Query{Since: time.Time{}.Add(1), Until: time.Unix(1e12, 0)}, func(audit.Entry) bool { return true }},
		"two": {
			audit.Query{Agent: "bot", Target: "other"},
			func(e audit.Entry) bool { return e.Agent == "bot" && e.Vault == "other" },
		},
		"nobody": {audit.Query{Principal: "nobody"}, func(audit.Entry) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			want := []audit.Entry{}
			for _, e := range all {
				if q.wants(e) {
					want = append(want, e)
				}
			}
			require.Equal(t, briefs(want), briefs(b.list(t, q.Query)))
		})
	}
	require.Empty(t, b.list(t, audit.Query{Outcome: audit.Refused}))
}

// TestPagesWhileMuchHappens checks that each entry that existed when the first page was read is on
// exactly one page, whatever is written, refused, archived and put in the trash between two pages.
func TestPagesWhileMuchHappens(t *testing.T) {
	b, a := story(t)
	b.refuse(t, a, 20)
	want := briefs(b.list(t, audit.Query{}))
	var got []audit.Entry
	var after audit.Position
	for n := 0; ; n++ {
		p, err := audit.List(t.Context(), b.team(t), audit.Query{}, 2, after)
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.Entries), 2)
		got = append(got, p.Entries...)
		if !p.More {
			break
		}
		after = p.Next
		b.put(t, "notes", fmt.Sprintf("new%d.md", n), "bot")
		b.create(t, fmt.Sprintf("v%d", n))
		b.clock.pass(3 * time.Minute)
		b.refuse(t, a, 1)
		require.NoError(t, a.Archive(t.Context()))
	}
	require.Equal(t, want, briefs(got))
}

// TestPagesOfOneMoment checks that entries with the same time have a fixed order, each once,
// however they are divided into pages, including those of one log.
func TestPagesOfOneMoment(t *testing.T) {
	b := newBench(t)
	b.create(t, "one")
	b.create(t, "two")
	for i := range 7 {
		b.put(t, "one", fmt.Sprintf("%d.md", i), "bot")
		b.put(t, "two", fmt.Sprintf("%d.md", i), "bot")
	}
	cat := catalogue(t, b.auditor(t), func(context.Context, in) (out, error) {
		return out{}, fault.New(fault.Conflict, "no")
	})
	for range 5 {
		invoke(t, cat, someone(), "f_write", `{}`)
	}
	page, err := audit.List(t.Context(), b.team(t), audit.Query{}, 100, audit.Position{})
	require.NoError(t, err)
	require.Len(t, page.Entries, 2+2+14+5)
	for size := 1; size < 8; size++ {
		var all []audit.Entry
		var after audit.Position
		for more := true; more; {
			p, err := audit.List(t.Context(), b.team(t), audit.Query{}, size, after)
			require.NoError(t, err)
			all, after, more = append(all, p.Entries...), p.Next, p.More
		}
		require.Equal(t, page.Entries, all, "pages of %d", size)
	}
}

// TestListCosts checks the cost of a page of a vault with 10,000 commits: the same for the first
// page and one in the middle, except for finding it.
func TestListCosts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, "notes")
	for n := range 1000 {
		b.clock.pass(time.Second)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() { b.put(t, "notes", fmt.Sprintf("%d-%d.md", n, i), "bot") })
		}
		all.Wait()
	}
	read := &counted{Table: b.table}
	a, err := b.process(t, read, b.files.Bucket).Tenant(t.Context(), "acme")
	require.NoError(t, err)
	ctx := context.WithValue(t.Context(), counting{}, true)
	_, err = audit.List(t.Context(), a, audit.Query{}, 1, audit.Position{})
	require.NoError(t, err, "the vault is open")

	read.items, read.queries = 0, 0
	first, err := audit.List(ctx, a, audit.Query{}, 50, audit.Position{})
	require.NoError(t, err)
	require.Len(t, first.Entries, 50)
	require.LessOrEqual(t, read.items, 200, "items")
	require.LessOrEqual(t, read.queries, 6, "Queries")

	read.items, read.queries = 0, 0
	middle := b.clock.time().Add(-500 * time.Second)
	page, err := audit.List(ctx, a, audit.Query{Until: middle}, 50, audit.Position{})
	require.NoError(t, err)
	require.Equal(t, "v4991", page.Entries[0].After)
	require.LessOrEqual(t, read.items, 200, "items")
	require.LessOrEqual(t, read.queries, 6+15, "Queries: the log is halved until it is found")

	read.items = 0
	none, err := audit.List(ctx, a, audit.Query{Agent: "nobody"}, 50, audit.Position{})
	require.NoError(t, err)
	require.Empty(t, none.Entries)
	require.True(t, none.More && none.Partial)
	require.LessOrEqual(t, read.items, 5300, "items")
	rest, err := audit.List(ctx, a, audit.Query{Agent: "nobody"}, 50, none.Next)
	require.NoError(t, err)
	require.True(t, rest.More && rest.Partial)
	end, err := audit.List(ctx, a, audit.Query{Agent: "nobody"}, 50, rest.Next)
	require.NoError(t, err)
	require.False(t, end.More || end.Partial)
}

// A counted is a table that counts the items read in a counting context, and not in the background.
type counted struct {
	table.Table
	items, queries int
}

type counting struct{}

func (c *counted) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	if ctx.Value(counting{}) == nil {
		return c.Table.Query(ctx, part, from, to)
	}
	c.queries++
	return func(yield func(table.Item, error) bool) {
		for it, err := range c.Table.Query(ctx, part, from, to) {
			c.items++
			if !yield(it, err) {
				return
			}
		}
	}
}

// TestListOfAFoldedLog checks that commits whose items have left the table are listed too.
func TestListOfAFoldedLog(t *testing.T) {
	b := newBench(t)
	b.create(t, "notes")
	for i := range 150 {
		b.clock.pass(time.Second)
		b.put(t, "notes", fmt.Sprintf("%d.md", i), "bot")
	}
	want := b.list(t, audit.Query{})
	require.Len(t, want, 152)
	v, err := b.team(t).Vault(t.Context(), "notes")
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
		b.clock.pass(2 * time.Hour)
	}
	require.False(t, b.has(t, "notes/1", "log/000000000001"), "it has left the table")
	require.Equal(t, want, b.list(t, audit.Query{}))
	half := want[:76]
	require.Equal(t, half, b.list(t, audit.Query{Since: half[75].Time}))
	require.Equal(t, want[76:], b.list(t, audit.Query{Until: half[75].Time}))
}

func (b *bench) has(t *testing.T, part, sort string) bool {
	t.Helper()
	_, err := table.Sub(b.table, "acme").Get(t.Context(), table.Key{Part: part, Sort: sort})
	return err == nil
}

// TestListWhenTheStoreFails checks that a list that cannot be read is an error, and never
// incomplete.
func TestListWhenTheStoreFails(t *testing.T) {
	b, _ := story(t)
	for n := 1; ; n++ {
		require.Less(t, n, 60)
		armed, met, call := false, false, 0
		flaky := tabletest.NewFlaky(b.table, func(tabletest.Call) tabletest.Fault {
			if !armed {
				return tabletest.None
			}
			call++
			met = met || call == n
			if call == n {
				return tabletest.Before
			}
			return tabletest.None
		})
		a, err := b.process(t, flaky, b.files.Bucket).Tenant(t.Context(), "acme")
		require.NoError(t, err)
		armed = true
		page, err := audit.List(t.Context(), a, audit.Query{}, 50, audit.Position{})
		if !met {
			require.NoError(t, err)
			require.Len(t, page.Entries, 12)
			require.Greater(t, n, 6)
			return
		}
		if err == nil {
			require.Len(t, page.Entries, 12, "call %d", n)
		}
	}
}

// TestTenantsAreApart checks that a tenant cannot list entries of another.
func TestTenantsAreApart(t *testing.T) {
	b, a := story(t)
	require.NoError(t, b.teams.Make(t.Context(), "evil"))
	cat := catalogue(t, a, func(context.Context, in) (out, error) {
		return out{}, fault.New(fault.Conflict, "no")
	})
	c := someone()
	c.Tenant = "evil"
	invoke(t, cat, c, "f_write", `{}`)
	other, err := b.teams.Tenant(t.Context(), "evil")
	require.NoError(t, err)
	page, err := audit.List(t.Context(), other, audit.Query{}, 50, audit.Position{})
	require.NoError(t, err)
	require.Len(t, page.Entries, 1)
	require.Equal(t, "evil", page.Entries[0].Tenant)
	require.Len(t, b.list(t, audit.Query{}), 12)
}

// TestListOfManyDays checks that archived entries of distant days are found in any interval, and
// that a missing archive is an error.
func TestListOfManyDays(t *testing.T) {
	b := newBench(t)
	a := b.auditor(t)
	for _, days := range []int{0, 1, 1, 7, 8, 9, 100, 1} {
		b.clock.pass(time.Duration(days) * 24 * time.Hour)
		b.refuse(t, a, 3)
		b.clock.pass(6 * time.Minute)
		b.refuse(t, a, 1)
		require.NoError(t, a.Archive(t.Context()))
	}
	all := b.list(t, audit.Query{})
	require.Len(t, all, 32)
	for i := range all {
		for _, j := range []int{i, i + 1, i + 7, len(all) - 1} {
			if j >= i && j < len(all) {
				require.Equal(t, all[i:j+1],
					b.list(t, audit.Query{Since: all[j].Time, Until: all[i].Time.Add(1)}))
			}
		}
	}
	require.NoError(t, b.own().Delete(t.Context(), "refusals/000000000004.jsonl"))
	_, err := audit.List(t.Context(), b.team(t), audit.Query{}, 50, audit.Position{})
	require.True(t, fault.Is(err, fault.IndexError), "%v", err)
	_, err = audit.List(t.Context(), b.team(t), audit.Query{}, 10, audit.Position{})
	require.NoError(t, err, "what is asked for is there")
}
