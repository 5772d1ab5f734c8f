package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// little gives tenant "a" a few of the things with the canary, and tenant "b" a vault.
func little(t *testing.T, d *deployment, teams *tenant.Registry) {
	t.Helper()
	ctx := t.Context()
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	for _, name := range []string{"v", "w"} {
		_, err = create(ctx, a, callOf(name), name)
		require.NoError(t, err)
		require.NoError(t, put(ctx, a, name, canary+".md", canary))
	}
	v, err := a.Vault(ctx, "v")
	require.NoError(t, err)
	require.NoError(t, v.Compact(ctx, eventlog.Compaction{All: true}))
	require.NoError(t, put(ctx, a, "v", "b.md", canary))
	_, err = a.CreateToken(ctx, callOf("token"), tenant.Token{ID: "t1", Name: canary},
		func(tenant.Token) any { return canary })
	require.NoError(t, err)
	require.NoError(t, a.Table().Commit(ctx, table.Create(table.Item{
		Key: table.Key{Part: refused, Sort: canary}, Data: []byte(canary),
	})))
	b, err := teams.Tenant(ctx, "b")
	require.NoError(t, err)
	_, err = create(ctx, b, callOf("b"), "v")
	require.NoError(t, err)
	require.NoError(t, put(ctx, b, "v", "b.md", "of b\n"))
	require.NotEmpty(t, d.traces(t))
}

// requireEnded requires that the erasure of tenant "a" ends, that nothing of the tenant is left,
// that tenant "b" is unchanged, and that the next tenant "a" starts empty.
func requireEnded(t *testing.T, d *deployment, teams *tenant.Registry) {
	t.Helper()
	ctx := t.Context()
	requireNoTenant(t, d)
	d.clock.pass(eventlog.SweepAgain)
	for range 3 {
		_, err := teams.WorkOf(ctx, "a")
		require.NoError(t, err)
		d.clock.pass(10 * time.Minute)
	}
	next, err := teams.WorkOf(ctx, "a")
	require.NoError(t, err)
	require.Zero(t, next)
	requireNoTenant(t, d)
	for _, part := range []string{"~vaults", "v/1", "w/1", ""} {
		for it, err := range table.Sub(d.table, "a").Query(ctx, part, "", "\U0010FFFF") {
			require.NoError(t, err)
			require.True(t, len(it.Data) == 1 || it.Sort == "log/~", "%s %s", part, it.Sort)
		}
	}
	require.NoError(t, teams.Make(ctx, "a"))
	requireAnew(t, d, teams)
	b, err := teams.Tenant(ctx, "b")
	require.NoError(t, err)
	require.Equal(t, []string{"b.md"}, notes(t, b, "v"))
	_, err = b.VerifyLog(ctx)
	require.NoError(t, err)
}

// TestEraseTenantIsKilled kills erasures of a tenant between any two of their writes, with folders,
// and without folders and background work. Another process finishes them after a repeated call or
// when it looks for jobs.
func TestEraseTenantIsKilled(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		for i := range erasuresKilled() {
			n := 1 + r.IntN(110)
			at := []tabletest.Fault{tabletest.Before, tabletest.After, tabletest.Late}[r.IntN(3)]
			folders, asks := i%2 == 0, r.IntN(2) == 0
			t.Run(fmt.Sprintf("call %d, fault %d, folders %v, asks %v", n, at, folders, asks), func(t *testing.T) {
				d := deploy(t)
				first := d.ending(t, d.table, folders)
				little(t, d, first)
				first.Close()
				ctx, plan := givesUp(t, func(c tabletest.Call) tabletest.Fault {
					switch {
					case c.N < n:
						return tabletest.None
					case c.N == n:
						return at
					}
					return tabletest.Before
				})
				flaky := tabletest.NewFlaky(d.table, plan)
				dying := d.ending(t, flaky, folders)
				_, _ = dying.Erase(ctx, erasing(), "a") // it may be killed before, during or after the call
				dying.Close()
				flaky.Deliver(t.Context())
				d.clock.pass(time.Minute)
				next := d.ending(t, d.table, folders)
				began := fault.Is(second(next.Tenant(t.Context(), "a")), fault.Unauthenticated)
				if began && !asks {
					_, err := next.WorkOf(t.Context(), "a")
					require.NoError(t, err)
				} else {
					_, err := next.Erase(t.Context(), erasing(), "a")
					require.NoError(t, err)
				}
				requireEnded(t, d, next)
			})
		}
	})
}

// TestEraseTenantTwiceAtOnce checks that two processes that erase a tenant at the same time erase
// it completely, and that at least one call succeeds.
func TestEraseTenantTwiceAtOnce(t *testing.T) {
	for name, other := range map[string]string{"one key": "end", "two keys": "other"} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			little(t, d, d.ending(t, d.table, false))
			var both sync.WaitGroup
			errs := make([]error, 2)
			for i, key := range []string{"end", other} {
				teams := d.ending(t, d.table, false)
				c := erasing()
				c.Key = key
				both.Go(func() { _, errs[i] = teams.Erase(t.Context(), c, "a") })
			}
			both.Wait()
			require.False(t, errs[0] != nil && errs[1] != nil, "%v", errs)
			for _, err := range errs {
				require.True(t, err == nil || fault.Is(err, fault.InProgress) ||
					fault.Is(err, fault.Unauthenticated), "%v", err)
			}
			requireEnded(t, d, d.ending(t, d.table, false))
		})
	}
}

// TestEraseTenantLate checks that late writes are not visible to any call and are deleted by the
// second sweep: objects that were written again, items of every partition, and a vault that was
// made while its tenant was sealed.
func TestEraseTenantLate(t *testing.T) {
	ctx := t.Context()
	d := deploy(t)
	teams := d.ending(t, d.table, false)
	little(t, d, teams)
	a, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, a.CompactTenant(ctx))
	late := map[string][]byte{}
	for o, err := range d.bucket.List(ctx, "tenants/a/") {
		require.NoError(t, err)
		data, _, err := d.bucket.Get(ctx, o.Key, 0, -1)
		require.NoError(t, err)
		late[o.Key] = data
	}
	require.NotEmpty(t, late)
	_, err = teams.Erase(ctx, erasing(), "a")
	require.NoError(t, err)
	for key, data := range late {
		_, err := d.bucket.Put(ctx, key, data, blob.Always)
		require.NoError(t, err)
	}
	own := table.Sub(d.table, "a")
	for _, part := range []string{"agents", "token-uses", refused, "~jobs"} {
		require.NoError(t, own.Commit(ctx, table.Set(table.Item{
			Key: table.Key{Part: part, Sort: canary}, Data: []byte(canary),
		})))
	}
	for _, part := range []string{"", "v/1", "w/1"} { // a late append to a log fails
		for it, err := range own.Query(ctx, part, "log/0", "log/9") {
			require.NoError(t, err)
			require.Error(t, own.Commit(ctx, table.Create(table.Item{Key: it.Key, Data: []byte(canary)})))
		}
	}
	orphan, err := repo.NewVault(repo.VaultOptions{
		Name: "late", Part: "late/1", Table: own, Bucket: blob.Sub(d.bucket, "tenants/a/vaults/late/1"),
		Listed: table.Key{Part: "~vaults", Sort: "late/1"}, Texts: repo.NewTexts(1 << 20), Now: d.clock.time,
	})
	require.NoError(t, err)
	require.NoError(t, orphan.Create(ctx, callOf("late"), []eventlog.Note{{Path: "a.md", Text: []byte(canary)}}))
	is(t, fault.Unauthenticated, second(d.ending(t, d.table, false).Tenant(ctx, "a")))
	require.NoError(t, teams.Make(ctx, "a"))
	next, err := teams.Tenant(ctx, "a")
	require.NoError(t, err)
	s, _, err := next.State(ctx)
	require.NoError(t, err)
	require.Empty(t, s.Vaults())
	require.Empty(t, s.Tokens())
	d.clock.pass(eventlog.SweepAgain)
	_, err = teams.WorkOf(ctx, "a")
	require.NoError(t, err)
	require.Empty(t, d.traces(t))
	require.False(t, d.has(t, "~vaults"))
	requireAnew(t, d, teams)
}

// TestNewestIncarnation checks that a tenant whose table is lost gets the newest incarnation that
// has objects.
func TestNewestIncarnation(t *testing.T) {
	d := deploy(t)
	for _, key := range []string{"tenants/c/vaults/v/1/segment/x", "tenants/c/~3/tenant/segment/x", "tenants/c/~x/y"} {
		_, err := d.bucket.Put(t.Context(), key, []byte("x"), blob.Always)
		require.NoError(t, err)
	}
	o := d.options(d.table, false)
	o.CreateMissing = true
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	require.NoError(t, teams.Make(t.Context(), "c"))
	c, err := teams.Tenant(t.Context(), "c")
	require.NoError(t, err)
	_, err = c.Bucket().Put(t.Context(), "here", []byte("x"), blob.Always)
	require.NoError(t, err)
	require.Contains(t, d.files(t, "tenants/c/~3"), "here")
}

// errDisk is the error of a bucket that fails.
var errDisk = errors.New("the disk does not answer")

// A flakyBucket is a bucket of which one call fails, before or after it takes effect.
type flakyBucket struct {
	*fileblob.Bucket
	mu    sync.Mutex
	calls int
	at    int // the number of the call that fails, from 1; 0: none
	after bool
}

// fails counts a call and makes it, and returns errDisk if it is the call that fails.
func (b *flakyBucket) fails(do func() error) error {
	b.mu.Lock()
	b.calls++
	mine := b.calls == b.at
	b.mu.Unlock()
	if mine && !b.after {
		return errDisk
	}
	err := do()
	if mine && err == nil {
		return errDisk
	}
	return err
}

func (b *flakyBucket) Put(ctx context.Context, key string, data []byte, c blob.Cond) (tag blob.Tag, err error) {
	err = b.fails(func() (err error) { tag, err = b.Bucket.Put(ctx, key, data, c); return err })
	return tag, err
}

func (b *flakyBucket) PutPieces(
	ctx context.Context, key string, data blob.Pieces, c blob.Cond,
) (blob.Tag, error) {
	return b.Put(ctx, key, data.Join(), c)
}

func (b *flakyBucket) Get(ctx context.Context, key string, off, n int64) (data []byte, tag blob.Tag, err error) {
	err = b.fails(func() (err error) { data, tag, err = b.Bucket.Get(ctx, key, off, n); return err })
	return data, tag, err
}

func (b *flakyBucket) Delete(ctx context.Context, key string) error {
	return b.fails(func() error { return b.Bucket.Delete(ctx, key) })
}

func (b *flakyBucket) EraseKept(ctx context.Context, prefix string) (gone blob.EraseCount, err error) {
	err = b.fails(func() (err error) { gone, err = b.Bucket.EraseKept(ctx, prefix); return err })
	return gone, err
}

func (b *flakyBucket) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		var all []blob.Object
		err := b.fails(func() error {
			for o, err := range b.Bucket.List(ctx, prefix) {
				if err != nil {
					return err
				}
				all = append(all, o)
			}
			return nil
		})
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
		if err != nil {
			yield(blob.Object{}, err)
		}
	}
}

// TestEraseOnABrokenDisk checks that erasures of a tenant, a vault and a note continue by
// themselves and leave nothing if the bucket fails at any call, before or after it takes effect.
func TestEraseOnABrokenDisk(t *testing.T) {
	for what, erase := range map[string]func(context.Context, *tenant.Registry) error{
		"tenant": func(ctx context.Context, teams *tenant.Registry) error {
			_, err := teams.Erase(ctx, erasing(), "a")
			return err
		},
		"vault": func(ctx context.Context, teams *tenant.Registry) error {
			return errors.Join(eachVault(teams, func(a *tenant.Tenant, name string) error {
				_, err := a.Erase(ctx, callOf("erase "+name), name)
				return err
			})...)
		},
		"note": func(ctx context.Context, teams *tenant.Registry) error {
			return errors.Join(eachVault(teams, func(a *tenant.Tenant, name string) error {
				_, err := a.EraseNote(ctx, callOf("erase "+name), name, canary+".md")
				if name == "v" {
					_, second := a.EraseNote(ctx, callOf("erase b"), name, "b.md")
					err = errors.Join(err, second)
				}
				return err
			})...)
		},
	} {
		reached := true
		step := func(n int) int { return 1 + n/2 }
		if os.Getenv("ROOKERY_SOAK") != "" {
			step = func(int) int { return 1 }
		}
		for n := 1; reached; n += step(n) {
			reached = false
			t.Run(fmt.Sprintf("%s, call %d", what, n), func(t *testing.T) {
				reached = eraseBroken(t, what, erase, &flakyBucket{at: n, after: n%2 == 0})
			})
		}
	}
}

// eachVault calls do for each vault that little made, and returns the errors.
func eachVault(teams *tenant.Registry, do func(a *tenant.Tenant, name string) error) []error {
	a, err := teams.Tenant(context.Background(), "a")
	if err != nil {
		return []error{err}
	}
	return []error{do(a, "v"), do(a, "w")}
}

// eraseBroken erases while the bucket fails at one call, and reports whether that call was reached.
func eraseBroken(
	t *testing.T, what string, erase func(context.Context, *tenant.Registry) error, broken *flakyBucket,
) bool {
	d := deploy(t)
	first := d.ending(t, d.table, true)
	little(t, d, first)
	if what != "tenant" { // the tenant's own part is not erased
		a, err := first.Tenant(t.Context(), "a")
		require.NoError(t, err)
		_, err = a.RevokeToken(t.Context(), callOf("revoke"), "t1", func(tenant.Token, bool) any { return "" })
		require.NoError(t, err)
	}
	first.Close()
	whole := d.bucket.(*fileblob.Bucket)
	broken.Bucket = whole
	at := broken.at
	broken.at = 0
	d.bucket = broken
	teams := d.ending(t, d.table, true)
	_, err := teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
	for _, err := range eachVault(teams, func(a *tenant.Tenant, name string) error {
		_, err := a.Vault(t.Context(), name)
		return err
	}) {
		require.NoError(t, err)
	}
	broken.mu.Lock()
	broken.calls, broken.at = 0, at
	broken.mu.Unlock()
	_ = erase(t.Context(), teams) // it fails or succeeds
	broken.mu.Lock()
	reached := broken.calls >= at
	broken.mu.Unlock()
	for range 4 {
		_, _ = teams.WorkOf(t.Context(), "a")
		d.clock.pass(11 * time.Minute)
	}
	broken.mu.Lock()
	broken.at = 0
	broken.mu.Unlock()
	if err := erase(t.Context(), teams); err != nil {
		require.True(t, fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated), "%v", err)
	}
	d.bucket = whole
	found := d.traces(t)
	if what != "tenant" { // the name of the tenant's token and the refusals stay
		found = onlyBucket(found)
	}
	require.Empty(t, found)
	return reached
}

// onlyBucket returns the paths that are neither in the database nor in the tenant's own part of the
// bucket.
func onlyBucket(paths []string) []string {
	var all []string
	for _, path := range paths {
		if !strings.HasSuffix(path, "table.db") && !strings.Contains(path, "/tenant/") {
			all = append(all, path)
		}
	}
	return all
}
