package janitor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/janitor"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// TestRequests holds what a run costs: three Queries for each tenant, a Get and a Query for each vault, and nothing of a
// bucket. Nothing is sent where nothing is due.
func TestRequests(t *testing.T) {
	b := newBed(t)
	own := b.open(t, "acme", "main")
	write(t, own, "main", "a.md", "A\n")
	b.work(t, b.run(t))
	b.now = b.now.Add(10 * time.Minute)
	b.work(t, b.run(t))
	for vaults := 1; vaults <= 3; vaults++ {
		c := &counts{}
		j := b.janitor(t, c)
		require.NoError(t, j.Run(t.Context()))
		require.Equal(t, []int{4 + vaults, 1 + vaults, 2, 0}, []int{c.queries, c.gets, c.writes, c.bucket},
			"Queries, Gets and writes of the table, and calls of the bucket")
		require.Empty(t, b.queue.take())
		require.Subset(t, []string{"", "~tenants", "~janitor", "acme", "acme/tenant", "acme/~jobs", "acme/refusals",
			"acme/main/1", "acme/v1/1", "acme/v2/1"}, partsOf(c))
		b.open(t, "acme", fmt.Sprintf("v%d", vaults))
	}
}

func partsOf(c *counts) (all []string) {
	for part := range c.parts {
		all = append(all, part)
	}
	return all
}

// TestAsks holds for which states of a vault a run asks for what.
func TestAsks(t *testing.T) {
	b := newBed(t)
	own := b.open(t, "acme")
	at := b.now
	ago := func(d time.Duration) time.Time { return at.Add(-d) }
	for name, c := range map[string]struct {
		state func(*repo.Control)
		want  []string
	}{
		"quiet":      {func(*repo.Control) {}, nil},
		"fold-waits": {func(c *repo.Control) { c.FoldDue = ago(time.Minute) }, nil},
		"fold-lost":  {func(c *repo.Control) { c.FoldDue = ago(3 * time.Minute) }, []string{"fold"}},
		"passing":    {func(c *repo.Control) { c.FoldDue, c.Passing = ago(time.Hour), &eventlog.Lease{Until: at.Add(1)} }, nil},
		"pass-killed": {func(c *repo.Control) {
			c.Passing = &eventlog.Lease{Until: ago(1)}
			c.Cursors["audit"] = eventlog.Cursor{}
		}, []string{"fold"}},
		"leftovers":   {func(c *repo.Control) { c.Swept = ago(25 * time.Hour) }, []string{"fold"}},
		"items":       {func(c *repo.Control) { c.Passed = []eventlog.Mark{{Seq: 1, At: ago(2 * time.Hour)}} }, []string{"fold"}},
		"noticed":     {func(c *repo.Control) { c.Noticed = &repo.Noticed{At: ago(10 * time.Second), Count: 1} }, nil},
		"notice-lost": {func(c *repo.Control) { c.Noticed = &repo.Noticed{At: ago(2 * time.Minute), Count: 1} }, []string{"close"}},
		"swept":       {func(c *repo.Control) { c.Sweep = &repo.Sweep{At: ago(23 * time.Hour)} }, nil},
		"sweep-due":   {func(c *repo.Control) { c.Sweep = &repo.Sweep{At: ago(24 * time.Hour)} }, []string{"sweep"}},
		"never-swept": {func(c *repo.Control) { c.Sweep, c.Made, c.Swept = nil, ago(25*time.Hour), at }, []string{"sweep"}},
		"files-behind": {func(c *repo.Control) {
			c.Cursors["checkout"] = eventlog.Cursor{}
			c.Cursors["audit"] = eventlog.Cursor{}
		}, []string{"files"}},
		"left-table": {func(c *repo.Control) { c.Low = 9 }, []string{"files"}},
	} {
		b.now = at.Add(-10 * time.Minute)
		b.open(t, "acme", name)
		write(t, own, name, "a.md", "A\n")
		b.now = at
		change(t, own, name, func(control *repo.Control) {
			control.Swept, control.Sweep = at, &repo.Sweep{At: at}
			control.Cursors = map[string]eventlog.Cursor{"checkout": {Seq: 2}, "audit": {Seq: 2}, "segments": {Seq: 2}}
			c.state(control)
		})
		require.Equal(t, c.want, kinds(b.run(t), name), name)
	}
}

// TestSleepers holds that after a day and an hour in which nothing ran, one run and what comes of it bring all in step.
func TestSleepers(t *testing.T) {
	b := newBed(t)
	own := b.open(t, "acme", "main", "other")
	for i := range 20 {
		write(t, own, "main", fmt.Sprintf("%d.md", i), "text\n")
	}
	_, err := b.files.Put(t.Context(), "tenants/acme/vaults/main/notes/mine.md", []byte("mine\n"), blob.Always)
	require.NoError(t, err)
	b.now = b.now.Add(25 * time.Hour)
	asked := b.run(t)
	require.ElementsMatch(t, []string{"files", "fold", "sweep"}, kinds(asked, "main"))
	b.work(t, asked)
	for i := range 20 {
		_, _, err := b.files.Get(t.Context(), fmt.Sprintf("tenants/acme/vaults/main/notes/%d.md", i), 0, -1)
		require.NoError(t, err)
	}
	for range 3 { // what a pass leaves to the next ones
		b.now = b.now.Add(time.Hour)
		b.work(t, b.run(t))
	}
	require.Empty(t, b.run(t))
	v, err := own.Vault(t.Context(), "main")
	require.NoError(t, err)
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, idx.Version(), c.Cursors["audit"].Seq)
	require.Equal(t, idx.Version(), c.Cursors["checkout"].Seq)
}

// TestPoison holds that a vault or a tenant that cannot be looked at keeps no other waiting.
func TestPoison(t *testing.T) {
	b := newBed(t)
	for _, tenant := range []string{"acme", "bad", "cave"} {
		own := b.open(t, tenant, "bad", "good")
		for _, name := range []string{"bad", "good"} {
			write(t, own, name, "a.md", "A\n")
		}
	}
	damaged := func(part, sort string) {
		require.NoError(t, b.db.Commit(t.Context(), table.Set(table.Item{Key: table.Key{Part: part, Sort: sort}, Data: []byte("{")})))
	}
	damaged("acme/bad/1", "log/~")
	damaged("cave/bad/1", "log/000000000001")
	damaged("~tenants", "dust")
	damaged("bad/tenant", "log/~")
	b.now = b.now.Add(25 * time.Hour)
	all := b.run(t)
	good := map[string][]string{}
	for _, m := range all {
		if m.Vault == "good" {
			good[m.Tenant] = append(good[m.Tenant], m.Kind)
		}
	}
	require.Contains(t, good["acme"], "files")
	require.Contains(t, good["cave"], "files")
	require.Contains(t, kinds(all, "bad"), "sweep", "what the control item says is asked for")
	require.Contains(t, b.logs.String(), "a vault could not be looked at")
}

// TestMostMessages holds that a run sends 1,000 messages, and that the next one goes on behind these.
func TestMostMessages(t *testing.T) {
	const tenants = 1200
	b := newBed(t)
	for i := range tenants {
		data := fmt.Sprintf(`{"format":2,"incarnation":1,"erasures":[{"incarnation":1,"began":%q}]}`, b.now.Format(time.RFC3339))
		require.NoError(t, b.db.Commit(t.Context(), table.Set(table.Item{
			Key: table.Key{Part: "~tenants", Sort: fmt.Sprintf("t%04d", i)}, Data: []byte(data),
		})))
	}
	told := map[string]bool{}
	for range 2 {
		all := b.run(t)
		require.Len(t, all, janitor.MostMessages)
		for _, m := range all {
			require.Equal(t, job.Message{V: 1, Kind: "jobs", Tenant: m.Tenant}, m)
			told[m.Tenant] = true
		}
	}
	require.Len(t, told, tenants)
}

// TestCrashedBetween holds that whichever request a run ends before, the runs after it ask for everything.
func TestCrashedBetween(t *testing.T) {
	b := newBed(t)
	for _, tenant := range []string{"acme", "cave"} {
		write(t, b.open(t, tenant, "main"), "main", "a.md", "A\n")
	}
	b.now = b.now.Add(25 * time.Hour)
	want := b.run(t)
	require.Len(t, want, 6)
	for at := 1; ; at++ {
		c := &counts{from: at}
		b.queue.take()
		err := b.janitor(t, c).Run(t.Context())
		got := append(b.queue.take(), b.run(t)...)
		require.Subset(t, got, want, at)
		if c.n < at {
			require.NoError(t, err)
			require.Greater(t, at, 10)
			break
		}
	}
	b.queue.fail = true
	require.Error(t, b.janitor(t, &counts{}).Run(t.Context()))
	b.queue.fail = false
	require.ElementsMatch(t, want, b.run(t))
}

// TestJobs holds that a job whose lease ended without an end of the job is asked for, and an erasure that has none.
func TestJobs(t *testing.T) {
	b := newBed(t)
	own := b.open(t, "acme", "main", "gone")
	b.work(t, b.run(t))
	jobs := job.New(job.Options{
		Table: own.Table(), Tenant: "acme", Now: b.time, Kinds: []job.Kind{{Name: "k", Steps: []job.Step{{Name: "s"}}}},
	})
	it, err := jobs.Add(t.Context(), job.Request{Kind: "k", Target: job.Target{Vault: "main"}})
	require.NoError(t, err)
	require.NotContains(t, kinds(b.run(t), "main"), "k")
	b.now = b.now.Add(2 * time.Minute)
	require.Contains(t, b.run(t), job.Message{V: 1, Kind: "k", Tenant: "acme", Vault: "main", Job: it.ID})
	_, err = jobs.Cancel(t.Context(), it.ID, false)
	require.NoError(t, err)

	_, err = own.Erase(t.Context(), eventlog.Call{Tool: "t"}, "gone")
	require.NoError(t, err)
	var open []table.Item
	for it, err := range own.Table().Query(t.Context(), job.Part, "", "\U0010FFFF") {
		require.NoError(t, err)
		open = append(open, it)
	}
	require.NotContains(t, b.run(t), tenant.JobsMessage("acme"), "its job waits for the second look")
	for _, it := range open {
		require.NoError(t, own.Table().Commit(t.Context(), table.Remove(it.Key)))
	}
	require.Contains(t, b.run(t), tenant.JobsMessage("acme"))
}

// TestTrash holds that the files of a vault are asked to be removed when its time in the trash is over, once.
func TestTrash(t *testing.T) {
	b := newBed(t)
	own := b.open(t, "acme", "main")
	write(t, own, "main", "a.md", "A\n")
	b.now = b.now.Add(time.Hour)
	b.work(t, b.run(t))
	_, err := own.Trash(t.Context(), eventlog.Call{Tool: "t"}, "main", func(tenant.Entry) any { return nil })
	require.NoError(t, err)
	b.now = b.now.Add(29 * 24 * time.Hour)
	require.Empty(t, kinds(b.run(t), "main"))
	b.now = b.now.Add(25 * time.Hour)
	asked := b.run(t)
	require.Equal(t, []string{"clear"}, kinds(asked, "main"))
	b.work(t, asked)
	require.Empty(t, kinds(b.run(t), "main"))
	for o, err := range b.files.List(t.Context(), "tenants/acme/vaults/main/notes/") {
		require.NoError(t, err)
		require.Fail(t, "a file is left", o.Key)
	}
	b.open(t, "acme", "main")
}

// TestGone holds that a tenant that was erased by the time when it is looked at is passed over without a word.
func TestGone(t *testing.T) {
	b := newBed(t)
	b.open(t, "acme", "main")
	_, err := b.worker.Teams.Erase(t.Context(), eventlog.Call{Tool: "t", Who: eventlog.Who{Principal: "p"}}, "acme")
	require.NoError(t, err)
	for _, m := range b.run(t) {
		require.Equal(t, "jobs", m.Kind)
	}
	require.NotContains(t, b.logs.String(), "could not")
}
