package tenant_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// neighbour makes the vault "w" with a note, which erasures of other vaults must not change.
func neighbour(t *testing.T, a *tenant.Tenant) {
	t.Helper()
	_, err := create(t.Context(), a, callOf("neighbour"), "w")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "w", "stays.md", "one\n"))
	require.NoError(t, put(t.Context(), a, "w", "stays.md", "two\n"))
}

// requireNeighbour requires that the vault "w" is as neighbour made it, and that its chain and the
// tenant's verify.
func requireNeighbour(t *testing.T, a *tenant.Tenant) {
	t.Helper()
	require.Equal(t, []string{"stays.md"}, notes(t, a, "w"))
	w, err := a.Vault(t.Context(), "w")
	require.NoError(t, err)
	done, err := w.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, done.Version)
	_, err = a.VerifyLog(t.Context())
	require.NoError(t, err)
}

// finished makes a process look for jobs until none is left, and advances the clock to the time at
// which each is due.
func finished(t *testing.T, d *deployment, a *tenant.Tenant) {
	t.Helper()
	for range 20 {
		next, err := a.Work(t.Context())
		require.NoError(t, err)
		if next.IsZero() {
			return
		}
		d.clock.pass(max(next.Sub(d.clock.time()), 0))
	}
	require.Fail(t, "a job does not end")
}

// erasuresKilled returns how many erasures a test kills.
func erasuresKilled() int {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return 100
	}
	return 20
}

// TestEraseIsKilled kills erasures of a vault with a folder between any two of their writes.
// Another process finishes them, nothing of the vault is left, nothing else changes, and the next
// vault with the name starts empty.
func TestEraseIsKilled(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		for range erasuresKilled() {
			n := 3 + r.IntN(45)
			faults := []tabletest.Fault{tabletest.Before, tabletest.After, tabletest.Late}
			at := faults[r.IntN(len(faults))]
			t.Run(fmt.Sprintf("call %d, fault %d", n, at), func(t *testing.T) {
				t.Parallel()
				d := deploy(t)
				first := d.eraser(t, d.table, true)
				furnish(t, d, first)
				neighbour(t, first)
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
				dying, err := d.eraserOver(t, flaky, true).Tenant(ctx, "a")
				if err == nil {
					_, _ = dying.Erase(ctx, callOf("erase"), "v") // it may be killed before, during or after it
					dying.Close()
				}
				flaky.Deliver(t.Context())
				d.clock.pass(time.Minute)
				a := d.eraser(t, d.table, true)
				_, err = a.Erase(t.Context(), callOf("erase"), "v")
				require.NoError(t, err)
				requireErased(t, d, a)
			})
		}
	})
}

// requireErased requires that the erasure of "v" ends, and that nothing of it is left.
func requireErased(t *testing.T, d *deployment, a *tenant.Tenant) {
	t.Helper()
	require.Empty(t, d.traces(t))
	finished(t, d, a)
	require.Empty(t, d.traces(t))
	d.requireNothing(t)
	requireNeighbour(t, a)
	e, err := create(t.Context(), a, callOf("next"), "v")
	require.NoError(t, err)
	require.Equal(t, 2, e.Incarnation)
	require.Empty(t, notes(t, a, "v"))
	require.NoError(t, put(t.Context(), a, "v", "a.md", "new\n"))
}

// requireNothing requires that the stores contain nothing of "v", compressed or not: of its log
// there are only tombstones and a control item without an image.
func (d *deployment) requireNothing(t *testing.T) {
	t.Helper()
	for it, err := range d.table.Query(t.Context(), "a/v/1", "", "\U0010FFFF") {
		require.NoError(t, err)
		if it.Sort == "log/~" {
			require.NotContains(t, string(it.Data), "image")
			continue
		}
		require.Equal(t, []byte{0}, it.Data, it.Sort)
	}
	for o, err := range d.bucket.List(t.Context(), "tenants/a/vaults/v/") {
		require.NoError(t, err)
		require.Fail(t, "an object is left", o.Key)
	}
}

// TestEraseFromTwoProcesses checks that of two processes that erase a vault at the same time, with
// the same key or with two, at least one succeeds and the other succeeds or names the job, and that
// a process that had the vault open all the time is then told that it does not exist.
func TestEraseFromTwoProcesses(t *testing.T) {
	for _, keys := range [][]string{{"k", "k"}, {"k", "l"}} {
		t.Run(keys[1], func(t *testing.T) {
			d := deploy(t)
			furnish(t, d, d.eraser(t, d.table, false))
			neighbour(t, d.eraser(t, d.table, false))
			asleep := d.eraser(t, d.table, false)
			v, err := asleep.Vault(t.Context(), "v")
			require.NoError(t, err)
			_, err = v.Read(t.Context())
			require.NoError(t, err)
			var both sync.WaitGroup
			errs := make([]error, 2)
			for i := range 2 {
				a := d.eraser(t, d.table, false)
				both.Go(func() { _, errs[i] = a.Erase(t.Context(), callOf(keys[i]), "v") })
			}
			both.Wait()
			require.False(t, errs[0] != nil && errs[1] != nil, "%v", errs)
			for _, err := range errs {
				if err != nil {
					is(t, fault.InProgress, err)
					require.Contains(t, fault.Of(err).Details, "job")
				}
			}
			_, err = v.Read(t.Context())
			is(t, fault.NotFound, err)
			_, err = asleep.Erase(t.Context(), eventlog.Call{}, "v")
			require.NoError(t, err)
			requireErased(t, d, asleep)
		})
	}
}

// TestEraseNoteIsKilled kills the erasure of a note between any two of its writes. Either nothing
// was erased and the call can be repeated, or the note is erased completely.
func TestEraseNoteIsKilled(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range erasuresKilled() {
			n := 2 + r.IntN(24)
			t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
				t.Parallel()
				d := deploy(t)
				first := d.eraser(t, d.table, true)
				_, err := create(t.Context(), first, callOf("1"), "v")
				require.NoError(t, err)
				require.NoError(t, put(t.Context(), first, "v", "people/"+canary+".md", canary+"\n"))
				require.NoError(t, put(t.Context(), first, "v", "other.md", "stays\n"))
				neighbour(t, first)
				first.Close()
				ctx, plan := givesUp(t, dieAfter(n))
				dying, err := d.eraserOver(t, tabletest.NewFlaky(d.table, plan), true).Tenant(ctx, "a")
				if err == nil {
					_, _ = dying.EraseNote(ctx, callOf("erase"), "v", "people/"+canary+".md")
					dying.Close()
				}
				d.clock.pass(time.Minute)
				a := d.eraser(t, d.table, true)
				for range 5 { // a job that erased nothing fails in the end
					_, _ = a.Work(t.Context())
					d.clock.pass(10 * time.Minute)
				}
				_, err = a.EraseNote(t.Context(), callOf("erase"), "v", "people/"+canary+".md")
				require.NoError(t, err)
				require.Empty(t, d.traces(t))
				require.Equal(t, []string{"other.md"}, notes(t, a, "v"))
				requireNeighbour(t, a)
				v, err := a.Vault(t.Context(), "v")
				require.NoError(t, err)
				_, err = v.Verify(t.Context(), nil)
				require.NoError(t, err)
			})
		}
	})
}

// TestEraseMemoryIsKilled kills the erasure of a memory between any two of its writes. Either
// nothing was erased and the call can be repeated, or the memory is erased completely. Other
// memories and notes stay.
func TestEraseMemoryIsKilled(t *testing.T) {
	repotest.EachSeed(t, nil, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		for range erasuresKilled() {
			n := 2 + r.IntN(24)
			t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
				t.Parallel()
				d := deploy(t)
				first := d.eraser(t, d.table, true)
				furnishMemories(t, first)
				first.Close()
				ctx, plan := givesUp(t, dieAfter(n))
				dying, err := d.eraserOver(t, tabletest.NewFlaky(d.table, plan), true).Tenant(ctx, "a")
				if err == nil {
					_, _ = dying.EraseMemory(ctx, callOf("erase"), "m", erasedMemory)
					dying.Close()
				}
				d.clock.pass(time.Minute)
				a := d.eraser(t, d.table, true)
				for range 5 { // a job that erased nothing fails in the end
					_, _ = a.Work(t.Context())
					d.clock.pass(10 * time.Minute)
				}
				_, err = a.EraseMemory(t.Context(), callOf("erase"), "m", erasedMemory)
				require.NoError(t, err)
				require.Empty(t, d.tracesOf(t, heron))
				requireMemories(t, a)
			})
		}
	})
}

// heron is a word that occurs only in the erased memory, and erasedMemory is the id of that memory.
const (
	heron        = "heron-by-the-weir"
	erasedMemory = "mem_" + heron
)

// furnishMemories makes the vault "m" with a note and three memories, in an image, in a segment and
// in later commits. The memory to be erased is in the log twice, links to another one and has an
// access count.
func furnishMemories(t *testing.T, a *tenant.Tenant) {
	t.Helper()
	ctx := t.Context()
	_, err := create(ctx, a, callOf("m"), "m")
	require.NoError(t, err)
	require.NoError(t, put(ctx, a, "m", "stays.md", "one\n"))
	require.NoError(t, remember(ctx, a, "m", "mem_first", "stays"))
	require.NoError(t, remember(ctx, a, "m", erasedMemory, "watch the "+heron))
	v, err := a.Vault(ctx, "m")
	require.NoError(t, err)
	require.NoError(t, v.Compact(ctx, eventlog.Compaction{All: true}))
	require.NoError(t, remember(ctx, a, "m", erasedMemory, "watch the "+heron+" again"))
	require.NoError(t, remember(ctx, a, "m", "mem_last", "stays"))
	_, err = v.Update(ctx, eventlog.Call{Who: eventlog.Who{Principal: "p"}, Tool: "test"}, func(_ context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.PutItem(memory.KindLinks, erasedMemory, memory.Links{V: memory.Format, CausedBy: []string{"mem_first"}})
	})
	require.NoError(t, err)
	v.Accessed(ctx, []string{erasedMemory, "mem_first"})
	_, err = v.SearchableMemories(ctx)
	require.NoError(t, err)
}

// requireMemories requires that the vault of furnishMemories lacks only the erased memory.
func requireMemories(t *testing.T, a *tenant.Tenant) {
	t.Helper()
	ctx := t.Context()
	require.Equal(t, []string{"stays.md"}, notes(t, a, "m"))
	v, err := a.Vault(ctx, "m")
	require.NoError(t, err)
	idx, err := v.Read(ctx)
	require.NoError(t, err)
	var ids []string
	for c := range idx.Memories().Cards("") {
		ids = append(ids, c.ID)
		m, err := v.Memory(ctx, c)
		require.NoError(t, err)
		require.Equal(t, "stays", m.Intent.Goal)
	}
	require.ElementsMatch(t, []string{"mem_first", "mem_last"}, ids)
	_, err = v.Verify(ctx, nil)
	require.NoError(t, err)
	require.NoError(t, remember(ctx, a, "m", "mem_next", "stays"))
}

// TestTrashKeepsMemories checks that a vault in the trash keeps its memories, that none can be read
// or written there, and that every process finds them after the vault is restored.
func TestTrashKeepsMemories(t *testing.T) {
	d := deploy(t)
	a := d.team(t, false)
	furnishMemories(t, a)
	_, err := a.Trash(t.Context(), callOf("away"), "m", told)
	require.NoError(t, err)
	require.Error(t, remember(t.Context(), d.team(t, false), "m", "mem_late", "no"))
	_, err = a.Vault(t.Context(), "m")
	require.Error(t, err)
	for _, back := range []*tenant.Tenant{a, d.team(t, false)} {
		_, err = back.Restore(t.Context(), callOf("back"), "m", toldChange)
		require.NoError(t, err)
		v, err := back.Vault(t.Context(), "m")
		require.NoError(t, err)
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, idx.Memories().Len())
		c, ok := idx.Memories().Card(erasedMemory)
		require.True(t, ok)
		m, err := v.Memory(t.Context(), c)
		require.NoError(t, err)
		require.Equal(t, "watch the "+heron+" again", m.Intent.Goal)
		require.Equal(t, []string{"mem_first"}, idx.Memories().Links(erasedMemory).CausedBy)
	}
}

// TestErasuresWithoutAJob checks that an erasure without a job gets one.
func TestErasuresWithoutAJob(t *testing.T) {
	d := deploy(t)
	furnish(t, d, d.eraser(t, d.table, false))
	flaky := tabletest.NewFlaky(d.table, func(c tabletest.Call) tabletest.Fault {
		for _, op := range c.Ops {
			if filepath.Base(op.Item.Part) == job.Part {
				return tabletest.Before
			}
		}
		return tabletest.None
	})
	_, err := d.eraser(t, flaky, false).Erase(t.Context(), callOf("erase"), "v")
	require.Error(t, err, "the job cannot be made")
	require.NotEmpty(t, d.traces(t))
	a := d.eraser(t, d.table, false)
	works(t, a)
	require.Empty(t, d.traces(t))
	done, err := a.Erase(t.Context(), callOf("erase"), "v")
	require.NoError(t, err)
	require.True(t, done.Swept)
	require.True(t, done.Replayed)
}
