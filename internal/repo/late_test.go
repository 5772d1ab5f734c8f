package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// A frozen engine belongs to a process that is suspended once, before a request. The function that
// it runs then is what other processes do meanwhile.
type frozen struct {
	mu           sync.Mutex
	query, fetch func() // run before the next such request; nil: none
}

// wake runs a function once.
func (f *frozen) wake(sleep *func()) {
	f.mu.Lock()
	now := *sleep
	*sleep = nil
	f.mu.Unlock()
	if now != nil {
		now()
	}
}

type frozenTable struct {
	table.Table
	*frozen
}

// Query implements table.Table.
func (f frozenTable) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	return func(yield func(table.Item, error) bool) {
		f.wake(&f.query)
		for it, err := range f.Table.Query(ctx, part, from, to) {
			if !yield(it, err) {
				return
			}
		}
	}
}

type frozenBucket struct {
	blob.Bucket
	*frozen
}

// Get implements blob.Bucket.
func (f frozenBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	f.wake(&f.fetch)
	return f.Bucket.Get(ctx, key, off, n)
}

// freezer opens the vault of a shelf in a process that can be suspended.
func (s *shelf) freezer(t *testing.T) (*repo.Vault, *frozen) {
	t.Helper()
	f := &frozen{}
	asleep := *s
	asleep.Engine = repotest.Engine{
		Table: frozenTable{s.Table, f}, Bucket: frozenBucket{s.Bucket, f},
	}
	v := asleep.open(t)
	_, err := v.Read(t.Context())
	require.NoError(t, err)
	return v, f
}

// seqs returns the commits that a vault yields from one on.
func seqs(t *testing.T, v *repo.Vault, from uint64) []uint64 {
	t.Helper()
	var all []uint64
	for c, err := range v.Commits(t.Context(), from) {
		require.NoError(t, err)
		all = append(all, c.Seq)
	}
	return all
}

// TestCommitsWhileTheLogLeaves checks that a reader that is suspended while the log leaves the
// table reads all commits.
func TestCommitsWhileTheLogLeaves(t *testing.T) {
	for _, more := range []int{0, 1} {
		s := newShelf(t)
		s.write(t, 4)
		v, f := s.freezer(t)
		f.query = func() {
			s.empty(t)
			s.write(t, more)
		}
		require.Equal(t, []uint64{1, 2, 3, 4, 5, 6}[:5+more], seqs(t, v, 1))
		require.Nil(t, f.query)
	}
}

// TestStartWhileTheLogLeaves checks that a process that is suspended during its start, while the
// log leaves the table, is up to date afterwards.
func TestStartWhileTheLogLeaves(t *testing.T) {
	s := newShelf(t)
	s.write(t, 4)
	f := &frozen{}
	f.query = func() { s.empty(t) }
	late := *s
	late.Engine = repotest.Engine{Table: frozenTable{s.Table, f}, Bucket: s.Bucket}
	v := late.open(t)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, idx.Version())
	require.True(t, told(t, s.vault) == told(t, v))
}

// TestCommitsWithAGap checks that a missing run is reported, and not skipped.
func TestCommitsWithAGap(t *testing.T) {
	s := newShelf(t)
	s.write(t, 5)
	require.NoError(t, s.Table.Commit(t.Context(),
		table.Remove(table.Key{Part: "v", Sort: "log/000000000003"})))
	var err error
	for _, err = range s.open(t).Commits(t.Context(), 1) {
		if err != nil {
			break
		}
	}
	require.ErrorContains(t, err, "v3")
}

// TestFoldWhileAnotherFolds checks that a pass that is suspended while another process compacts
// continues after it.
func TestFoldWhileAnotherFolds(t *testing.T) {
	s := newShelf(t)
	s.write(t, 9)
	v, f := s.freezer(t)
	sleeps := 0
	f.query = func() {
		f.query = func() { // between reading the cursor and the runs after it
			sleeps++
			s.empty(t)
			s.write(t, 1)
		}
	}
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	require.Equal(t, 1, sleeps)
	s.empty(t)
	require.True(t, told(t, s.vault) == told(t, s.open(t)))
}

// TestPayloadThatLeaves checks that a reader of an item whose payload object is deleted meanwhile
// finds the payload in a segment.
func TestPayloadThatLeaves(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3)
	v, f := s.freezer(t)
	change(t, s.vault, edit{"big.md", long(100 << 10)})
	f.fetch = func() {
		s.empty(t)
		for _, key := range s.objects(t, "payload/") {
			require.NoError(t, s.Bucket.Delete(t.Context(), key))
		}
	}
	require.Equal(t, []uint64{1, 2, 3, 4, 5}, seqs(t, v, 1))
	require.Nil(t, f.fetch)
	s.write(t, 1)
	require.True(t, told(t, s.vault) == told(t, v))
}

// long returns a text that cannot be compressed much.
func long(n int) string {
	text := ""
	for i := 0; len(text) < n; i++ {
		text += fmt.Sprintf("%x ", i*i*2654435761)
	}
	return text
}

// TestStrayRun checks a run that lost its race, arrives late, and extends beyond the low mark.
func TestStrayRun(t *testing.T) {
	s := newShelf(t)
	s.write(t, 4)
	stray := strayRun(t, 6, 4)
	s.write(t, 2) // up to 7, in the middle of the stray run
	s.empty(t)
	s.write(t, 5)
	want := told(t, s.vault)
	require.NoError(t, s.Table.Commit(t.Context(), table.Create(stray)))
	for _, v := range []*repo.Vault{s.vault, s.open(t)} {
		require.True(t, want == told(t, v))
		require.Equal(t, []uint64{8, 9, 10, 11, 12}, seqs(t, v, 8))
		for c, err := range v.Commits(t.Context(), 8) {
			require.NoError(t, err)
			require.Equal(t, "tool", c.Tool)
		}
	}
	s.empty(t)
	require.True(t, want == told(t, s.open(t)))
}

// strayRun returns the item of a run of another history, with the given first commit and number of
// commits.
func strayRun(t *testing.T, first, commits int) table.Item {
	t.Helper()
	s := newShelf(t)
	s.write(t, first-3)
	g := repotest.NewGate(s.Table)
	other := *s
	other.Table = g
	v := other.open(t)
	var calls sync.WaitGroup
	calls.Go(func() { change(t, v, edit{"first.md", "first"}) })
	<-g.Entered
	for i := range commits {
		calls.Go(func() {
			c := caller()
			c.Tool = "stray"
			_, err := v.Update(t.Context(), c, edits(edit{fmt.Sprintf("s%d.md", i), "stray"}))
			if err != nil {
				t.Error(err)
			}
		})
	}
	require.Eventually(t, func() bool { return v.Waiting() == commits }, time.Minute, time.Millisecond)
	g.Open()
	calls.Wait()
	it, err := s.Table.Get(t.Context(),
		table.Key{Part: "v", Sort: fmt.Sprintf("log/%012d", first)})
	require.NoError(t, err)
	return it
}

// TestStrayRunBeforeALongTail checks a run that lost its race and seems to continue the head of a
// suspended process.
func TestStrayRunBeforeALongTail(t *testing.T) {
	s := newShelf(t)
	s.write(t, 4)
	sleeper := s.open(t)
	_, err := sleeper.Read(t.Context())
	require.NoError(t, err)
	kept := &keeper{Table: s.Table}
	other := *s
	other.Table = kept
	ctx, cancel := context.WithCancel(t.Context())
	kept.kept = cancel
	_, err = other.open(t).Update(ctx, caller(), edits(edit{"stray.md", "stray"}))
	require.Error(t, err)
	s.write(t, 1)
	s.empty(t)
	s.fill(t, 100) // the control item is beyond the first page of the tail
	require.NoError(t, s.Table.Commit(t.Context(), kept.ops...))
	require.True(t, told(t, s.vault) == told(t, sleeper))
}

// fill makes n commits, each of which takes at least 11 KB in the table.
func (s *shelf) fill(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		s.clock.Move(time.Second)
		change(t, s.vault, edit{fmt.Sprintf("large%d.md", i%5), noise(15<<10 + i)},
			edit{"log.md", fmt.Sprintf("large %d", i)})
	}
}

// A keeper is a table that records a commit instead of writing it.
type keeper struct {
	table.Table
	ops  []table.Op
	kept func()
}

// Commit implements table.Table.
func (k *keeper) Commit(_ context.Context, ops ...table.Op) error {
	k.ops = table.Clone(ops)
	k.kept()
	return errors.New("no answer")
}
