package repo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A shelf is a vault whose log is compacted, and the clock of all processes that have it open.
type shelf struct {
	repotest.Engine
	clock *repotest.Clock
	vault *repo.Vault
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{Engine: engine(t), clock: repotest.NewClock()}
	s.vault = s.open(t)
	require.NoError(t, s.vault.Create(t.Context(), caller(), nil))
	return s
}

// open opens the vault as a process that has just started.
func (s *shelf) open(t *testing.T) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: s.Table, Bucket: s.Bucket, Texts: repo.NewTexts(1 << 20),
		Now: s.clock.Now, ImageItems: s.Items,
	})
	require.NoError(t, err)
	return v
}

// write makes n commits, each of which changes two of seven notes.
func (s *shelf) write(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		s.clock.Move(time.Second)
		change(t, s.vault,
			edit{fmt.Sprintf("n%d.md", i%7), fmt.Sprintf("# N\n\n@due(2026-11-2%d) line %d", i%9, i)},
			edit{"log.md", fmt.Sprintf("commit %d, see [[n%d]]", i, i%7)})
	}
}

// fold makes one pass that compacts everything.
func (s *shelf) fold(t *testing.T) {
	t.Helper()
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{All: true}))
}

// empty compacts everything, and removes the items from the table.
func (s *shelf) empty(t *testing.T) {
	t.Helper()
	s.fold(t)
	s.clock.Move(61 * time.Minute)
	s.fold(t)
	require.Empty(t, s.items(t))
}

// items returns the keys of the runs in the table.
func (s *shelf) items(t *testing.T) []string {
	t.Helper()
	var keys []string
	for it, err := range s.Table.Query(t.Context(), "v", "log/0", "log/9") {
		require.NoError(t, err)
		keys = append(keys, it.Sort)
	}
	return keys
}

// objects returns the keys of the objects under a prefix.
func (s *shelf) objects(t *testing.T, prefix string) []string {
	t.Helper()
	var keys []string
	for o, err := range s.Bucket.List(t.Context(), prefix) {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

// told returns the complete observable state of a vault: its encoded index, its texts, its history,
// and the result of a search.
func told(t *testing.T, v *repo.Vault) string {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	var b strings.Builder
	b.Write(idx.AppendImage(nil))
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s %s\n", f.Path, text)
	}
	for lines, err := range v.AuditLog(t.Context()) {
		require.NoError(t, err)
		b.Write(lines)
	}
	for r, err := range v.Revisions(t.Context(), "log.md", idx.Version()) {
		require.NoError(t, err)
		fmt.Fprintf(&b, "%d %s\n", r.Seq, r.Text)
	}
	fmt.Fprint(&b, found(t, v, "line"), found(t, v, "commit"))
	return b.String()
}

func TestFoldedIsTheSame(t *testing.T) {
	s := newShelf(t)
	s.write(t, 40)
	want := told(t, s.vault)
	requireSame := func(what string) {
		t.Helper()
		require.True(t, want == told(t, s.vault), "the one that is open: %s", what)
		require.True(t, want == told(t, s.open(t)), "one that starts: %s", what)
	}
	s.fold(t)
	requireSame("folded")
	require.NotEmpty(t, s.items(t))
	s.clock.Move(61 * time.Minute)
	s.fold(t)
	requireSame("the items are gone")
	require.Empty(t, s.items(t))
	for _, key := range s.objects(t, "image/") {
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}
	requireSame("the images are gone")
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	_, err := s.vault.Rebuild(t.Context(), true)
	require.NoError(t, err)
	requireSame("made anew from segments")
}

// TestStartReadsAnImage checks that a start reads the control item, the image and the tail, but no
// segment and no run before the image.
func TestStartReadsAnImage(t *testing.T) {
	s := newShelf(t)
	s.write(t, 30)
	s.empty(t)
	s.write(t, 3)
	for _, key := range s.objects(t, "segment/") {
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}
	idx, err := s.open(t).Read(t.Context())
	require.NoError(t, err)
	want, err := s.vault.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.AppendImage(nil), idx.AppendImage(nil))
	require.Len(t, s.items(t), 3)
}

// TestImageIsMadeAnew checks that a missing or damaged image costs only time, and that the next
// pass writes another one.
func TestImageIsMadeAnew(t *testing.T) {
	for name, harm := range map[string]func(*shelf, string) error{
		"gone": func(s *shelf, key string) error {
			return s.Bucket.Delete(context.Background(), key)
		},
		"cut off":  func(s *shelf, key string) error { return s.cut(key, 3000) },
		"no image": func(s *shelf, key string) error { return s.cut(key, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.write(t, 20)
			s.empty(t)
			want := told(t, s.vault)
			images := s.objects(t, "image/")
			require.NoError(t, harm(s, images[len(images)-1]))
			s.vault = s.open(t)
			require.True(t, want == told(t, s.vault))
			require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
			require.Equal(t, images, s.objects(t, "image/"))
			for _, key := range s.objects(t, "segment/") {
				require.NoError(t, s.Bucket.Delete(t.Context(), key))
			}
			_, err := s.open(t).Read(t.Context())
			require.NoError(t, err, "the new image is as good as the old one")
		})
	}
}

// cut truncates an object to its first n bytes.
func (s *shelf) cut(key string, n int64) error {
	data, _, err := s.Bucket.Get(context.Background(), key, 0, n)
	if err == nil {
		_, err = s.Bucket.Put(context.Background(), key, data, blob.Always)
	}
	return err
}

// TestSleeper checks that a process that was suspended while the log left the table continues, and
// so do its readers of texts.
func TestSleeper(t *testing.T) {
	s := newShelf(t)
	s.write(t, 10)
	sleeper := s.open(t)
	_, err := sleeper.Searchable(t.Context())
	require.NoError(t, err)
	s.write(t, 30)
	s.empty(t)
	require.True(t, told(t, s.vault) == told(t, sleeper))
	s.write(t, 2)
	require.True(t, told(t, s.vault) == told(t, sleeper))
}

// TestStrayItem checks that an item that arrives late, after the low mark passed it, is ignored and
// deleted by the next sweep.
func TestStrayItem(t *testing.T) {
	s := newShelf(t)
	s.write(t, 10)
	stray, err := s.Table.Get(t.Context(), table.Key{Part: "v", Sort: "log/000000000004"})
	require.NoError(t, err)
	s.empty(t)
	want := told(t, s.vault)
	require.NoError(t, s.Table.Commit(t.Context(), table.Create(stray)))
	require.True(t, want == told(t, s.vault))
	require.True(t, want == told(t, s.open(t)))
	s.clock.Move(25 * time.Hour)
	s.fold(t)
	require.Empty(t, s.items(t))
}

// TestKeyOfAnImage checks that idempotency keys are read from the image and, if that cannot be
// read, from the log.
func TestKeyOfAnImage(t *testing.T) {
	for name, harm := range map[string]func(*testing.T, *shelf){
		"image": func(*testing.T, *shelf) {},
		"log": func(t *testing.T, s *shelf) {
			for _, key := range s.objects(t, "image/") {
				require.NoError(t, s.Bucket.Delete(t.Context(), key))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			c := caller()
			c.Key = "once"
			_, err := s.vault.Update(t.Context(), c, edits(edit{"a.md", "a"}))
			require.NoError(t, err)
			s.write(t, 5)
			s.empty(t)
			v := s.open(t)
			_, err = v.Read(t.Context())
			require.NoError(t, err)
			harm(t, s)
			r, err := v.Update(t.Context(), c, edits(edit{"a.md", "a"}))
			require.NoError(t, err)
			require.EqualValues(t, 2, r.Seq)
			require.NotNil(t, r.Replayed)
		})
	}
}

// TestAsOfFromAnImage checks that a past state is built from the newest image before it.
func TestAsOfFromAnImage(t *testing.T) {
	s := newShelf(t)
	at := map[uint64]string{}
	for range 4 {
		s.write(t, 7)
		idx, err := s.vault.Read(t.Context())
		require.NoError(t, err)
		at[idx.Version()] = string(idx.AppendImage(nil))
		s.fold(t)
	}
	s.empty(t)
	v := s.open(t)
	for version, want := range at {
		idx, err := v.At(t.Context(), version)
		require.NoError(t, err)
		require.True(t, want == string(idx.AppendImage(nil)), "v%d", version)
		r, err := v.SearchableAt(t.Context(), version-3)
		require.NoError(t, err)
		require.Equal(t, version-3, r.Index.Version())
		when, err := v.VersionAt(t.Context(), idx.Time())
		require.NoError(t, err)
		require.Equal(t, version, when)
		c, err := v.Commit(t.Context(), version)
		require.NoError(t, err)
		require.Equal(t, version, c.Seq)
	}
}

// TestSearchAsOfFromAnImage checks that a search of an earlier version returns the same with and
// without an image.
func TestSearchAsOfFromAnImage(t *testing.T) {
	s := newShelf(t)
	s.write(t, 20)
	s.fold(t)
	s.write(t, 9)
	change(t, s.vault, edit{"n3.md", ""}, edit{"new.md", "another commit"})
	s.write(t, 4)
	s.empty(t)
	search := func() (all []string) {
		v := s.open(t)
		for version := uint64(20); version <= 35; version += 3 {
			r, err := v.SearchableAt(t.Context(), version)
			require.NoError(t, err)
			for _, query := range []string{"line", "commit", "another", "16"} {
				all = append(all, hits(t, r.Search, query)...)
			}
		}
		return all
	}
	want := search()
	for _, key := range s.objects(t, "image/") {
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}
	require.Equal(t, want, search())
	require.NotEmpty(t, want)
}

// TestImagesOfMonths checks that the first image of a month is kept, and that the others are
// deleted an hour after they were superseded.
func TestImagesOfMonths(t *testing.T) {
	s := newShelf(t)
	for range 6 {
		s.write(t, 3)
		s.fold(t)
		s.clock.Move(10 * 24 * time.Hour)
	}
	s.fold(t)
	s.write(t, 1)
	s.fold(t)
	s.clock.Move(2 * time.Hour)
	s.fold(t)
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	months := map[time.Month]int{}
	for _, i := range c.Images {
		months[i.Time.Month()]++
	}
	require.Equal(t, map[time.Month]int{time.November: 1, time.December: 1, time.January: 1}, months)
	require.Len(t, s.objects(t, "image/"), len(c.Images)+1)
}

// TestFoldingWaitsForFollowers checks that images and the removal of items wait for followers.
func TestFoldingWaitsForFollowers(t *testing.T) {
	s := newShelf(t)
	s.write(t, 10)
	f := eventlog.Compaction{All: true, Behind: []string{"checkout"}}
	require.NoError(t, s.vault.Compact(t.Context(), f))
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	require.Nil(t, c.Image)
	s.clock.Move(2 * time.Hour)
	require.NoError(t, s.vault.Compact(t.Context(), f))
	require.Len(t, s.items(t), 11)
	require.NoError(t, s.vault.Advance(t.Context(), "checkout", eventlog.Cursor{Seq: 11}))
	require.NoError(t, s.vault.Compact(t.Context(), f))
	c, err = s.vault.Control(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 11, c.Image.Seq)
	s.clock.Move(2 * time.Hour)
	require.NoError(t, s.vault.Compact(t.Context(), f))
	require.Empty(t, s.items(t))
}

// TestLeftoverPayloads checks that payloads that no run in the table refers to are deleted after a
// day.
func TestLeftoverPayloads(t *testing.T) {
	s := newShelf(t)
	s.clock.Move(time.Since(s.clock.Now())) // objects have file system times
	change(t, s.vault, edit{"big.md", noise(60 << 10)})
	_, err := s.Bucket.Put(t.Context(), "payload/000000000009-LOST.zst", []byte("x"), blob.Always)
	require.NoError(t, err)
	require.Len(t, s.objects(t, "payload/"), 2)
	s.clock.Move(25 * time.Hour)
	require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
	require.Len(t, s.objects(t, "payload/"), 1, "the one that a run names stays")
	s.write(t, 1)
	want := told(t, s.vault)
	s.empty(t)
	s.clock.Move(25 * time.Hour)
	s.fold(t)
	require.Empty(t, s.objects(t, "payload/"))
	require.True(t, want == told(t, s.open(t)))
}

// TestSegmentLostEarly checks that a segment that is deleted while its items are in the table is
// written again before they leave.
func TestSegmentLostEarly(t *testing.T) {
	s := newShelf(t)
	for range 3 {
		s.write(t, 8)
		s.fold(t)
	}
	want := told(t, s.vault)
	segments := s.objects(t, "segment/")
	require.Len(t, segments, 3)
	for _, lost := range [][]string{segments[1:2], segments} {
		for _, key := range append(lost, s.objects(t, "image/")...) {
			require.NoError(t, s.Bucket.Delete(t.Context(), key))
		}
		v := s.open(t)
		require.True(t, want == told(t, v))
		_, err := v.Rebuild(t.Context(), true)
		require.NoError(t, err)
	}
	s.vault = s.open(t)
	s.empty(t)
	require.NotEmpty(t, s.objects(t, "segment/"))
	require.True(t, want == told(t, s.vault))
	require.True(t, want == told(t, s.open(t)))
}

// TestFoldingAtOnce checks that a repeated pass does nothing, and that several processes may make
// passes at once.
func TestFoldingAtOnce(t *testing.T) {
	s := newShelf(t)
	s.write(t, 40)
	want := told(t, s.vault)
	errs := make(chan error)
	for range 4 {
		v := s.open(t)
		go func() { errs <- v.Compact(context.Background(), eventlog.Compaction{All: true}) }()
	}
	for range 4 {
		require.NoError(t, <-errs)
	}
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	s.fold(t)
	again, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	require.Equal(t, c, again, "no progress, no write")
	require.Len(t, s.objects(t, "segment/"), 1)
	require.True(t, want == told(t, s.open(t)))
}

// TestWriteBehindTheLowMark checks that a vault without items in the table can be written: a Tx
// reads segments.
func TestWriteBehindTheLowMark(t *testing.T) {
	s := newShelf(t)
	s.write(t, 12)
	s.empty(t)
	v := s.open(t)
	_, err := v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		old, ok, err := tx.Text(ctx, vault.Path("log.md"))
		if err != nil || !ok {
			return nil, fmt.Errorf("no text: %w", err)
		}
		return nil, tx.Put(ctx, "log.md", append(old, " and more"...))
	})
	require.NoError(t, err)
	require.True(t, told(t, s.vault) == told(t, v))
}
