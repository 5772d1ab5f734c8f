package repo_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// A watch is a clock that the test moves.
type watch struct{ now time.Time }

func (w *watch) time() time.Time { return w.now }

// watchedVault returns a vault at v1 whose commits are dated by a watch.
func watchedVault(t *testing.T, e repotest.Engine, w *watch, p *repo.SnapshotCache) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
		Now: w.time, Pasts: p,
	})
	require.NoError(t, err)
	return v
}

// textAt returns the text of a file at a version; "" if there was none.
func textAt(t *testing.T, v *repo.Vault, version uint64, path string) string {
	t.Helper()
	idx, err := v.At(t.Context(), version)
	require.NoError(t, err)
	require.Equal(t, version, idx.Version())
	f, ok := idx.File(path)
	if !ok {
		return ""
	}
	text, err := v.Text(t.Context(), f.Body)
	require.NoError(t, err)
	return string(text)
}

// TestAt checks that each version is returned as it was, in any order of requests, also for
// versions inside of a run.
func TestAt(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	crowd(t, v, 40)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 41, idx.Version())
	late := openVault(t, e, repo.Limits{})
	for _, version := range []uint64{41, 3, 40, 3, 1, 0, 2, 17} {
		known, err := late.At(t.Context(), version)
		require.NoError(t, err)
		require.Equal(t, version, known.Version())
		require.EqualValues(t, max(version, 1)-1, known.Totals().Notes)
		s, err := late.SearchableAt(t.Context(), version)
		require.NoError(t, err)
		found, err := s.Search.Search(search.ParseQuery("lantern"), search.Options{Limit: 100})
		require.NoError(t, err)
		require.Len(t, found.Items, int(max(version, 1)-1))
		require.Equal(t, version, s.Index.Version())
	}
	_, err = late.At(t.Context(), 42)
	require.True(t, fault.Is(err, fault.NotFound))
	require.Equal(t, "v41", fault.Of(err).Details["latest_version"])
	_, err = late.SearchableAt(t.Context(), 42)
	require.True(t, fault.Is(err, fault.NotFound))
}

// crowd makes n commits concurrently, each with one note, so that runs contain several commits.
func crowd(t *testing.T, v *repo.Vault, n int) {
	t.Helper()
	done := make(chan error, n)
	for i := range n {
		go func() {
			call := caller()
			_, err := v.Update(context.Background(), call,
				edits(edit{fmt.Sprintf("n%d.md", i), "# Lantern\n"}))
			done <- err
		}()
	}
	for range n {
		require.NoError(t, <-done)
	}
}

// TestVersionAt checks the version at a time, for commits that share a run, a time, or both.
func TestVersionAt(t *testing.T) {
	e, w := engine(t), &watch{time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
	begin := w.now
	v := watchedVault(t, e, w, nil)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	last := []uint64{1}
	for i := range 9 {
		w.now = w.now.Add(time.Hour)
		crowd(t, v, 1+i*i%4)
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		for _, f := range []string{"n0.md", "n1.md", "n2.md", "n3.md"} {
			if _, ok := idx.File(f); ok {
				change(t, v, edit{f, ""})
			}
		}
		idx, err = v.Read(t.Context())
		require.NoError(t, err)
		last = append(last, idx.Version())
	}
	for i, want := range last {
		at := begin.Add(time.Duration(i) * time.Hour)
		for _, moment := range []time.Time{at, at.Add(time.Millisecond), at.Add(59 * time.Minute)} {
			got, err := v.VersionAt(t.Context(), moment)
			require.NoError(t, err)
			require.Equal(t, want, got, moment)
		}
	}
	got, err := v.VersionAt(t.Context(), begin.Add(-time.Millisecond))
	require.NoError(t, err)
	require.Zero(t, got)
}

// TestPastIsMadeOnce checks that a state is built once for concurrent callers, that as many are
// cached as there is room for, and that a call that gave up has no effect on others.
func TestPastIsMadeOnce(t *testing.T) {
	e, counted := engine(t), &beginningTable{}
	v := newVault(t, e)
	for i := range 5 {
		change(t, v, edit{"a.md", fmt.Sprintf("text %d", i)})
	}
	counted.Table = e.Table
	e.Table = counted
	late := watchedVault(t, e, &watch{time.Now()}, repo.NewSnapshotCache(2*pastSize(t, e, 3, false)+1000))
	_, err := late.Read(t.Context())
	require.NoError(t, err)

	gone, giveUp := context.WithCancel(t.Context())
	giveUp()
	_, err = late.At(gone, 3)
	require.Error(t, err)
	counted.whole.Store(0)
	done := make(chan error, 16)
	for range 16 {
		go func() {
			idx, err := late.At(context.Background(), 3)
			if err == nil && idx.Version() != 3 {
				err = fmt.Errorf("it is %d", idx.Version())
			}
			done <- err
		}()
	}
	for range 16 {
		require.NoError(t, <-done)
	}
	require.EqualValues(t, 1, counted.whole.Load(), "the log was read once")
	for _, version := range []uint64{4, 3, 4, 3} {
		require.NotEmpty(t, textAt(t, late, version, "a.md"))
	}
	require.EqualValues(t, 2, counted.whole.Load(), "two are kept")
	textAt(t, late, 2, "a.md")
	textAt(t, late, 4, "a.md")
	require.EqualValues(t, 4, counted.whole.Load(), "the third took the place of the one not used last")
}

// pastSize returns the size of a past state.
func pastSize(t *testing.T, e repotest.Engine, version uint64, searched bool) int64 {
	t.Helper()
	p := repo.NewSnapshotCache(1 << 30)
	v := watchedVault(t, e, &watch{time.Now()}, p)
	_, err := v.At(t.Context(), version)
	require.NoError(t, err)
	if searched {
		_, err = v.SearchableAt(t.Context(), version)
		require.NoError(t, err)
	}
	return p.Held()
}

// TestPastsAreBoundedByBytes checks that a state that exceeds the limit is returned and cached
// until the next one, that search indexes are counted, and that the cache never exceeds its limit
// otherwise.
func TestPastsAreBoundedByBytes(t *testing.T) {
	e, counted := engine(t), &beginningTable{}
	v := newVault(t, e)
	for i := range 9 {
		change(t, v, edit{"a.md", strings.Repeat(fmt.Sprintf("[[n%d]] #tag%d\n\n", i, i), 100)})
	}
	size, searched := pastSize(t, e, 4, false), pastSize(t, e, 4, true)
	require.Greater(t, searched, size)
	counted.Table, e.Table = e.Table, counted

	none := repo.NewSnapshotCache(1)
	late := watchedVault(t, e, &watch{time.Now()}, none)
	_, err := late.Read(t.Context())
	require.NoError(t, err)
	counted.whole.Store(0)
	for _, version := range []uint64{3, 3, 3, 4, 4, 3} {
		require.Contains(t, textAt(t, late, version, "a.md"), fmt.Sprintf("#tag%d\n", version-2))
		require.Equal(t, 1, none.Kept())
	}
	require.EqualValues(t, 3, counted.whole.Load())

	most := 2*searched + size
	some := repo.NewSnapshotCache(most)
	late = watchedVault(t, e, &watch{time.Now()}, some)
	for i := range 20 {
		version := uint64(2 + i*5%7)
		s, err := late.SearchableAt(t.Context(), version)
		require.NoError(t, err)
		found, err := s.Search.Search(search.ParseQuery(fmt.Sprintf("tag%d", version-2)), search.Options{})
		require.NoError(t, err)
		require.Len(t, found.Items, 1)
		require.LessOrEqual(t, some.Held(), most)
		require.Equal(t, min(i+1, 2), some.Kept())
	}
}

// TestPastIsMadeForLater checks that a state is built even if the call that first asked for it gave
// up.
func TestPastIsMadeForLater(t *testing.T) {
	e := engine(t)
	v, held := newVault(t, e), &beginningTable{Table: e.Table}
	change(t, v, edit{"a.md", "one"})
	change(t, v, edit{"a.md", "two"})
	e.Table = held
	late := openVault(t, e, repo.Limits{})
	_, err := late.Read(t.Context())
	require.NoError(t, err)
	held.whole.Store(0)
	held.reached, held.goOn = make(chan struct{}), make(chan struct{})
	ctx, giveUp := context.WithCancel(t.Context())
	given := make(chan error)
	go func() {
		_, err := late.At(ctx, 2)
		given <- err
	}()
	<-held.reached
	giveUp()
	require.True(t, fault.Is(<-given, fault.Unavailable))
	close(held.goOn)
	require.Equal(t, "one", textAt(t, late, 2, "a.md"))
	require.EqualValues(t, 1, held.whole.Load())
}

// TestPastIsForgotten checks that an unused state is dropped, and one in use is not.
func TestPastIsForgotten(t *testing.T) {
	e := engine(t)
	v, p := newVault(t, e), repo.NewSnapshotCache(1<<30)
	change(t, v, edit{"a.md", "one"})
	change(t, v, edit{"a.md", "two"})
	w := &watch{time.Now()}
	late := watchedVault(t, e, w, p)
	_, err := late.Read(t.Context())
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		for range 4 {
			textAt(t, late, 2, "a.md")
			time.Sleep(repo.PastLife - time.Second)
			require.Equal(t, 1, p.Kept())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Zero(t, p.Kept())
	})
}

// TestRevisions checks that the revisions of a file are followed, also through a deletion that was
// undone.
func TestRevisions(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	change(t, v, edit{"a.md", "one"}, edit{"b.md", "x"})
	change(t, v, edit{"b.md", "y"})
	change(t, v, edit{"a.md", "two"})
	change(t, v, edit{"a.md", ""})
	undo(t, v, 5)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	f, _ := idx.File("a.md")
	var seen []string
	for r, err := range v.Revisions(t.Context(), "a.md", f.Version) {
		require.NoError(t, err)
		seen = append(seen, fmt.Sprintf("%d %v %s", r.Seq, r.Deleted, r.Text))
	}
	require.Equal(t, []string{"6 false two", "5 true ", "4 false two", "2 false one"}, seen)
	path, seq, err := v.Trace(t.Context(), 5, []string{"a.md"}, func(n *eventlog.Note) bool { return n.Path == "a.md" })
	require.NoError(t, err)
	require.Equal(t, "a.md", path)
	require.EqualValues(t, 5, seq)
	for _, err := range v.Revisions(t.Context(), "a.md", 3) {
		require.Error(t, err, "that commit is none of the file's")
	}
}

// TestTraceAllocatesLittle checks that a search for a file that never existed reuses its memory.
func TestTraceAllocatesLittle(t *testing.T) {
	v := newVault(t, engine(t))
	const size, many = 900 << 10, 40
	for i := range many {
		change(t, v, edit{fmt.Sprintf("n%d.md", i), strings.Repeat(fmt.Sprint(i, " "), size)[:size]})
	}
	_, bytes := tooltest.Allocated(func() {
		_, seq, err := v.Trace(t.Context(), many, []string{"none.md"}, func(*eventlog.Note) bool { return true })
		require.NoError(t, err)
		require.Zero(t, seq)
	})
	require.Less(t, bytes, uint64(many*size/4))
}

// undo undoes a version.
func undo(t *testing.T, v *repo.Vault, version uint64) repo.Receipt {
	t.Helper()
	r, err := tryUndo(t, v, version)
	require.NoError(t, err)
	return r
}

func tryUndo(t *testing.T, v *repo.Vault, version uint64) (repo.Receipt, error) {
	t.Helper()
	r, err := v.Reversal(t.Context(), version)
	require.NoError(t, err)
	return v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Reverse(ctx, r)
	})
}

const task = "# A\n\n- @due(2026-12-01) same\n- @due(2026-12-01) same\n\n## Part\n\ntext\n"

// TestReturn checks that a note restored by an undo has its old ids and times, in the process that
// did it and in one that reads the log.
func TestReturn(t *testing.T) {
	e, w := engine(t), &watch{time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
	v := watchedVault(t, e, w, nil)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	step := func(all ...edit) {
		w.now = w.now.Add(time.Hour)
		change(t, v, all...)
	}
	step(edit{"schema.yaml", "version: 1\ntraits: {due: {type: date}}\n"})
	step(edit{"a.md", task})
	step(edit{"a.md", strings.Replace(task, "text", "more text", 1)})
	was, err := v.Read(t.Context())
	require.NoError(t, err)
	before, _ := was.Note("a.md")
	step(edit{"a.md", ""}, edit{".trash/a.md", "kept"})
	w.now = w.now.Add(time.Hour)
	undo(t, v, 5)
	for _, read := range []*repo.Vault{v, watchedVault(t, e, w, nil)} {
		idx, err := read.Read(t.Context())
		require.NoError(t, err)
		n, ok := idx.Note("a.md")
		require.True(t, ok)
		require.Equal(t, before.TraitIDs(), n.TraitIDs())
		require.Equal(t, before.AllTimes(), n.AllTimes())
		_, trashed := idx.File(".trash/a.md")
		require.False(t, trashed)
	}
	step(edit{"a.md", task + "more\n"})
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	n, _ := idx.Note("a.md")
	require.Equal(t, before.Created, n.Created, "it goes on from there")
	require.Equal(t, w.now, n.Modified)
}

// TestUndoOfMuch checks that an import of a thousand notes is undone as a whole, and so is the
// undo.
func TestUndoOfMuch(t *testing.T) {
	e := engine(t)
	v := newVault(t, e)
	var all []edit
	for i := range 1000 {
		all = append(all, edit{fmt.Sprintf("n%d.md", i), fmt.Sprintf("# N %d\n", i)})
	}
	change(t, v, all...)
	undo(t, v, 2)
	require.Empty(t, files(t, e))
	undo(t, v, 3)
	require.Len(t, files(t, e), 1000)
	change(t, v, edit{"n7.md", "other"})
	_, err := tryUndo(t, v, 4)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	require.Len(t, files(t, e), 1000)
	require.Equal(t, "other", textAt(t, v, 5, "n7.md"))
}

// TestUndoneMeanwhile checks that a change after the reversal was read is a conflict, and that one
// that was reverted is not.
func TestUndoneMeanwhile(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"a.md", "one"})
	change(t, v, edit{"a.md", ""})
	r, err := v.Reversal(t.Context(), 3)
	require.NoError(t, err)
	reverse := func(ctx context.Context, tx *repo.Tx) (any, error) { return nil, tx.Reverse(ctx, r) }
	change(t, v, edit{"a.md", "two"})
	_, err = v.Update(t.Context(), caller(), reverse)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	require.Equal(t, "v4", fault.Of(err).Details["latest_version"])
	change(t, v, edit{"a.md", ""})
	_, err = v.Update(t.Context(), caller(), reverse)
	require.NoError(t, err)
	require.Equal(t, "one", textAt(t, v, 6, "a.md"))
}

// TestManyUndo checks that of several concurrent undos of one version one succeeds, and the others
// report that.
func TestManyUndo(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"a.md", "one"})
	change(t, v, edit{"a.md", ""})
	r, err := v.Reversal(t.Context(), 3)
	require.NoError(t, err)
	done := make(chan error, 8)
	for range 8 {
		go func() {
			_, err := v.Update(context.Background(), caller(),
				func(ctx context.Context, tx *repo.Tx) (any, error) { return nil, tx.Reverse(ctx, r) })
			done <- err
		}()
	}
	refused := 0
	for range 8 {
		if err := <-done; err != nil {
			require.True(t, fault.Is(err, fault.Conflict), "%v", err)
			refused++
		}
	}
	require.Equal(t, 7, refused)
	require.Equal(t, "one", textAt(t, v, 4, "a.md"))
}

// A beginningTable counts how often the log is read from its beginning.
type beginningTable struct {
	table.Table
	whole atomic.Int64

	reached, goOn chan struct{} // if not nil: the first such read waits
}

func (c *beginningTable) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	if strings.HasSuffix(from, "/000000000001") {
		if c.whole.Add(1) == 1 && c.reached != nil {
			close(c.reached)
			<-c.goOn
		}
	}
	return c.Table.Query(ctx, part, from, to)
}

// TestPastBuiltDuringAnErasure checks that a state is not cached if states were dropped while it was
// built, because it may contain what was erased.
func TestPastBuiltDuringAnErasure(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"a.md", "one"})
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.False(t, v.PutPast(repo.Searchable{Index: idx}, v.DropPasts))
	require.True(t, v.PutPast(repo.Searchable{Index: idx}, func() {}))
}
