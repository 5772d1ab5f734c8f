package tenant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tabletest"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// canary is a word that occurs only in data that is erased.
const canary = "kestrel-in-the-tower"

// eraser returns tenant "a" as a process that starts now sees it, with a database that can be
// compacted.
func (d *deployment) eraser(t *testing.T, over table.Table, folders bool) *tenant.Tenant {
	t.Helper()
	a, err := d.eraserOver(t, over, folders).Tenant(t.Context(), "a")
	require.NoError(t, err)
	return a
}

// eraserOver returns the tenants of such a process.
func (d *deployment) eraserOver(t *testing.T, over table.Table, folders bool) *tenant.Registry {
	t.Helper()
	teams := tenant.NewRegistry(tenant.Options{
		Table: over, Bucket: d.bucket, Texts: repo.NewTexts(1 << 20),
		Log: slog.New(slog.DiscardHandler), Now: d.clock.time, Background: folders, Folders: folders,
		Compact: d.table.(*bolttable.Table).Compact,
	})
	t.Cleanup(teams.Close)
	return teams
}

// traces returns the files of the deployment, including the database, that contain the canary,
// compressed or not, or have it in their names.
func (d *deployment) traces(t *testing.T) []string { return d.tracesOf(t, canary) }

// tracesOf is like traces, for another word.
func (d *deployment) tracesOf(t *testing.T, word string) []string {
	t.Helper()
	var found []string
	top := filepath.Dir(d.dir)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was deleted during the search
		}
		if err != nil {
			return err
		}
		if strings.Contains(e.Name(), word) {
			found = append(found, path)
		}
		if e.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if holds(t, data, word) {
			found = append(found, path)
		}
		return err
	})
	require.NoError(t, err)
	return found
}

// remember writes a memory into a vault.
func remember(ctx context.Context, a *tenant.Tenant, name, id, goal string) error {
	v, err := a.Vault(ctx, name)
	if err != nil {
		return err
	}
	_, err = v.Update(ctx, eventlog.Call{Who: eventlog.Who{Principal: "p"}, Tool: "test"}, func(_ context.Context, tx *repo.Tx) (any, error) {
		m := memory.Memory{V: memory.Format, Agent: "a", Principal: "ann", Created: 1, Intent: memory.Intent{Goal: goal}}
		return nil, tx.PutItem(memory.KindMemory, id, m)
	})
	return err
}

// furnish makes the vault "v" with the canary in every place that a vault has: notes, their names,
// earlier texts, memories and their counts, payloads, segments, images and the audit log.
func furnish(t *testing.T, d *deployment, a *tenant.Tenant) {
	t.Helper()
	ctx := t.Context()
	_, err := create(ctx, a, callOf("furnish"), "v")
	require.NoError(t, err)
	for i := range 3 {
		text := fmt.Sprintf("---\ntype: %s\n---\n%s %d\n", canary, canary, i)
		require.NoError(t, put(ctx, a, "v", "deep/a.md", text))
		require.NoError(t, put(ctx, a, "v", canary+".md", text))
	}
	var big strings.Builder // so that it stays large when compressed
	for i := range 3000 {
		fmt.Fprintf(&big, "%s %x\n", canary, i*i*7919)
	}
	require.NoError(t, put(ctx, a, "v", "big.md", big.String()))
	require.NoError(t, remember(ctx, a, "v", "mem_"+canary, canary))
	v, err := a.Vault(ctx, "v")
	require.NoError(t, err)
	v.Accessed(ctx, []string{"mem_" + canary})
	_, err = v.Searchable(ctx)
	require.NoError(t, err)
	_, err = v.SearchableMemories(ctx)
	require.NoError(t, err)
	require.NoError(t, v.Compact(ctx, eventlog.Compaction{All: true}))
	require.NotEmpty(t, d.traces(t))
}

// TestErase checks that nothing of an erased vault is left anywhere in the data directory, that its
// name is free an hour later, and that the next vault with the name has nothing of it.
func TestErase(t *testing.T) {
	for name, trashed := range map[string]bool{"active": false, "in the trash": true} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			a := d.eraser(t, d.table, true)
			furnish(t, d, a)
			folder := filepath.Join(d.dir, "tenants/a/vaults/v/notes")
			edited := filepath.Join(folder, "deep/a.md")
			require.NoError(t, os.WriteFile(edited, []byte("by hand, "+canary), 0o600))
			own := filepath.Join(folder, "own.txt")
			require.NoError(t, os.WriteFile(own, []byte("not of the vault"), 0o600))
			v, err := a.Vault(t.Context(), "v")
			require.NoError(t, err)
			checkedOut, err := a.Folder(t.Context(), "v")
			require.NoError(t, err)
			if trashed {
				trash(t, a, "v")
			}

			dry := callOf("dry")
			dry.DryRun = true
			would, err := a.Erase(t.Context(), dry, "v")
			require.NoError(t, err)
			require.Positive(t, would.Items)
			require.NotEmpty(t, d.traces(t))

			gone, err := a.Erase(t.Context(), callOf("erase"), "v")
			require.NoError(t, err)
			require.Empty(t, d.traces(t))
			require.Equal(t, 1, gone.Left)
			require.Equal(t, 4, gone.Files, "three notes and the audit log")
			require.GreaterOrEqual(t, gone.Objects, 2)
			require.Len(t, gone.Expires, 1)
			require.FileExists(t, own)

			again, err := a.Erase(t.Context(), callOf("erase"), "v")
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, gone.Receipt, again.Receipt, "a replay")
			require.Equal(t, gone.Job, again.Job)
			again, err = a.Erase(t.Context(), eventlog.Call{}, "v")
			require.NoError(t, err)
			require.Equal(t, gone.Receipt, again.Receipt, "who comes after")
			for _, gone := range []func() error{
				func() error { _, err := a.Vault(t.Context(), "v"); return err },
				func() error { _, err := a.Restore(t.Context(), eventlog.Call{}, "v", toldChange); return err },
				func() error { _, err := a.Trash(t.Context(), eventlog.Call{}, "v", told); return err },
				func() error { _, err := v.Read(t.Context()); return err },
				func() error { _, err := checkedOut.Sweep(t.Context()); return err },
			} {
				is(t, fault.NotFound, gone())
			}
			s, _, err := a.State(t.Context())
			require.NoError(t, err)
			require.Empty(t, s.Vaults())
			_, err = create(t.Context(), a, callOf("early"), "v")
			is(t, fault.DuplicateID, err)

			d.clock.pass(eventlog.SweepAgain)
			require.False(t, works(t, a))
			_, err = a.Erase(t.Context(), eventlog.Call{}, "v")
			is(t, fault.NotFound, err)
			require.NoError(t, os.Remove(own))
			e, err := create(t.Context(), a, callOf("next"), "v")
			require.NoError(t, err)
			require.Equal(t, 2, e.Incarnation)
			require.Empty(t, e.Left)
			require.Empty(t, notes(t, a, "v"))
			require.NoError(t, put(t.Context(), a, "v", "a.md", "new\n"))
			require.Empty(t, d.traces(t))
			is(t, fault.NotFound, func() error { _, err := v.Read(t.Context()); return err }())
		})
	}
}

// TestEraseEarlier checks that the earlier vaults with the same name are erased as well.
func TestEraseEarlier(t *testing.T) {
	d := deploy(t)
	a := d.eraser(t, d.table, true)
	furnish(t, d, a)
	trash(t, a, "v")
	d.clock.pass(tenant.TrashLife)
	_, err := create(t.Context(), a, callOf("next"), "v")
	require.NoError(t, err)
	require.NotEmpty(t, d.traces(t), "the log of the first one is there")
	_, err = a.Erase(t.Context(), eventlog.Call{}, "v")
	require.NoError(t, err)
	require.Empty(t, d.traces(t))
}

// TestEraseCrashes checks that an erasure that failed at any call is finished by a repeated call or
// by the next process that opens the tenant, and that late writes are deleted by the second sweep.
func TestEraseCrashes(t *testing.T) {
	prepare := func(t *testing.T, d *deployment) {
		a := d.eraser(t, d.table, false)
		_, err := create(t.Context(), a, callOf("1"), "v")
		require.NoError(t, err)
		require.NoError(t, put(t.Context(), a, "v", canary+".md", canary))
		v, err := a.Vault(t.Context(), "v")
		require.NoError(t, err)
		require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
		require.NoError(t, put(t.Context(), a, "v", "b.md", canary))
	}
	erase := func(ctx context.Context, a *tenant.Tenant) error {
		_, err := a.Erase(ctx, callOf("erase"), "v")
		return err
	}
	tries := 0
	everyCall(t, prepare, erase, func(t *testing.T, d *deployment, acked bool, deliver func()) {
		a := d.eraser(t, d.table, false)
		s, _, err := a.State(t.Context())
		require.NoError(t, err)
		began := len(s.Vaults()) == 0
		if acked {
			require.True(t, began)
		}
		d.clock.pass(time.Minute) // until the lease of a dead process has expired
		if tries++; tries%2 == 0 || !began {
			require.NoError(t, erase(t.Context(), a))
		} else {
			works(t, a)
		}
		deliver()
		d.clock.pass(eventlog.SweepAgain)
		require.False(t, works(t, a))
		require.Empty(t, d.traces(t))
		e, err := create(t.Context(), a, callOf("next"), "v")
		require.NoError(t, err)
		require.Equal(t, 2, e.Incarnation)
		require.Empty(t, notes(t, a, "v"))
	})
}

// works makes a process look for jobs once, and reports whether any are left.
func works(t *testing.T, a *tenant.Tenant) (more bool) {
	t.Helper()
	next, err := a.Work(t.Context())
	require.NoError(t, err)
	return !next.IsZero()
}

// TestErasureGoesOn checks that a process that looks for jobs continues an erasure that a crash
// interrupted, once the lease of the dead process has expired and not before.
func TestErasureGoesOn(t *testing.T) {
	d := deploy(t)
	furnish(t, d, d.eraser(t, d.table, false))
	ctx, plan := givesUp(t, dieAfter(12))
	dying := tabletest.NewFlaky(d.table, plan)
	_, err := d.eraser(t, dying, false).Erase(ctx, eventlog.Call{}, "v")
	require.Error(t, err)
	require.NotEmpty(t, d.traces(t))
	a := d.eraser(t, d.table, false)
	require.True(t, works(t, a))
	require.NotEmpty(t, d.traces(t))
	d.clock.pass(time.Minute)
	require.True(t, works(t, a), "what comes late is still to be swept")
	require.Empty(t, d.traces(t))
}

// dieAfter returns a plan in which every call after the n-th fails.
func dieAfter(n int) func(tabletest.Call) tabletest.Fault {
	return func(c tabletest.Call) tabletest.Fault {
		if c.N > n {
			return tabletest.Before
		}
		return tabletest.None
	}
}

// TestEraseNote checks that nothing of an erased note is left anywhere in the data directory: not
// in its file, the audit log or the database.
func TestEraseNote(t *testing.T) {
	d := deploy(t)
	a := d.eraser(t, d.table, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	for i := range 3 {
		text := fmt.Sprintf("---\ntype: %s\n---\n%s %d\n", canary, canary, i)
		require.NoError(t, put(t.Context(), a, "v", "people/"+canary+".md", text))
		require.NoError(t, put(t.Context(), a, "v", "other.md", fmt.Sprintf("stays %d\n", i)))
		d.clock.pass(20 * 24 * time.Hour) // so that months of the audit log are closed
	}
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err)
	folder, err := a.Folder(t.Context(), "v")
	require.NoError(t, err)
	folder.Save(t.Context())
	require.NotEmpty(t, d.traces(t))
	_, err = a.EraseNote(t.Context(), callOf("erase"), "v", "people/"+canary+".md")
	require.NoError(t, err)
	require.Empty(t, d.traces(t))
	require.Equal(t, []string{"other.md"}, notes(t, a, "v"))
	require.NoError(t, put(t.Context(), a, "v", "other.md", "and goes on\n"))
	folder.Save(t.Context())
	file, err := folder.AuditFile(t.Context())
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), file)
	require.NoError(t, err)
	require.Contains(t, string(file.Text), `"op":"erase"`)
	a.Close()

	a = d.eraser(t, d.table, true)
	require.Equal(t, []string{"other.md"}, notes(t, a, "v"))
	require.Empty(t, d.traces(t))
}

// TestEraseNoteLeavesTheAuditLog checks that an erasure removes only its own lines from the audit
// log: a line that a person altered stays, in the open file and in closed ones, and a verification
// finds it. The files are written again only where the erasure's own lines are not in their places.
func TestEraseNoteLeavesTheAuditLog(t *testing.T) {
	for name, c := range map[string]struct {
		kept   bool // the altered line is still there afterwards
		before func(t *testing.T, d *deployment, a *tenant.Tenant) *tenant.Tenant
	}{
		"known": {true, func(_ *testing.T, _ *deployment, a *tenant.Tenant) *tenant.Tenant { return a }},
		"another process": {true, func(t *testing.T, d *deployment, a *tenant.Tenant) *tenant.Tenant {
			a.Close()
			return d.eraser(t, d.table, true)
		}},
		"its own lines were altered": {false, func(t *testing.T, d *deployment, a *tenant.Tenant) *tenant.Tenant {
			alter(t, d, canary, "kestrel-in-the-trees")
			return a
		}},
	} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			a := d.eraser(t, d.table, true)
			_, err := create(t.Context(), a, callOf("1"), "v")
			require.NoError(t, err)
			for i := range 3 {
				require.NoError(t, put(t.Context(), a, "v", canary+".md", fmt.Sprintf("%s %d\n", canary, i)))
				require.NoError(t, put(t.Context(), a, "v", fmt.Sprintf("heron%d.md", i), "stays\n"))
				d.clock.pass(20 * 24 * time.Hour) // so that months of the audit log are closed
			}
			folder, err := a.Folder(t.Context(), "v")
			require.NoError(t, err)
			folder.Save(t.Context())
			require.Equal(t, 2, alter(t, d, "heron", "egret"))
			a = c.before(t, d, a)
			_, err = a.EraseNote(t.Context(), callOf("erase"), "v", canary+".md")
			require.NoError(t, err)
			require.Empty(t, d.traces(t))
			require.Equal(t, c.kept, alter(t, d, "egret", "heron") == 2)
			folder, err = a.Folder(t.Context(), "v")
			require.NoError(t, err)
			require.NoError(t, put(t.Context(), a, "v", "other.md", "and goes on\n"))
			folder.Save(t.Context())
			file, err := folder.AuditFile(t.Context())
			require.NoError(t, err)
			v, err := a.Vault(t.Context(), "v")
			require.NoError(t, err)
			_, err = v.Verify(t.Context(), file)
			require.NoError(t, err, "every other byte is as it was")
		})
	}
}

// alter replaces a text in the files of the audit log of "v", and returns the number of files that
// contained it.
func alter(t *testing.T, d *deployment, old, now string) (files int) {
	t.Helper()
	const notes = "tenants/a/vaults/v/notes"
	for path, text := range d.files(t, notes+"/.raven") {
		if strings.Contains(text, old) {
			files++
			text = strings.ReplaceAll(text, old, now)
			require.NoError(t, os.WriteFile(filepath.Join(d.dir, notes, ".raven", path), []byte(text), 0o600))
		}
	}
	return files
}

// TestVerifyAnErasedNote checks that an audit log that still has lines of an erased history does
// not count as damaged: it is written again before it is verified.
func TestVerifyAnErasedNote(t *testing.T) {
	d := deploy(t)
	a := d.team(t, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", "gone.md", "one\n"))
	require.NoError(t, put(t.Context(), a, "v", "stays.md", "two\n"))
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err)
	folder, err := a.Folder(t.Context(), "v")
	require.NoError(t, err)
	folder.Save(t.Context())
	_, err = v.EraseNote(t.Context(), callOf("erase"), "gone.md")
	require.NoError(t, err)
	folder.Save(t.Context())
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true, Behind: checkout.Cursors()}))
	require.True(t, v.AuditStale())
	file, err := folder.AuditFile(t.Context())
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), file)
	require.NoError(t, err)
	require.False(t, v.AuditStale())
}

// TestEraseNoteThatWasSearched checks that the search index has no word and no path of an erased
// note: in the process that erases, whether it searched before or not, in another process that had
// the index in memory, and in the stored image.
func TestEraseNoteThatWasSearched(t *testing.T) {
	for name, searched := range map[string]bool{"searched": true, "an image alone": false} {
		t.Run(name, func(t *testing.T) {
			d := deploy(t)
			first := d.eraser(t, d.table, false)
			_, err := create(t.Context(), first, callOf("1"), "v")
			require.NoError(t, err)
			for i := range 20 {
				require.NoError(t, put(t.Context(), first, "v", fmt.Sprintf("n%d.md", i), fmt.Sprintf("heron %d\n", i)))
			}
			require.NoError(t, put(t.Context(), first, "v", canary+".md", canary))
			v, err := first.Vault(t.Context(), "v")
			require.NoError(t, err)
			_, err = v.Searchable(t.Context())
			require.NoError(t, err)
			require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))

			warm := d.eraser(t, d.table, false)
			slept, err := warm.Vault(t.Context(), "v")
			require.NoError(t, err)
			_, err = slept.Searchable(t.Context())
			require.NoError(t, err)
			a := d.eraser(t, d.table, false)
			own, err := a.Vault(t.Context(), "v")
			require.NoError(t, err)
			if searched {
				_, err = own.Searchable(t.Context())
				require.NoError(t, err)
			}
			_, err = a.EraseNote(t.Context(), callOf("erase"), "v", canary+".md")
			require.NoError(t, err)
			require.Empty(t, d.traces(t))
			for _, v := range []*repo.Vault{own, slept} {
				s, err := v.Searchable(t.Context())
				require.NoError(t, err)
				require.Equal(t, 20, s.Search.Notes())
				require.NotContains(t, string(s.Search.AppendImage(nil)), "kestrel")
				r, err := s.Search.Search(search.ParseQuery("heron"), search.Options{Limit: 50})
				require.NoError(t, err)
				require.Len(t, r.Items, 20)
			}
			begun := d.eraser(t, d.table, false)
			fresh, err := begun.Vault(t.Context(), "v")
			require.NoError(t, err)
			s, err := fresh.Searchable(t.Context())
			require.NoError(t, err)
			require.NotContains(t, string(s.Search.AppendImage(nil)), "kestrel")
		})
	}
}

// TestEraseNoteOfASegment checks that nothing is left of a note whose texts were in a segment,
// although the folder keeps an earlier version of a segment that is written again.
func TestEraseNoteOfASegment(t *testing.T) {
	d := deploy(t)
	a := d.eraser(t, d.table, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, put(t.Context(), a, "v", canary+".md", canary))
	require.NoError(t, put(t.Context(), a, "v", "other.md", "stays\n"))
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	require.NotEmpty(t, d.traces(t))
	_, err = a.EraseNote(t.Context(), callOf("erase"), "v", canary+".md")
	require.NoError(t, err)
	require.Empty(t, d.traces(t))
	_, err = v.Verify(t.Context(), nil)
	require.NoError(t, err)
}

// TestEraseMemory checks that nothing of an erased memory is left anywhere in the data directory,
// including its id, and that two memories can be erased at the same time.
func TestEraseMemory(t *testing.T) {
	d := deploy(t)
	a := d.eraser(t, d.table, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	ids := []string{"mem_" + canary, "mem_2_" + canary}
	for i, id := range append(ids, "mem_stays") {
		require.NoError(t, remember(t.Context(), a, "v", id, map[bool]string{true: canary, false: "stays"}[i < 2]))
	}
	require.NoError(t, put(t.Context(), a, "v", "other.md", "stays\n"))
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err)
	v.Accessed(t.Context(), []string{ids[0], "mem_stays"})
	_, err = v.SearchableMemories(t.Context())
	require.NoError(t, err)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	require.NotEmpty(t, d.traces(t))

	var both sync.WaitGroup
	failed := make([]error, len(ids))
	for i, id := range ids {
		both.Go(func() {
			done, err := a.EraseMemory(t.Context(), callOf(fmt.Sprint("erase ", i)), "v", id)
			if failed[i] = err; err == nil && done.Job.State != job.Done {
				failed[i] = fmt.Errorf("its job is %s: %v", done.Job.State, done.Job)
			}
		})
	}
	both.Wait()
	require.NoError(t, errors.Join(failed...))
	require.Empty(t, d.traces(t))
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true, Behind: checkout.Cursors()}))
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	require.NotNil(t, c.Image)
	require.Empty(t, d.traces(t), "nor has the next image anything of it")
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, idx.Memories().Len())
	counts, err := v.Accesses(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, counts["mem_stays"].Count)
	_, err = v.Verify(t.Context(), nil)
	require.NoError(t, err)
	_, err = a.EraseMemory(t.Context(), callOf("never"), "v", "mem_never")
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
}

// A heldTable is a table that refuses to advance the cursor of the files past at while held is set.
type heldTable struct {
	table.Table
	held atomic.Bool
	at   uint64
}

func (h *heldTable) Commit(ctx context.Context, ops ...table.Op) error {
	for _, op := range ops {
		var c repo.Control
		if h.held.Load() && json.Unmarshal(op.Item.Data, &c) == nil && c.Cursors[repo.FilesCursor].Seq > h.at {
			return errors.New("held")
		}
	}
	return h.Table.Commit(ctx, ops...)
}

// TestEraseWaitsForTheFolder checks that an erasure is not done while the folder is behind the log:
// until then no pass may empty the commits that it erases.
func TestEraseWaitsForTheFolder(t *testing.T) {
	d := deploy(t)
	h := &heldTable{Table: d.table}
	a := d.eraser(t, h, true)
	_, err := create(t.Context(), a, callOf("1"), "v")
	require.NoError(t, err)
	require.NoError(t, remember(t.Context(), a, "v", "mem_"+canary, canary))
	folder, err := a.Folder(t.Context(), "v")
	require.NoError(t, err)
	folder.Save(t.Context())
	v, err := a.Vault(t.Context(), "v")
	require.NoError(t, err)
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	h.at = c.Cursors[repo.FilesCursor].Seq
	h.held.Store(true)
	done, err := a.EraseMemory(t.Context(), callOf("erase"), "v", "mem_"+canary)
	require.NoError(t, err)
	require.Equal(t, job.Waiting, done.Job.State)
	require.NotEmpty(t, d.traces(t))

	h.held.Store(false)
	d.clock.pass(time.Minute)
	require.False(t, works(t, a))
	require.Empty(t, d.traces(t))
}
