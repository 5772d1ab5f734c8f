package audit_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
)

// A brittle is a bucket that fails at one planned call: before it, after it, or with the call done
// later by the test.
type brittle struct {
	blob.Bucket

	mu    sync.Mutex
	calls int
	at    int // number of the failing call; 0: none
	fault tabletest.Fault
	late  []func()
}

// next counts a call and returns its fault.
func (b *brittle) next() tabletest.Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls++; b.calls == b.at {
		return b.fault
	}
	return tabletest.None
}

func (b *brittle) Put(
	ctx context.Context, key string, data []byte, c blob.Cond,
) (blob.Tag, error) {
	do := func() (blob.Tag, error) { return b.Bucket.Put(context.WithoutCancel(ctx), key, data, c) }
	switch b.next() {
	case tabletest.None:
		return do()
	case tabletest.After:
		_, _ = do()
	case tabletest.Late, tabletest.LateNext:
		b.late = append(b.late, func() { _, _ = do() })
	}
	return "", tabletest.ErrInjected
}

func (b *brittle) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	if b.next() != tabletest.None {
		return nil, "", tabletest.ErrInjected
	}
	return b.Bucket.Get(ctx, key, off, n)
}

func (b *brittle) deliver() {
	for _, do := range b.late {
		do()
	}
	b.late = nil
}

// refuse records n refused calls, a second apart, through the interceptor.
func (b *bench) refuse(t *testing.T, a *audit.Auditor, n int) {
	t.Helper()
	cat := catalogue(t, a, func(context.Context, in) (out, error) {
		return out{}, fault.New(fault.Conflict, "no")
	})
	for range n {
		b.clock.pass(time.Second)
		c := someone()
		c.RequestID = fmt.Sprint("r", b.clock.time().Unix())
		invoke(t, cat, c, "f_write", `{"vault":"notes"}`)
	}
}

// requests returns the request ids of entries.
func requests(all []audit.Entry) []string {
	var ids []string
	for _, e := range all {
		ids = append(ids, e.Request)
	}
	return ids
}

// own returns the tenant's bucket without faults.
func (b *bench) own() blob.Bucket { return blob.Sub(b.files.Bucket, "tenants/acme") }

// archives returns the keys of the archives.
func (b *bench) archives(t *testing.T) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	for o, err := range b.own().List(t.Context(), "refusals/") {
		require.NoError(t, err)
		keys[o.Key] = true
	}
	return keys
}

func (b *bench) object(t *testing.T, key string) []byte {
	t.Helper()
	data, _, err := b.own().Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	return data
}

// waiting returns the number of entries in the table.
func (b *bench) waiting(t *testing.T) int {
	t.Helper()
	n := 0
	for _, err := range table.Sub(b.table, "acme").Query(t.Context(), "refusals", "", "~") {
		require.NoError(t, err)
		n++
	}
	return n
}

// verify verifies the refusal log in a new process.
func (b *bench) verify(t *testing.T) (int, error) {
	t.Helper()
	a, err := b.process(t, b.table, b.files.Bucket).Tenant(t.Context(), "acme")
	require.NoError(t, err)
	return audit.RefusalsOf(a).Verify(t.Context())
}

// TestArchive checks that entries are archived after some minutes, and can then be listed as
// before, in pages.
func TestArchive(t *testing.T) {
	b := newBench(t)
	a := b.auditor(t)
	b.refuse(t, a, 10)
	before := b.list(t, audit.Query{})
	require.Len(t, before, 10)
	require.NoError(t, a.Archive(t.Context()))
	require.Empty(t, b.archives(t), "they are too young")

	b.clock.pass(5 * time.Minute)
	b.refuse(t, a, 2)
	require.NoError(t, a.Archive(t.Context()))
	require.Len(t, b.archives(t), 1)
	require.Equal(t, 2, b.waiting(t))
	all := b.list(t, audit.Query{})
	require.Len(t, all, 12)
	require.Equal(t, before, all[2:])

	b.clock.pass(24 * time.Hour)
	b.refuse(t, a, 1)
	b.clock.pass(5*time.Minute + time.Second)
	require.NoError(t, a.Archive(t.Context()))
	require.Len(t, b.archives(t), 3, "one for each day")
	require.Zero(t, b.waiting(t))
	require.Equal(t, requests(all), requests(b.list(t, audit.Query{}))[1:])
	n, err := b.verify(t)
	require.NoError(t, err)
	require.Equal(t, 13, n)
}

// TestArchiveCosts checks that a pass without entries costs one Query, and that a tenant without
// entries is not queried again.
func TestArchiveCosts(t *testing.T) {
	b := newBench(t)
	a := b.auditor(t)
	cat := catalogue(t, a, func(context.Context, in) (out, error) { return out{}, nil })
	b.team(t)
	invoke(t, cat, someone(), "f_write", `{}`)
	for _, want := range []int{2, 0} {
		b.flaky.Reset()
		require.NoError(t, a.Archive(t.Context()))
		require.Equal(t, want, b.flaky.Counts().Queries)
		require.Zero(t, b.flaky.Counts().Commits)
	}
}

// TestArchiveFaults puts each fault at each call of a pass, of the table and of the bucket, and
// checks that no entry is lost or listed twice, at once, after a second pass, and after late writes
// have arrived.
func TestArchiveFaults(t *testing.T) {
	faults := map[string]tabletest.Fault{
		"before": tabletest.Before, "after": tabletest.After, "late": tabletest.Late,
		"late at next": tabletest.LateNext,
	}
	for name, f := range faults {
		for _, of := range []string{"table", "bucket"} {
			t.Run(name+"/"+of, func(t *testing.T) {
				for n := 1; archiveWith(t, of, n, f); n++ {
					require.Less(t, n, 40)
				}
			})
		}
	}
}

// archiveWith makes a pass with a fault at its n-th call, and checks the result. It reports whether
// the pass had that many calls.
func archiveWith(t *testing.T, of string, n int, f tabletest.Fault) (met bool) {
	b := newBench(t)
	b.refuse(t, b.auditor(t), 3)
	b.clock.pass(10 * time.Minute)
	_, err := audit.RefusalsOf(b.team(t)).Archive(t.Context(), b.clock.time())
	require.NoError(t, err, "there is an archive before")
	b.refuse(t, b.auditor(t), 4)
	b.clock.pass(24 * time.Hour)
	b.refuse(t, b.auditor(t), 2)
	b.clock.pass(10 * time.Minute)
	want := requests(b.list(t, audit.Query{}))
	require.Len(t, want, 9)

	armed, call := false, 0
	flaky := tabletest.NewFlaky(b.table, func(tabletest.Call) tabletest.Fault {
		if !armed {
			return tabletest.None
		}
		if call++; of == "table" && call == n {
			met = true
			return f
		}
		return tabletest.None
	})
	files := &brittle{Bucket: b.files.Bucket, fault: f}
	a, err := b.process(t, flaky, files).Tenant(t.Context(), "acme")
	require.NoError(t, err)
	armed = true
	if of == "bucket" {
		files.at = files.calls + n
	}
	_, err = audit.RefusalsOf(a).Archive(t.Context(), b.clock.time())
	armed = false
	met = met || of == "bucket" && files.calls >= files.at
	files.at = 0
	require.Equal(t, met, err != nil, "call %d: %v", n, err)

	check := func(when string) {
		require.Equal(t, want, requests(b.list(t, audit.Query{})), "call %d, %s", n, when)
		_, err := b.verify(t)
		require.NoError(t, err, "call %d, %s", n, when)
	}
	check("at once")
	_, err = audit.RefusalsOf(b.team(t)).Archive(t.Context(), b.clock.time())
	require.NoError(t, err)
	check("after another pass")
	flaky.Deliver(t.Context())
	files.deliver()
	check("when what is late is there")
	_, err = audit.RefusalsOf(b.team(t)).Archive(t.Context(), b.clock.time())
	require.NoError(t, err)
	check("in the end")
	require.Zero(t, b.waiting(t))
	entries, err := b.verify(t)
	require.NoError(t, err)
	require.Equal(t, len(want), entries, "call %d: none is archived twice", n)
	return met
}

// TestArchiveTogether checks that several processes may archive at once while entries are added.
func TestArchiveTogether(t *testing.T) {
	b := newBench(t)
	b.refuse(t, b.auditor(t), 30)
	b.clock.pass(10 * time.Minute)
	var all sync.WaitGroup
	failed := make([]error, 4)
	for i := range failed {
		teams := b.process(t, b.table, b.files.Bucket)
		all.Go(func() {
			a, err := teams.Tenant(t.Context(), "acme")
			if err == nil {
				_, err = audit.RefusalsOf(a).Archive(t.Context(), b.clock.time())
			}
			failed[i] = err
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(failed...))
	require.Len(t, b.list(t, audit.Query{}), 30)
	require.Zero(t, b.waiting(t))
	n, err := b.verify(t)
	require.NoError(t, err)
	require.Equal(t, 30, n)
}

// TestDatabaseBegunAnew checks that the archives are used again after the database was lost, and
// that new archives continue after them.
func TestDatabaseBegunAnew(t *testing.T) {
	b := newBench(t)
	a := b.auditor(t)
	for range 3 {
		b.refuse(t, a, 2)
		b.clock.pass(24 * time.Hour)
		require.NoError(t, a.Archive(t.Context()))
	}
	want := b.list(t, audit.Query{})
	require.Len(t, want, 6)
	own := table.Sub(b.table, "acme")
	for it, err := range own.Query(t.Context(), "refusals/archives", "", "~") {
		require.NoError(t, err)
		require.NoError(t, own.Commit(t.Context(), table.Remove(it.Key)))
	}
	require.Empty(t, b.list(t, audit.Query{}))
	_, err := audit.RefusalsOf(b.team(t)).Archive(t.Context(), b.clock.time())
	require.NoError(t, err)
	require.Equal(t, want, b.list(t, audit.Query{}))
	b.refuse(t, a, 1)
	b.clock.pass(time.Hour)
	require.NoError(t, a.Archive(t.Context()))
	n, err := b.verify(t)
	require.NoError(t, err)
	require.Equal(t, 7, n)
}

// TestLateEntries checks that an entry that arrives after younger ones were archived is archived
// later, and is always listed at its position.
func TestLateEntries(t *testing.T) {
	b := newBench(t)
	a := b.auditor(t)
	b.refuse(t, a, 5)
	b.clock.pass(10 * time.Minute)
	require.NoError(t, a.Archive(t.Context()))
	b.clock.pass(-10*time.Minute - 3*time.Second - 500*time.Millisecond)
	b.refuse(t, a, 1)
	b.clock.pass(20 * time.Minute)
	want := requests(b.list(t, audit.Query{}))
	require.Len(t, want, 6)
	b.refuse(t, a, 5)
	b.clock.pass(20 * time.Minute)
	want = append(requests(b.list(t, audit.Query{}))[:5], want...)
	require.NoError(t, a.Archive(t.Context()))
	require.Len(t, b.archives(t), 2)
	all := b.list(t, audit.Query{})
	require.Equal(t, want, requests(all))
	for i := range all[1:] {
		require.True(t, all[i+1].Time.Before(all[i].Time))
	}
	n, err := b.verify(t)
	require.NoError(t, err)
	require.Equal(t, 11, n)
}
