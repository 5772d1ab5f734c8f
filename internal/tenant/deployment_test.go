package tenant_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A clock is a time that changes only when pass is called. It is safe for concurrent use.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A deployment is a table and a folder for objects, with the tenants "a" and "b".
type deployment struct {
	dir    string
	table  table.Table
	bucket blob.Bucket
	clock  *clock
}

// deploy makes a deployment in a temporary folder.
func deploy(t testing.TB) *deployment {
	t.Helper()
	dir := t.TempDir()
	clock := &clock{now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
	b, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{Now: clock.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	bucket, err := fileblob.Open(filepath.Join(dir, "files"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, bucket.Close()) })
	d := &deployment{dir: filepath.Join(dir, "files"), table: b, bucket: bucket, clock: clock}
	teams := tenant.NewRegistry(d.options(b, false))
	t.Cleanup(teams.Close)
	require.NoError(t, teams.Make(t.Context(), "a"))
	require.NoError(t, teams.Make(t.Context(), "a"), "to make a tenant twice does no harm")
	require.NoError(t, teams.Make(t.Context(), "b"))
	return d
}

// teams returns the tenants as a process that starts now sees them, on the given table, which may
// inject faults.
func (d *deployment) teams(t *testing.T, over table.Table, folders bool) *tenant.Registry {
	t.Helper()
	teams := tenant.NewRegistry(d.options(over, folders))
	t.Cleanup(teams.Close)
	return teams
}

// options returns the options with which a process opens its tenants.
func (d *deployment) options(over table.Table, folders bool) tenant.Options {
	return tenant.Options{
		Table: over, Bucket: d.bucket, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: d.clock.time, Folders: folders,
		Background: folders,
	}
}

// team returns the tenant "a" as a process that starts now sees it. Only one process at a time may
// have folders.
func (d *deployment) team(t *testing.T, folders bool) *tenant.Tenant {
	t.Helper()
	a, err := d.teams(t, d.table, folders).Tenant(t.Context(), "a")
	require.NoError(t, err)
	return a
}

// callOf returns a call with the given request, which is also its key.
func callOf(request string) eventlog.Call {
	return eventlog.Call{
		Who: eventlog.Who{Principal: "p"}, Tool: "test", Key: request, Request: []byte(request),
	}
}

// create makes a vault and returns the entry that the tool would report.
func create(ctx context.Context, a *tenant.Tenant, c eventlog.Call, name string) (tenant.Entry, error) {
	var made tenant.Entry
	_, err := a.Create(ctx, c, tenant.NewVault{Name: name}, func(e tenant.Entry) any {
		made = e
		return "made"
	})
	if err != nil {
		return tenant.Entry{}, err // a call that gave up may still run
	}
	return made, nil
}

// told is the answer function of a call that changes an entry.
func told(tenant.Entry) any { return "done" }

// toldChange is the answer function of a call that may change nothing.
func toldChange(tenant.Entry, bool) any { return "done" }

// trash moves a vault to the trash.
func trash(t *testing.T, a *tenant.Tenant, name string) {
	t.Helper()
	_, err := a.Trash(t.Context(), eventlog.Call{}, name, told)
	require.NoError(t, err)
}

// put writes a note of a vault.
func put(ctx context.Context, a *tenant.Tenant, name, path, text string) error {
	v, err := a.Vault(ctx, name)
	if err != nil {
		return err
	}
	_, err = v.Update(ctx, eventlog.Call{}, func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Put(ctx, vault.Path(path), []byte(text))
	})
	return err
}

// notes returns the paths of all files of a vault.
func notes(t *testing.T, a *tenant.Tenant, name string) []string {
	t.Helper()
	v, err := a.Vault(t.Context(), name)
	require.NoError(t, err)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	paths := []string{}
	for f := range idx.Files() {
		paths = append(paths, f.Path)
	}
	return paths
}

// files returns the contents of all files below a folder of the deployment, by path relative to
// that folder.
func (d *deployment) files(t *testing.T, under string) map[string]string {
	t.Helper()
	all, root := map[string]string{}, filepath.Join(d.dir, under)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) || err == nil && e.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		all[rel] = string(data)
		return err
	})
	require.NoError(t, err)
	return all
}

// has reports whether a partition of tenant "a" has any item.
func (d *deployment) has(t *testing.T, part string) bool {
	t.Helper()
	for _, err := range table.Sub(d.table, "a").Query(t.Context(), part, "", "~") {
		require.NoError(t, err)
		return true
	}
	return false
}

// TestNoLocal checks a deployment in which the tenant local cannot be made, so that no caller can
// belong to it.
func TestNoLocal(t *testing.T) {
	d := deploy(t)
	o := d.options(d.table, false)
	o.NoLocal = true
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	require.True(t, fault.Is(teams.Make(t.Context(), auth.Local), fault.InvalidParameter))
	_, err := teams.Tenant(t.Context(), auth.Local)
	require.True(t, fault.Is(err, fault.Unauthenticated))
	require.NoError(t, teams.Make(t.Context(), "locals"))
}
