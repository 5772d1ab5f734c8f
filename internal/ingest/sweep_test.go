package ingest_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
)

// late is longer than any event of the bucket takes.
const late = 16 * time.Minute

// lose makes the events that are there get lost, and lets the time pass in which they could come.
func (b *bed) lose() {
	b.take()
	b.pass(late)
}

// sweep is one sweep.
func (b *bed) sweep(t *testing.T) {
	t.Helper()
	require.NoError(t, b.process(t, b.shared).Sweep(t.Context(), b.ask))
}

// TestSweep holds that what others did, and no event told of, is taken in after a sweep, and that a sweep leaves alone
// what an event may still tell.
func TestSweep(t *testing.T) {
	for _, sealed := range []bool{false, true} {
		b := newBed(t)
		b.notes.sealed = sealed
		b.write(t, "a.md", song, "b.md", "B\n", "same.md", "0123\n", "stays.md", "stays\n")
		b.settle(t)
		b.pass(time.Hour)
		b.save(t, "a.md", song+"mine\n")
		b.save(t, "same.md", "4567\n") // of the same length
		b.save(t, "people/new.md", "new\n")
		b.save(t, "o\u0308.md", "not composed\n")
		b.rm(t, "b.md")
		b.take()
		b.pass(time.Minute)
		b.sweep(t)
		require.NotContains(t, fmt.Sprint(b.items(t, "noticed/")), "a.md", "its event may come")
		b.pass(late)
		b.sweep(t)
		require.Equal(t, repo.Pending, b.control(t).Freshness(b.now()))
		b.settle(t)
		want := map[string]string{
			"a.md": song + "mine\n", "same.md": "4567\n", "people/new.md": "new\n", "stays.md": "stays\n",
		}
		require.Equal(t, want, b.inLog(t))
		require.Equal(t, 1, b.control(t).Left.Count)
		require.LessOrEqual(t, b.reindexes(t), 2)
		n := b.reindexes(t)
		b.pass(24 * time.Hour)
		b.sweep(t)
		b.settle(t)
		require.Equal(t, n, b.reindexes(t), "a sweep that finds nothing changes nothing")
		require.Equal(t, repo.Fresh, b.control(t).Freshness(b.now()))
	}
}

// TestSweepBringsForward holds that a file with an earlier text of its note, as a process writes that was killed or
// frozen, gets the newest one, and that no commit takes the earlier one in.
func TestSweepBringsForward(t *testing.T) {
	b := newBed(t)
	b.write(t, "a.md", "one\n", "gone.md", "gone\n", "merged.md", song)
	b.settle(t)
	b.pass(time.Hour)
	b.save(t, "merged.md", song+"mine\n")
	b.write(t, "merged.md", "# Song\n\nzero\none\ntwo\nthree\n")
	b.settle(t)
	merged := b.inLog(t)["merged.md"]
	require.Contains(t, merged, "mine")
	require.Contains(t, merged, "zero")
	b.write(t, "a.md", "two\n")
	b.write(t, "a.md", "three\n")
	b.write(t, "gone.md", "")
	b.settle(t)
	b.sweep(t)
	n := b.reindexes(t)
	want := map[string]string{"a.md": "three\n", "merged.md": merged}
	for i, first := range []string{"one\n", "two\n"} {
		b.save(t, "a.md", first)
		b.save(t, "merged.md", song+"mine\n")
		if i == 0 {
			b.save(t, "gone.md", "gone\n")
		}
		b.lose()
		b.sweep(t)
		require.Equal(t, want, b.inFiles(t))
		b.settle(t)
		b.agree(t, want)
	}
	require.Equal(t, n, b.reindexes(t))
}

// TestSweepOfHeld holds that a sweep neither writes files of a batch that needs confirmation again, nor doubles them.
func TestSweepOfHeld(t *testing.T) {
	b := newBed(t)
	b.fill(t, 40, "")
	b.settle(t)
	b.fill(t, 40, "more\n")
	b.settle(t)
	b.pass(time.Hour)
	for i := range 40 {
		b.save(t, fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\n", i))
	}
	b.settle(t)
	held := b.control(t).Held
	require.Equal(t, 40, held.Reverted)
	before := b.inFiles(t)
	b.lose()
	b.sweep(t)
	b.settle(t)
	require.Equal(t, held, b.control(t).Held)
	require.Equal(t, before, b.inFiles(t))
}

// TestSweepRequests holds what a sweep costs: a LIST for each 1,000 files, and of the files no read, neither by the first
// sweep nor by one that finds nothing.
func TestSweepRequests(t *testing.T) {
	const notes = 2500
	b := newBed(t)
	b.fill(t, notes, "")
	b.settle(t)
	b.pass(time.Hour)
	c := &cutter{}
	p := b.process(t, c)
	_, err := p.Vault.Read(t.Context())
	require.NoError(t, err)
	for range 2 {
		c.reset()
		require.NoError(t, p.Sweep(t.Context(), b.ask))
		require.Equal(t, 3, c.lists)
		require.Zero(t, c.reads+c.puts)
		require.Empty(t, b.asks)
		b.pass(24 * time.Hour)
	}
	requests(t, &cutter{n: 6, queries: 1, gets: 1, writes: 1, lists: 3}, c)
	b.write(t, "n/07.md", "other\n")
	b.follow(t)
	b.take()
	b.pass(late)
	c.reset()
	require.NoError(t, p.Sweep(t.Context(), b.ask))
	require.Zero(t, c.reads, "the tag of what was written since tells that it is right")
}

// TestSweepCrashed holds that a sweep which ends before any of its requests does no harm, and that the next one finishes
// what it began.
func TestSweepCrashed(t *testing.T) {
	for at := 1; ; at++ {
		b := newBed(t)
		b.write(t, "a.md", "one\n", "b.md", "B\n", "c.md", "C\n", "d.md", "D\n")
		b.settle(t)
		b.write(t, "a.md", "two\n")
		b.settle(t)
		b.pass(time.Hour)
		b.save(t, "a.md", "one\n") // by a process that was killed
		b.save(t, "b.md", "B\nmine\n")
		b.save(t, "new.md", "new\n")
		b.rm(t, "c.md")
		b.lose()
		ctx, c := killed(t, at)
		err := b.process(t, c).Sweep(ctx, b.ask)
		b.sweep(t) // its message comes again
		b.settle(t)
		b.agree(t, map[string]string{"a.md": "two\n", "b.md": "B\nmine\n", "d.md": "D\n", "new.md": "new\n"})
		require.Equal(t, 1, b.reindexes(t), at)
		if err == nil {
			require.Greater(t, at, 10)
			return
		}
	}
}

// TestTwoSweeps holds that two sweeps at the same time, beside a process that takes edits in, double nothing.
func TestTwoSweeps(t *testing.T) {
	b := newBed(t)
	b.write(t, "a.md", "one\n", "b.md", "B\n", "c.md", "C\n")
	b.settle(t)
	b.write(t, "a.md", "two\n")
	b.settle(t)
	b.pass(time.Hour)
	b.save(t, "a.md", "one\n")
	b.save(t, "b.md", "B\nmine\n")
	b.rm(t, "c.md")
	b.lose()
	b.sweep(t)
	b.pass(3 * time.Second)
	var running sync.WaitGroup
	errs := make([]error, 3)
	for i := range 2 {
		p := b.process(t, &cutter{})
		running.Go(func() { errs[i] = p.Sweep(t.Context(), b.ask) })
	}
	p := b.process(t, &cutter{})
	running.Go(func() { _, errs[2] = p.Close(t.Context()) })
	running.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	b.settle(t)
	b.agree(t, map[string]string{"a.md": "two\n", "b.md": "B\nmine\n"})
	require.Equal(t, 1, b.reindexes(t))
}

// TestForget holds that items and the control item do not name a file any more that was held, or could not be taken in.
func TestForget(t *testing.T) {
	b := newBed(t)
	b.fill(t, 40, "")
	b.settle(t)
	b.pass(time.Hour)
	for i := range 40 {
		b.rm(t, fmt.Sprintf("n/%02d.md", i))
	}
	b.save(t, "bad.md", "\xff")
	b.settle(t)
	require.Contains(t, b.control(t).Held.Paths, "n/00.md")
	require.Equal(t, "bad.md", b.control(t).Left.Files[0].Path)
	p := b.process(t, b.shared)
	for _, path := range []string{"n/00.md", "bad.md", "never.md"} {
		require.NoError(t, p.Forget(t.Context(), path))
	}
	require.NotContains(t, b.control(t).Held.Paths, "n/00.md")
	require.Nil(t, b.control(t).Left)
	require.Len(t, b.items(t, "held/"), 39)
	require.Empty(t, b.items(t, "left/"))
	for i := range 40 {
		require.NoError(t, p.Forget(t.Context(), fmt.Sprintf("n/%02d.md", i)))
	}
	require.Nil(t, b.control(t).Held)
	require.Empty(t, b.items(t, "held/"))
}
