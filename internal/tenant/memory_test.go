package tenant_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// bounded returns the tenant "a" of a process that keeps at most most bytes of open vaults, and the
// memory that counts them.
func bounded(t *testing.T, d *deployment, most int64) (*tenant.Tenant, *tenant.Memory) {
	t.Helper()
	o := d.options(d.table, true)
	o.Memory = tenant.NewMemory(most)
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	a, err := teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
	return a, o.Memory
}

// call runs do as a call of a client: the vaults that it opens are in use until it ends.
func call(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, end := tenant.Using(ctx)
	defer end()
	return do(ctx)
}

// TestOpenVaultsAreBounded checks that many vaults can be used with the memory for a few, and that
// every answer is right.
func TestOpenVaultsAreBounded(t *testing.T) {
	const vaults, few, each = 50, 5, 80 << 10
	d := deploy(t)
	a, memory := bounded(t, d, few*each)
	for i := range vaults {
		require.NoError(t, call(t.Context(), func(ctx context.Context) error {
			_, err := create(ctx, a, callOf(fmt.Sprint(i)), fmt.Sprintf("v%d", i))
			return err
		}))
	}
	open, _ := memory.Open()
	require.Zero(t, open, "a vault that is made is opened by its first call")
	failed := make(chan error, 4)
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			failed <- func() error {
				for i := range 3 * vaults {
					name := fmt.Sprintf("v%d", (i*7+client*13)%vaults)
					path := fmt.Sprintf("c%d/%d.md", client, i)
					err := call(t.Context(), func(ctx context.Context) error {
						return writeAndRead(ctx, a, name, path)
					})
					if err != nil {
						return err
					}
					if open, _ := memory.Open(); open > few*each/(64<<10) {
						return fmt.Errorf("%d vaults are open", open)
					}
				}
				return nil
			}()
		})
	}
	clients.Wait()
	for range 4 {
		require.NoError(t, <-failed)
	}
	require.Eventually(t, func() bool { _, held := memory.Open(); return held <= few*each },
		time.Minute, time.Millisecond, "what grew beyond it is closed when it is not used")
}

// writeAndRead writes a note that contains the name of its vault, and reads all notes of the vault.
func writeAndRead(ctx context.Context, a *tenant.Tenant, name, path string) error {
	if err := put(ctx, a, name, path, "of "+name+"\n"); err != nil {
		return err
	}
	v, err := a.Vault(ctx, name)
	if err != nil {
		return err
	}
	idx, err := v.Read(ctx)
	if err != nil {
		return err
	}
	if _, ok := idx.Note(path); !ok {
		return fmt.Errorf("%s of %s is not found", path, name)
	}
	for n := range idx.Notes("") {
		text, err := v.Text(ctx, n.Body)
		if err != nil || string(text) != "of "+name+"\n" {
			return fmt.Errorf("a note of %s is %q: %w", name, text, err)
		}
	}
	return nil
}

// TestAVaultInUseStaysOpen checks that a call for another vault waits while all memory is in use,
// and is refused if none becomes free.
func TestAVaultInUseStaysOpen(t *testing.T) {
	d := deploy(t)
	a, memory := bounded(t, d, 2*80<<10)
	for _, name := range []string{"x", "y", "z"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
	}
	using, end := context.WithCancel(t.Context())
	_, err := a.Vault(using, "x")
	require.NoError(t, err)
	_, err = a.Vault(using, "y")
	require.NoError(t, err)
	err = call(t.Context(), func(ctx context.Context) error {
		_, err := a.Vault(ctx, "z")
		return err
	})
	f := is(t, fault.Unavailable, err)
	require.Equal(t, "memory", f.Details["reason"])
	require.True(t, tenant.InMemory(err))

	waits := make(chan error, 1)
	go func() {
		waits <- call(t.Context(), func(ctx context.Context) error {
			_, err := a.Vault(ctx, "z")
			return err
		})
	}()
	end()
	require.NoError(t, <-waits, "it waits for a vault that is in use")
	open, _ := memory.Open()
	require.Equal(t, 2, open)
}

// TestWorkOutlastsItsCall checks that a vault stays open while work of a call continues after the
// call.
func TestWorkOutlastsItsCall(t *testing.T) {
	d := deploy(t)
	a, _ := bounded(t, d, 80<<10)
	for _, name := range []string{"x", "y"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
	}
	var end context.CancelFunc
	require.NoError(t, call(t.Context(), func(ctx context.Context) error {
		_, err := a.Vault(ctx, "x")
		require.NoError(t, err)
		_, err = a.Vault(ctx, "x")
		require.NoError(t, err, "a call may use a vault twice")
		var work context.Context
		work, end = context.WithCancel(context.WithoutCancel(ctx))
		_, err = a.Vault(work, "x")
		return err
	}))
	other := func(ctx context.Context) error {
		_, err := a.Vault(ctx, "y")
		return err
	}
	is(t, fault.Unavailable, call(t.Context(), other))
	end()
	require.NoError(t, call(t.Context(), other))
}

// TestTheLeastRecentlyUsedVaultGoes checks which vault is closed to make room for another one.
func TestTheLeastRecentlyUsedVaultGoes(t *testing.T) {
	d := deploy(t)
	a, memory := bounded(t, d, 1<<30)
	had := map[string]*repo.Vault{}
	use := func(name string) (same bool) {
		t.Helper()
		require.NoError(t, call(t.Context(), func(ctx context.Context) error {
			v, err := a.Vault(ctx, name)
			same = had[name] == v
			had[name] = v
			return err
		}))
		require.Eventually(t, func() bool { return memory.Uses() == 0 }, time.Minute, time.Millisecond)
		return same
	}
	for _, name := range []string{"x", "y", "z"} {
		_, err := create(t.Context(), a, callOf(name), name)
		require.NoError(t, err)
	}
	require.False(t, use("x"))
	_, one := memory.Open()
	memory.SetMost(2*one + one/2)
	require.False(t, use("y"))
	require.True(t, use("x"))
	require.False(t, use("z"), "y goes")
	require.True(t, use("x"))
	require.False(t, use("y"), "z goes")
	require.True(t, use("x"))
}

// TestAVaultThatDoesNotFit checks that only a vault too large for the memory is refused, also by a
// process that starts later, and that a process with more memory can open it.
func TestAVaultThatDoesNotFit(t *testing.T) {
	d := deploy(t)
	a, memory := bounded(t, d, 1<<20)
	large := strings.Repeat("- @due(2026-03-02) a line that the index keeps\n", 15_000)
	for _, name := range []string{"large", "small"} {
		require.NoError(t, call(t.Context(), func(ctx context.Context) error {
			_, err := create(ctx, a, callOf(name), name)
			return err
		}))
	}
	write := func(a *tenant.Tenant, name, path, text string) error {
		return call(t.Context(), func(ctx context.Context) error { return put(ctx, a, name, path, text) })
	}
	require.NoError(t, write(a, "large", "a.md", large))
	require.Eventually(t, func() bool { open, _ := memory.Open(); return open == 0 },
		time.Minute, time.Millisecond)
	refused := func(a *tenant.Tenant) {
		t.Helper()
		f := is(t, fault.Unavailable, write(a, "large", "b.md", "x\n"))
		require.Equal(t, "memory", f.Details["reason"])
		require.Contains(t, fmt.Sprint(f.Fixes), "--memory")
		require.NoError(t, write(a, "small", "b.md", "x\n"))
	}
	refused(a)
	require.NoError(t, write(d.team(t, false), "large", "c.md", "x\n"))

	o := d.options(d.table, false) // whose size a process that starts later knows from its image
	v, err := d.team(t, false).Vault(t.Context(), "large")
	require.NoError(t, err)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	o.Memory = tenant.NewMemory(1 << 20)
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	late, err := teams.Tenant(t.Context(), "a")
	require.NoError(t, err)
	refused(late)
	open, _ := o.Memory.Open()
	require.LessOrEqual(t, open, 1)
}

// TestTenantsAreClosed checks that a tenant is closed once it has not been used for ten minutes and
// its vaults are closed, and that its next call opens it again.
func TestTenantsAreClosed(t *testing.T) {
	d := deploy(t)
	o := d.options(d.table, false)
	o.Memory = tenant.NewMemory(1 << 20)
	teams := tenant.NewRegistry(o)
	t.Cleanup(teams.Close)
	open := func(name string) *tenant.Tenant {
		t.Helper()
		own, err := teams.Tenant(t.Context(), name)
		require.NoError(t, err)
		return own
	}
	a := open("a")
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	using, end := context.WithCancel(t.Context())
	require.NoError(t, put(using, a, "v", "n.md", "of v\n"))
	d.clock.pass(11 * time.Minute)
	for _, tenant := range []string{"c", "d", "e"} {
		require.NoError(t, teams.Make(t.Context(), tenant))
	}
	open("c")
	require.Same(t, a, open("a"), "one of its vaults is open")
	o.Memory.SetMost(1)
	end()
	require.Eventually(t, func() bool { open, _ := o.Memory.Open(); return open == 0 },
		time.Minute, time.Millisecond)
	o.Memory.SetMost(1 << 20)
	d.clock.pass(9 * time.Minute)
	open("d")
	require.Same(t, a, open("a"), "it was used nine minutes ago")
	d.clock.pass(11 * time.Minute)
	open("e")
	again := open("a")
	require.NotSame(t, a, again)
	require.True(t, fault.Is(put(t.Context(), a, "v", "m.md", "x\n"), fault.Unavailable),
		"who still has the one that is closed tries again")
	require.Equal(t, []string{"n.md"}, notes(t, again, "v"))
}
