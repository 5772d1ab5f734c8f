package checkout_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
	"rookery/internal/table"
	"rookery/internal/tabletest"
)

func TestFilesFollowTheLog(t *testing.T) {
	p := newPlace(t, nil)
	v, _ := p.open(t)
	write(t, v, "a.md", "one\n")
	require.Equal(t, "one\n", p.file(t, "a.md"))
	write(t, v, "a.md", "two\r\nwithout an end")
	require.Equal(t, "two\r\nwithout an end", p.file(t, "a.md"))
	write(t, v, "deep/er/b.md", "")
	require.Empty(t, p.file(t, "deep/er/b.md"))
	write(t, v, ".trash/c.md", "three\n")
	require.Equal(t, "three\n", p.file(t, ".trash/c.md"))
	require.NoError(t, put(t.Context(), v, "deep/er/b.md", nil))
	require.Equal(t, []string{".trash", ".trash/c.md", "a.md"}, p.paths(t),
		"folders that became empty are gone")
	write(t, v, "deep/er/b.md", "again\n")
	p.inStep(t, v)
}

// TestEditedByHand holds that a file that somebody changed is left, told, and refused to writers,
// and that everything else goes on (issue 3, §2).
func TestEditedByHand(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.md")
	require.NoError(t, os.WriteFile(outside, []byte("outside\n"), 0o600))
	for name, c := range map[string]struct {
		edit func(t *testing.T, p *place, file string)
		left string
	}{
		"changed": {func(t *testing.T, p *place, _ string) { p.edit(t, "a.md", "mine\n") }, "mine\n"},
		"emptied": {func(t *testing.T, p *place, _ string) { p.edit(t, "a.md", "") }, ""},
		"a link": {func(t *testing.T, _ *place, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Symlink(outside, file))
		}, "outside\n"},
		"a folder": {func(t *testing.T, _ *place, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.MkdirAll(file, 0o700))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			write(t, v, "a.md", "ours\nand more\n")
			write(t, v, "b.md", "other\n")
			file := filepath.Join(p.dir, "a.md")
			c.edit(t, p, file)
			conflict(t, v, "a.md")
			require.Error(t, put(t.Context(), v, "a.md", nil), "it cannot be deleted either")
			write(t, v, "b.md", "others go on\n")
			for _, restore := range []bool{false, true} {
				found, err := folder.Sweep(t.Context(), restore)
				require.NoError(t, err)
				require.Equal(t, []string{"a.md"}, found.Edited)
				require.Equal(t, 1, found.Count)
				require.Empty(t, found.Missing)
				require.Zero(t, found.Restored)
			}
			if name != "a folder" {
				require.Equal(t, c.left, p.file(t, "a.md"))
			}
			control, err := v.Control(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"a.md"}, control.Sweep.Edited)

			require.NoError(t, os.Remove(file))
			p.edit(t, "a.md", "ours\nand more\n")
			write(t, v, "a.md", "ours again\n")
			p.inStep(t, v)
			found, err := folder.Sweep(t.Context(), false)
			require.NoError(t, err)
			require.Zero(t, found.Count)
			require.Empty(t, found.Edited)
		})
	}
	data, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.Equal(t, "outside\n", string(data), "nothing wrote through the link")
}

// TestMissingFile holds that a file that somebody took away is written again by a sweep that is
// told to, and only by that.
func TestMissingFile(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "deep/a.md", "first\n")
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, "deep")))
	conflict(t, v, "deep/a.md")
	found, err := folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	require.Equal(t, []string{"deep/a.md"}, found.Missing)
	require.Equal(t, 1, found.Missed)
	require.Zero(t, found.Count)
	require.Equal(t, "(none)", p.file(t, "deep/a.md"))

	found, err = folder.Sweep(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, 1, found.Restored)
	require.Empty(t, found.Missing)
	p.inStep(t, v)
	write(t, v, "deep/a.md", "ours again\n")
}

// TestMissingBehindAnObstacle holds that a sweep that cannot restore one file goes on.
func TestMissingBehindAnObstacle(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "deep/a.md", "ours\n")
	write(t, v, "z.md", "last\n")
	require.NoError(t, os.RemoveAll(filepath.Join(p.dir, "deep")))
	require.NoError(t, os.Remove(filepath.Join(p.dir, "z.md")))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(p.dir, "deep")))
	found, err := folder.Sweep(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, []string{"deep/a.md"}, found.Edited)
	require.Equal(t, 1, found.Restored)
	require.Equal(t, "last\n", p.file(t, "z.md"))
}

// TestSweepWritesNothingNew holds that a sweep that finds what the last one found changes nothing.
func TestSweepWritesNothingNew(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "ours\n")
	_, err := folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	folder.Close() // its cursors move no more
	before, err := v.Control(t.Context())
	require.NoError(t, err)
	_, err = folder.Sweep(t.Context(), false)
	require.NoError(t, err)
	after, err := v.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestSomethingAtANewPath(t *testing.T) {
	p := newPlace(t, nil)
	v, _ := p.open(t)
	p.edit(t, "new.md", "mine\n")
	p.edit(t, "folder.md/inside.txt", "mine\n")
	conflict(t, v, "new.md")
	conflict(t, v, "folder.md")
	require.NoError(t, os.Symlink("new.md", filepath.Join(p.dir, "link.md")))
	conflict(t, v, "link.md")
	require.NoError(t, os.Symlink("nowhere", filepath.Join(p.dir, "dangling.md")))
	conflict(t, v, "dangling.md")
	require.Equal(t, "mine\n", p.file(t, "new.md"))
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.Zero(t, idx.Totals().Notes, "nothing was written to the log")
	require.NoError(t, os.Remove(filepath.Join(p.dir, "new.md")))
	write(t, v, "new.md", "ours\n")
	p.inStep(t, v)
}

// TestSavedInTheMoment plays an editor that saves between the check of a call and the write of its
// file: the commit is durable, and the editor's text stays.
func TestSavedInTheMoment(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "ours\n")
	p.files.before = func() { p.edit(t, "a.md", "theirs\n") }
	write(t, v, "a.md", "ours again\n")
	require.Equal(t, "theirs\n", p.file(t, "a.md"))
	conflict(t, v, "a.md")
	p.files.before = func() { p.edit(t, "new.md", "theirs\n") }
	write(t, v, "new.md", "ours\n")
	require.Equal(t, "theirs\n", p.file(t, "new.md"))
	found, err := folder.Sweep(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, []string{"a.md", "new.md"}, found.Edited)
	p.edit(t, "a.md", "ours again\n")
	write(t, v, "a.md", "at last\n")
	require.Equal(t, "at last\n", p.file(t, "a.md"))
}

var errFull = errors.New("no space left on device")

// TestFolderThatFails holds that a commit is durable although its file cannot be written, and that
// the file follows once it can.
func TestFolderThatFails(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "gone.md", "one\n")
	folder.Close()
	v, folder = p.open(t)
	synced := cursor(t, v, "checkout")
	p.files.failing(errFull)
	write(t, v, "a.md", "two\n")
	write(t, v, "b.md", "new\n")
	require.NoError(t, put(t.Context(), v, "gone.md", nil))
	require.Equal(t, "one\n", p.file(t, "a.md"))
	err := put(t.Context(), v, "a.md", []byte("three\n"))
	require.True(t, fault.Is(err, fault.StorageError), "%v", err)
	require.NotContains(t, err.Error(), p.dir)
	folder.Close()
	require.Equal(t, synced, cursor(t, v, "checkout"), "the cursor passed files that are behind")

	v, folder = p.open(t)
	p.files.failing(nil)
	write(t, v, "c.md", "other\n")
	write(t, v, "a.md", "three\n")
	idx := p.inStep(t, v)
	require.Equal(t, "(none)", p.file(t, "gone.md"))
	folder.Close()
	require.Equal(t, idx.Version(), cursor(t, v, "checkout"))
}

// TestCursorPassesOnlySyncedFiles holds that what is not synced is redone.
func TestCursorPassesOnlySyncedFiles(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "deep/b.md", "one\n")
	require.NoError(t, put(t.Context(), v, "deep/b.md", nil))
	p.files.mu.Lock()
	p.files.stuck = errFull
	p.files.synced = nil // a tick of the background may have come already
	p.files.mu.Unlock()
	write(t, v, "c.md", "one\n")
	last := v.Known().Version()
	folder.Close()
	require.Less(t, cursor(t, v, "checkout"), last)
	require.Less(t, cursor(t, v, "audit"), last)

	p.files.stuck = nil
	v, folder = p.open(t)
	folder.Close()
	require.Contains(t, p.files.synced, "c.md")
	require.Contains(t, p.files.synced, ".raven/audit.log")
	require.Equal(t, last, cursor(t, v, "checkout"))
	require.Equal(t, last, cursor(t, v, "audit"))
}

// TestCloseSyncsEverything holds that each path that was written is synced before the cursor passes
// it.
func TestCloseSyncsEverything(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	write(t, v, "deep/b.md", "one\n")
	require.NoError(t, put(t.Context(), v, "a.md", nil))
	folder.Close()
	require.Subset(t, p.files.synced, []string{"a.md", "deep/b.md", ".raven/audit.log"})
	require.Equal(t, v.Known().Version(), cursor(t, v, "checkout"))
	folder.Close()
}

// TestUnknownOutcome holds that a commit whose outcome was unknown, and that then is there, is not
// taken for somebody's edit.
func TestUnknownOutcome(t *testing.T) {
	var late atomic.Bool
	var flaky *tabletest.Flaky
	p := newPlace(t, func(below table.Table) table.Table {
		flaky = tabletest.NewFlaky(below, func(c tabletest.Call) tabletest.Fault {
			if c.Method == tabletest.Commit && late.Load() {
				return tabletest.Late
			}
			return tabletest.None
		})
		return flaky
	})
	v, folder := p.open(t)
	write(t, v, "a.md", "one\n")
	folder.Close() // nothing of its own is late
	v, _ = p.open(t)
	late.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := put(ctx, v, "a.md", []byte("two\n"))
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	late.Store(false)
	require.NotEmpty(t, flaky.Deliver(t.Context()))
	write(t, v, "a.md", "three\n")
	p.inStep(t, v)
}
