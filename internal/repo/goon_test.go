package repo_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A witness is a follower that records the commits that it gets.
type witness struct {
	told  []uint64
	after *index.Index
}

func (*witness) Guard(context.Context, vault.Path, *index.File) error { return nil }
func (*witness) Settled(context.Context)                              {}
func (*witness) Unread(string) (repo.LeftFile, bool)                  { return repo.LeftFile{}, false }

func (w *witness) Applied(_, after *index.Index, c *eventlog.Commit) {
	w.told, w.after = append(w.told, c.Seq), after
}

// requireAsRead requires that a vault has the state that a new process reads, and that a search
// finds needle.
func requireAsRead(t *testing.T, s *shelf, needle string) {
	t.Helper()
	fresh, err := s.open(t).Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, fresh.AppendImage(nil), s.vault.Known().AppendImage(nil))
	found, err := s.vault.Searchable(t.Context())
	require.NoError(t, err)
	require.Equal(t, fresh.Version(), found.Index.Version())
	r, err := found.Search.Search(search.ParseQuery(needle), search.Options{})
	require.NoError(t, err)
	require.Len(t, r.Items, 1, "%s is found", needle)
}

// TestGoingOnFromAnImage checks that a vault whose state is replaced by that of its image is
// unchanged, also if commits came in between, and that followers get each commit once.
func TestGoingOnFromAnImage(t *testing.T) {
	s := newShelf(t)
	w := &witness{}
	s.vault.Follow(w, 1)
	s.write(t, 20)
	for i := range 4 {
		before := s.vault.Known()
		require.NoError(t, s.vault.GoOn(t.Context(), func() { s.write(t, i*3) }))
		require.NotSame(t, before, s.vault.Known())
		needle := fmt.Sprint("needle", i)
		change(t, s.vault, edit{needle + ".md", "a " + needle})
		requireAsRead(t, s, needle)
	}
	last := s.vault.Known().Version()
	require.Equal(t, last, w.after.Version())
	require.Len(t, w.told, int(last)-1)
	require.True(t, slices.IsSorted(w.told))
}

// TestGoingOnBeforeALargeCommit checks that a state is replaced although a large commit came
// meanwhile or is being made, and that a very large one is not applied twice: then the state is
// kept, and the search indexes belong to it.
func TestGoingOnBeforeALargeCommit(t *testing.T) {
	s := newShelf(t)
	s.write(t, 5)
	noise := func(word string, notes int) (all []edit) {
		r := rand.NewChaCha8([32]byte{})
		for i := range notes {
			data := make([]byte, 500<<10)
			_, err := r.Read(data)
			require.NoError(t, err)
			all = append(all, edit{fmt.Sprintf("large%d.md", i), hex.EncodeToString(data)})
		}
		return append(all, edit{"word.md", "a " + word})
	}
	var after *index.Index
	require.NoError(t, s.vault.GoOn(t.Context(), func() {
		change(t, s.vault, noise("needle", 1)...)
		after = s.vault.Known()
	}))
	require.NotSame(t, after, s.vault.Known())
	requireAsRead(t, s, "needle")
	now := s.vault.Known()
	_, err := s.vault.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		require.NoError(t, s.vault.GoOn(ctx, func() {}))
		return nil, tx.Put(ctx, "word.md", []byte("a thread"))
	})
	require.NoError(t, err)
	requireNewNotes(t, now, s.vault.Known())
	requireAsRead(t, s, "thread")
	require.NoError(t, s.vault.GoOn(t.Context(), func() {
		change(t, s.vault, noise("ribbon", 5)...)
		after = s.vault.Known()
	}))
	require.Same(t, after, s.vault.Known())
	requireAsRead(t, s, "ribbon")
}

// requireNewNotes requires that a state shares no note in memory with an old one.
func requireNewNotes(t *testing.T, old, now *index.Index) {
	t.Helper()
	for n := range now.Notes("") {
		if was, ok := old.Note(n.Path); ok {
			require.NotSame(t, was, n, n.Path)
		}
	}
}

// TestNothingPinsAnOldState checks that a replaced state becomes garbage, even if others wrote and
// searched meanwhile and memories were searched in a vault without any.
func TestNothingPinsAnOldState(t *testing.T) {
	s := newShelf(t)
	s.write(t, 50)
	_, err := s.vault.SearchableMemories(t.Context())
	require.NoError(t, err)
	_, err = s.vault.Searchable(t.Context())
	require.NoError(t, err)
	old := weak.Make(s.vault.Known())
	require.NoError(t, s.vault.GoOn(t.Context(), func() {
		change(t, s.vault, edit{"a.md", "a needle"})
		_, err = s.vault.Searchable(t.Context())
		require.NoError(t, err)
	}))
	require.Eventually(t, func() bool {
		runtime.GC()
		return old.Value() == nil
	}, time.Minute, time.Millisecond)
	requireAsRead(t, s, "needle")
}

// A tracked bucket counts the large sections of images that were read from it and are not garbage
// yet. The idempotency keys are small, and may stay.
type tracked struct {
	blob.Bucket
	held *atomic.Int64
}

func (b *tracked) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	data, tag, err := b.Bucket.Get(ctx, key, off, n)
	if strings.HasPrefix(key, "image/") && len(data) > 4096 {
		b.held.Add(1)
		runtime.AddCleanup(&data[0], func(held *atomic.Int64) { held.Add(-1) }, b.held)
	}
	return data, tag, err
}

// TestNothingPinsAnOldImage checks that the image from which a state was read becomes garbage with the
// state, although the index, and the paths and references of its notes, share its memory.
func TestNothingPinsAnOldImage(t *testing.T) {
	s := newShelf(t)
	s.write(t, 50)
	var large []edit
	random := rand.NewChaCha8([32]byte{})
	for i := range 150 {
		text := make([]byte, 500)
		_, err := random.Read(text)
		require.NoError(t, err)
		large = append(large, edit{fmt.Sprintf("large/%d.md", i), "[[a reference]] " + hex.EncodeToString(text)})
	}
	change(t, s.vault, large...)
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{All: true}))
	images := &tracked{s.Bucket, new(atomic.Int64)}
	s.Bucket = images
	s.vault = s.open(t)
	idx, err := s.vault.Read(t.Context())
	require.NoError(t, err)
	_, err = s.vault.Searchable(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 2, images.held.Load(), "the state, and the search index")
	for n := range idx.Notes("") {
		for _, err := range s.vault.Revisions(t.Context(), n.Path, n.Version) {
			require.NoError(t, err)
		}
		change(t, s.vault, edit{n.Path, "a thread of [[a reference]]"})
	}
	_, err = s.vault.Searchable(t.Context())
	require.NoError(t, err)
	old := images.held
	images.held = new(atomic.Int64)
	require.NoError(t, s.vault.GoOn(t.Context(), func() {
		for n := range idx.Notes("") {
			change(t, s.vault, edit{n.Path, "a needle of [[a reference]] in " + n.Path})
		}
	}))
	idx = nil
	require.Eventually(t, func() bool {
		runtime.GC()
		return old.Load() == 0
	}, 5*time.Second, time.Millisecond)
	runtime.KeepAlive(s)
}

// TestGoingOnFromAnImageThatWasErased checks that a vault stays as it is if its new image is deleted
// before it is read, as an erasure does.
func TestGoingOnFromAnImageThatWasErased(t *testing.T) {
	s := newShelf(t)
	s.write(t, 20)
	before := s.vault.Known()
	require.NoError(t, s.vault.GoOn(t.Context(), func() {
		for o, err := range s.Bucket.List(t.Context(), "image/") {
			require.NoError(t, err)
			require.NoError(t, s.Bucket.Delete(t.Context(), o.Key))
		}
	}))
	require.Same(t, before, s.vault.Known())
	change(t, s.vault, edit{"needle.md", "a needle"})
	requireAsRead(t, s, "needle")
}

// TestGoingOnWhileACallWrites checks that a write that began on a state that is replaced meanwhile
// is included in the new state.
func TestGoingOnWhileACallWrites(t *testing.T) {
	s := newShelf(t)
	s.write(t, 20)
	before := s.vault.Known()
	_, err := s.vault.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		require.NoError(t, s.vault.GoOn(ctx, func() {}))
		return nil, tx.Put(ctx, "needle.md", []byte("a needle"))
	})
	require.NoError(t, err)
	require.Equal(t, before.Version()+1, s.vault.Known().Version())
	old, ok := before.Note("log.md")
	require.True(t, ok)
	now, ok := s.vault.Known().Note("log.md")
	require.True(t, ok)
	require.NotSame(t, old, now, "the state goes on from the image")
	requireAsRead(t, s, "needle")
}

// TestTextsOfALargeRunAreOnePiece checks that the texts of an import are cached as one block when
// one of them is read, so that they are not scattered over the heap.
func TestTextsOfALargeRunAreOnePiece(t *testing.T) {
	s := newShelf(t)
	var edits []edit
	for i := range 150 {
		edits = append(edits, edit{fmt.Sprintf("n%d.md", i), fmt.Sprintf("# N %d\n%0500d\n", i, i)})
	}
	change(t, s.vault, edits...)
	v := s.open(t)
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	read := func(i int) []byte {
		n, ok := idx.Note(fmt.Sprintf("n%d.md", i))
		require.True(t, ok)
		text, err := v.Text(t.Context(), n.Body)
		require.NoError(t, err)
		require.Equal(t, edits[i].text, string(text))
		return text
	}
	read(7)
	require.Equal(t, 1, v.CachedTexts())
	for i := range edits {
		require.Same(t, &read(i)[0], &read(i)[0])
	}
	require.Equal(t, 1, v.CachedTexts())
}

// TestAnImageThatIsWanted checks that a wanted image is written once, if there are commits after
// the last one.
func TestAnImageThatIsWanted(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3)
	pass := func() *eventlog.Image {
		require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		return c.Image
	}
	require.Nil(t, pass(), "too little came")
	s.vault.WantImage()
	first := pass()
	require.Equal(t, uint64(4), first.Seq)
	s.write(t, 3)
	require.Equal(t, first.Seq, pass().Seq)
}
