package repo_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// A mute engine does not respond while it is told not to.
type mute struct {
	table  atomic.Bool // no Query and no Get
	bucket atomic.Bool // no Get
}

var errMute = errors.New("no answer")

type muteTable struct {
	table.Table
	*mute
}

// Query implements table.Table.
func (m muteTable) Query(
	ctx context.Context, part, from, to string,
) iter.Seq2[table.Item, error] {
	if m.table.Load() {
		return func(yield func(table.Item, error) bool) { yield(table.Item{}, errMute) }
	}
	return m.Table.Query(ctx, part, from, to)
}

// Get implements table.Table.
func (m muteTable) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if m.table.Load() {
		return table.Item{}, errMute
	}
	return m.Table.Get(ctx, k)
}

type muteBucket struct {
	blob.Bucket
	*mute
}

// Get implements blob.Bucket.
func (m muteBucket) Get(
	ctx context.Context, key string, off, n int64,
) ([]byte, blob.Tag, error) {
	if m.bucket.Load() {
		return nil, "", errMute
	}
	return m.Bucket.Get(ctx, key, off, n)
}

// questions returns the read operations of a vault by name.
func questions(v *repo.Vault) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"read":   func(ctx context.Context) error { _, err := v.Read(ctx); return err },
		"status": func(ctx context.Context) error { _, err := v.Status(ctx); return err },
		"search": func(ctx context.Context) error { _, err := v.Searchable(ctx); return err },
		"as of":  func(ctx context.Context) error { _, err := v.At(ctx, 1); return err },
		"search as of": func(ctx context.Context) error {
			_, err := v.SearchableAt(ctx, 1)
			return err
		},
		"when": func(ctx context.Context) error {
			_, err := v.VersionAt(ctx, time.Unix(1, 0))
			return err
		},
		"commit":  func(ctx context.Context) error { _, err := v.Commit(ctx, 1); return err },
		"undo":    func(ctx context.Context) error { _, err := v.Reversal(ctx, 2); return err },
		"control": func(ctx context.Context) error { _, err := v.Control(ctx); return err },
		"rebuild": func(ctx context.Context) error { _, err := v.Rebuild(ctx, false); return err },
		"write": func(ctx context.Context) error {
			_, err := v.Update(ctx, caller(), edits(edit{"x.md", "x"}))
			return err
		},
	}
}

// TestNoOldState checks that a process that cannot read the tail returns an error, even with a
// state in memory, and recovers as soon as the tail can be read (log.md §3).
func TestNoOldState(t *testing.T) {
	s, m := newShelf(t), &mute{}
	s.write(t, 9)
	s.empty(t)
	s.write(t, 2)
	late := *s
	late.Engine = repotest.Engine{Table: muteTable{s.Table, m}, Bucket: muteBucket{s.Bucket, m}}
	v := late.open(t)
	for name, ask := range questions(v) {
		require.NoError(t, ask(t.Context()), name)
	}
	m.table.Store(true)
	for name, ask := range questions(v) {
		err := ask(t.Context())
		require.True(t, fault.Is(err, fault.Unavailable), "%s: %v", name, err)
	}
	require.Error(t, questions(late.open(t))["read"](t.Context()), "one that starts")
	m.table.Store(false)
	change(t, s.vault, edit{"spilled.md", noise(60 << 10)})
	m.bucket.Store(true)
	for _, name := range []string{"read", "search", "write"} {
		err := questions(v)[name](t.Context())
		require.True(t, fault.Is(err, fault.Unavailable), "%s: a payload: %v", name, err)
	}
	m.bucket.Store(false)
	for name, ask := range questions(v) {
		require.NoError(t, ask(t.Context()), name)
	}
}

// TestAGapMeansTheImage checks that a process that misses a run continues from the image, if that
// is after the run, and reports damage otherwise (log.md §3).
func TestAGapMeansTheImage(t *testing.T) {
	s := newShelf(t)
	s.write(t, 4)
	sleeper, late := s.open(t), s.open(t)
	for _, v := range []*repo.Vault{sleeper, late} {
		_, err := v.Read(t.Context())
		require.NoError(t, err)
	}
	s.write(t, 7)
	s.fold(t)
	s.write(t, 3)
	lose := func(sort string) {
		require.NoError(t, s.Table.Commit(t.Context(), table.Remove(table.Key{Part: "v", Sort: sort})))
	}
	lose("log/000000000008")
	require.True(t, told(t, s.vault) == told(t, sleeper))
	lose("log/000000000014")
	for name, v := range map[string]*repo.Vault{"sleeps": late, "starts": s.open(t)} {
		_, err := v.Read(t.Context())
		require.True(t, fault.Is(err, fault.IndexError), "one that %s: %v", name, err)
		require.ErrorContains(t, err, "v1")
	}
}

// TestKeysThatCannotBeRead checks that a call with a key does not run before it is known whether
// the key was used (log.md §2.6).
func TestKeysThatCannotBeRead(t *testing.T) {
	s, m := newShelf(t), &mute{}
	call := caller()
	call.Key = "once"
	update := func(v *repo.Vault) (repo.Receipt, error) {
		return v.Update(t.Context(), call, edits(edit{"a.md", "a"}))
	}
	_, err := update(s.vault)
	require.NoError(t, err)
	s.write(t, 5)
	s.empty(t)
	late := *s
	late.Engine = repotest.Engine{Table: s.Table, Bucket: muteBucket{s.Bucket, m}}
	unread, unanswered := late.open(t), late.open(t)
	for _, v := range []*repo.Vault{unread, unanswered} {
		_, err := v.Read(t.Context())
		require.NoError(t, err)
	}
	other := caller()
	other.Key = "another"
	_, err = unanswered.Update(t.Context(), other, edits(edit{"b.md", "b"}))
	require.NoError(t, err, "its keys are known from here on")
	m.bucket.Store(true)
	for _, v := range []*repo.Vault{unread, unanswered} {
		_, err := update(v)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	}
	m.bucket.Store(false)
	for _, v := range []*repo.Vault{unread, unanswered} {
		r, err := update(v)
		require.NoError(t, err)
		require.EqualValues(t, 2, r.Seq)
		require.NotNil(t, r.Replayed)
	}
}
