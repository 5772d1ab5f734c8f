package tenant_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// A store is the table and the bucket of one tenant.
type store struct {
	dir    string
	table  table.Table
	bucket blob.Bucket
}

// newStore makes an empty store in a temporary folder.
func newStore(t *testing.T, clock *clock) store {
	t.Helper()
	dir := t.TempDir()
	b, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	return store{filepath.Join(dir, "files"), b, bucket}
}

// says reports whether the store has anything of a tenant: an item in one of its partitions, or an
// object whose path or content contains the tenant's name.
func (s store) says(t *testing.T, tenant string) bool {
	t.Helper()
	d := deployment{dir: s.dir}
	for path, text := range d.files(t, "tenants") {
		if bytes.Contains([]byte(path+text), []byte(tenant)) {
			return true
		}
	}
	for _, part := range []string{"", "v/1", tenant + "/1", "agents", "token-uses"} {
		for _, err := range table.Sub(s.table, tenant).Query(t.Context(), part, "", "~~") {
			require.NoError(t, err)
			return true
		}
	}
	return false
}

// TestStoresOfTenants checks that two tenants with stores of their own stay separate in one process
// that constantly opens and closes their vaults: each finds only its own notes, and neither store
// has anything of the other tenant.
func TestStoresOfTenants(t *testing.T) {
	d := deploy(t)
	stores := map[string]store{"robin": newStore(t, d.clock), "okapi": newStore(t, d.clock)}
	names := newStore(t, d.clock)
	o := tenant.Options{
		Registry: names.table, Texts: repo.NewTexts(1 << 20), Snapshots: repo.NewSnapshotCache(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: d.clock.time, Memory: tenant.NewMemory(3 * 90 << 10),
		Stores: func(_ context.Context, tenant string) (table.Table, blob.Bucket, error) {
			s, ok := stores[tenant]
			if !ok {
				return nil, nil, fmt.Errorf("no stores of %s", tenant)
			}
			return s.table, s.bucket, nil
		},
	}
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	var failed sync.Map
	var working sync.WaitGroup
	for tenant := range stores {
		require.NoError(t, teams.Make(t.Context(), tenant))
		working.Go(func() {
			if err := use(t.Context(), teams, tenant); err != nil {
				failed.Store(tenant, err)
			}
		})
	}
	working.Wait()
	failed.Range(func(tenant, err any) bool { t.Errorf("%v: %v", tenant, err); return true })

	for tenant, own := range stores {
		for other := range stores {
			require.Equal(t, tenant == other, own.says(t, other), "%s in the store of %s", other, tenant)
		}
	}
	require.False(t, names.says(t, "robin") || names.says(t, "okapi"), "it has no partition but its own")
	_, err := teams.Tenant(t.Context(), "nobody")
	is(t, fault.Unauthenticated, err)
	require.Error(t, teams.Make(t.Context(), "lost"))
	own, err := teams.Table(t.Context(), "robin")
	require.NoError(t, err)
	key := table.Key{Part: "beside", Sort: "robin"}
	require.NoError(t, own.Commit(t.Context(), table.Create(table.Item{Key: key})))
	_, err = table.Sub(stores["robin"].table, "robin").Get(t.Context(), key)
	require.NoError(t, err, "what is kept beside the logs goes there too")
}

// use makes vaults of a tenant, writes to them and reads them. The paths of the notes begin with
// the tenant's name.
func use(ctx context.Context, teams *tenant.Registry, tenant string) error {
	for round := range 20 {
		own, err := teams.Tenant(ctx, tenant)
		if err != nil {
			return err
		}
		for _, name := range []string{"v", tenant} {
			if round == 0 {
				if _, err := create(ctx, own, callOf(name), name); err != nil {
					return err
				}
			}
			err := call(ctx, func(ctx context.Context) error {
				return writeAndRead(ctx, own, name, fmt.Sprintf("%s-%d.md", tenant, round))
			})
			if err != nil {
				return err
			}
			if err := onlyOf(ctx, own, name, tenant, round+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// onlyOf returns an error unless a vault has exactly n notes and all have paths that begin with the
// tenant's name.
func onlyOf(ctx context.Context, own *tenant.Tenant, name, tenant string, n int) error {
	return call(ctx, func(ctx context.Context) error {
		v, err := own.Vault(ctx, name)
		if err != nil {
			return err
		}
		idx, err := v.Read(ctx)
		if err != nil {
			return err
		}
		for f := range idx.Files() {
			n--
			if f.Path[:len(tenant)] != tenant {
				return fmt.Errorf("%s has %s", tenant, f.Path)
			}
		}
		if n != 0 {
			return fmt.Errorf("%s has other notes than it wrote: %d", tenant, n)
		}
		return nil
	})
}
