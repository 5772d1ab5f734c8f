package repo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/blob"
	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/repotest"
	"rookery/internal/table"
)

// A mute engine does not answer while it is told to.
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

// questions are the ways to ask a vault what is there.
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

// TestNoOldState holds that who cannot read the tail says so, however warm it is, and answers as soon as
// the tail can be read again (log.md §3).
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

// A watched table looks at the log before each Commit.
type watched struct {
	table.Table
	before func(ops []table.Op)
}

// Commit implements table.Table.
func (w watched) Commit(ctx context.Context, ops ...table.Op) error {
	w.before(ops)
	return w.Table.Commit(ctx, ops...)
}

// TestTheLowMarkRisesFirst holds that no item leaves the table before an hour is over, nor while the
// control item says that it is there.
func TestTheLowMarkRisesFirst(t *testing.T) {
	s := newShelf(t)
	removed := 0
	folder := *s
	folder.Table = watched{s.Table, func(ops []table.Op) {
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		for _, op := range ops {
			if seq, ok := strings.CutPrefix(op.Item.Sort, "log/0"); ok && op.Item.Data == nil {
				removed++
				require.LessOrEqual(t, "0"+seq, fmt.Sprintf("%012d", c.Low))
			}
		}
	}}
	s.write(t, 150)
	v := folder.open(t)
	pass := func() { require.NoError(t, v.Fold(t.Context(), repo.Folding{All: true})) }
	pass()
	s.clock.Move(time.Hour - time.Second)
	pass()
	require.Len(t, s.items(t), 151)
	require.Zero(t, removed)
	s.clock.Move(time.Second)
	pass()
	require.Empty(t, s.items(t))
	require.Equal(t, 151, removed)
}

// TestAnImageGoesForward holds that a process which comes late with an image does not put it in the place
// of a newer one, and that to name the same one twice is no write.
func TestAnImageGoesForward(t *testing.T) {
	s := newShelf(t)
	f := repo.Folding{All: true, Behind: []string{"checkout"}}
	control := func() repo.Control {
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		return c
	}
	s.write(t, 5)
	late, same := s.open(t), s.open(t)
	require.NoError(t, late.Fold(t.Context(), f), "it waits with the image of v6")
	s.write(t, 5)
	require.NoError(t, s.vault.Fold(t.Context(), f))
	require.NoError(t, same.Fold(t.Context(), f), "both wait with the image of v11")
	require.NoError(t, s.vault.Advance(t.Context(), "checkout", repo.Cursor{Seq: 11}))
	require.NoError(t, s.vault.Fold(t.Context(), f))
	require.EqualValues(t, 11, control().Image.Seq)
	before := control()
	require.NoError(t, same.Fold(t.Context(), f))
	require.Equal(t, before, control(), "no progress, no write")
	require.NoError(t, late.Fold(t.Context(), f))
	require.EqualValues(t, 11, control().Image.Seq)
	require.Equal(t, before, control(), "no way back")
}

// TestFoldedBetweenRuns holds that images and segments end where a run ends, though a consumer has come
// to the middle of one (log.md §3).
func TestFoldedBetweenRuns(t *testing.T) {
	s := newShelf(t)
	s.write(t, 3) // up to v4
	s.together(t, 4)
	f := repo.Folding{All: true, Behind: []string{"checkout"}}
	for at := uint64(5); at <= 9; at++ {
		require.NoError(t, s.vault.Advance(t.Context(), "checkout", repo.Cursor{Seq: at}))
		v := s.open(t)
		require.NoError(t, v.Fold(t.Context(), f))
		s.clock.Move(2 * time.Hour)
		require.NoError(t, v.Fold(t.Context(), f))
		c, err := s.vault.Control(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 9, c.Cursors["segments"].Seq)
		require.Equal(t, at == 9, c.Image != nil, "at v%d", at)
		require.Equal(t, at == 9, len(s.items(t)) == 0, "at v%d", at)
		require.True(t, told(t, s.vault) == told(t, s.open(t)))
	}
}

// together makes two runs: one of one commit, and one of n.
func (s *shelf) together(t *testing.T, n int) {
	t.Helper()
	g := newGate(s.Table)
	other := *s
	other.Table = g
	v, done := other.open(t), make(chan error, n+1)
	write := func(i int) {
		_, err := v.Update(t.Context(), caller(),
			edits(edit{fmt.Sprintf("t%d.md", i), "text"}, edit{"log.md", fmt.Sprintf("together %d", i)}))
		done <- err
	}
	go write(0)
	<-g.entered
	for i := range n {
		go write(i + 1)
	}
	queued(t, v, n)
	g.open()
	for range n + 1 {
		require.NoError(t, <-done)
	}
}

// TestForeignSegment holds that what lies in the place of a segment is not followed where it does not join
// the chain, whatever it is: nothing leaves the table for it. One that joins is as good as our own.
func TestForeignSegment(t *testing.T) {
	own := newShelf(t)
	own.write(t, 9)
	foreign := newShelf(t)
	foreign.write(t, 9)
	foreign.fold(t)
	const first = "segment/000000000001"
	segment := func(s *shelf) []byte {
		data, _, err := s.Bucket.Get(t.Context(), first, 0, -1)
		require.NoError(t, err)
		return data
	}
	for name, data := range map[string][]byte{
		"another log's": segment(foreign), "cut off": segment(foreign)[:200], "no segment": []byte("x"),
	} {
		_, err := own.Bucket.Put(t.Context(), first, data, blob.Always)
		require.NoError(t, err)
		v, want := own.open(t), told(t, own.vault)
		for range 2 {
			err = v.Fold(t.Context(), repo.Folding{All: true})
			require.True(t, fault.Is(err, fault.IndexError), "%s: %v", name, err)
			own.clock.Move(2 * time.Hour)
		}
		c, err := own.vault.Control(t.Context())
		require.NoError(t, err)
		require.Zero(t, c.Cursors["segments"], name)
		require.Len(t, own.items(t), 10, name)
		require.True(t, want == told(t, own.open(t)), name)
	}
	require.NoError(t, own.Bucket.Delete(t.Context(), first))
	own.fold(t)
	shorter := segment(own)
	own.write(t, 4)
	want := told(t, own.vault)
	twin := *own
	twin.Table = forgetting(t, own)
	v := twin.open(t)
	require.NoError(t, v.Fold(t.Context(), repo.Folding{All: true}))
	require.Equal(t, shorter, segment(own))
	require.Len(t, own.objects(t, "segment/"), 2)
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 14, c.Cursors["segments"].Seq)
	require.True(t, want == told(t, v))
}

// forgetting is the table of a vault whose control item was not written since it was made: a process that
// put a segment died before it could say so.
func forgetting(t *testing.T, s *shelf) table.Table {
	t.Helper()
	it, err := s.Table.Get(t.Context(), table.Key{Part: "v", Sort: "log/~"})
	require.NoError(t, err)
	next := it
	next.Data = []byte(`{"format":1,"rev":99,"made":"2026-11-21T09:00:00Z"}`)
	require.NoError(t, s.Table.Commit(t.Context(), table.Replace(it, next)))
	return s.Table
}

// TestNewerObjects holds that an image of a later release costs time and nothing else, and that a segment
// of one is INDEX_INCOMPATIBLE, and no damage.
func TestNewerObjects(t *testing.T) {
	s := newShelf(t)
	s.write(t, 9)
	s.empty(t)
	want := told(t, s.vault)
	images := s.objects(t, "image/")
	for _, key := range images {
		s.newer(t, key)
	}
	v := s.open(t)
	require.True(t, want == told(t, v), "from segments")
	require.NoError(t, v.Fold(t.Context(), repo.Folding{}))
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 10, c.Image.Seq)
	image, _, err := s.Bucket.Get(t.Context(), images[len(images)-1], 0, 99)
	require.NoError(t, err)
	require.Contains(t, string(image), `"format":1`, "the one that cannot be used was replaced")
	require.True(t, want == told(t, s.open(t)), "from an image of ours")

	for _, key := range append(images, s.objects(t, "image/")...) {
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}
	s.newer(t, "segment/000000000001")
	v = s.open(t)
	_, err = v.Read(t.Context())
	require.True(t, fault.Is(err, fault.IndexIncompatible), "%v", err)
	_, err = v.Verify(t.Context(), nil)
	require.True(t, fault.Is(err, fault.IndexIncompatible), "%v", err)
	_, err = v.Update(t.Context(), caller(), edits(edit{"x.md", "x"}))
	require.True(t, fault.Is(err, fault.IndexIncompatible), "%v", err)
}

// newer makes an object one of a later format: its head says so.
func (s *shelf) newer(t *testing.T, key string) {
	t.Helper()
	data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	data = repo.OtherHead(data, func(head []byte) []byte {
		return bytes.Replace(head, []byte(`"format":1`), []byte(`"format":9`), 1)
	})
	_, err = s.Bucket.Put(t.Context(), key, data, blob.Always)
	require.NoError(t, err)
}

// TestAheadByADay holds that a process whose clock is a day ahead stops nobody: its times are taken over,
// and what it folds for all holds the keys of all (log.md §2.5, §2.6).
func TestAheadByADay(t *testing.T) {
	s := newShelf(t)
	call := caller()
	call.Key = "once"
	_, err := s.vault.Update(t.Context(), call, edits(edit{"a.md", "a"}))
	require.NoError(t, err)
	ahead := *s
	ahead.clock = repotest.NewClock()
	ahead.clock.Move(30 * time.Hour)
	for _, harm := range []bool{false, true} {
		change(t, s.vault, edit{"d.md", fmt.Sprint(harm)})
		folder := ahead.open(t)
		_, err = folder.Read(t.Context())
		require.NoError(t, err)
		if harm { // it has the keys from the log
			for _, key := range s.objects(t, "image/") {
				require.NoError(t, s.Bucket.Delete(t.Context(), key))
			}
		}
		require.NoError(t, folder.Fold(t.Context(), repo.Folding{All: true}))
		v := s.open(t)
		r, err := v.Update(t.Context(), call, edits(edit{"a.md", "a"}))
		require.NoError(t, err)
		require.EqualValues(t, 2, r.Seq, "without images: %t", harm)
	}
	change(t, ahead.open(t), edit{"b.md", "b"})
	change(t, s.vault, edit{"c.md", "c"})
	idx, err := s.open(t).Read(t.Context())
	require.NoError(t, err)
	require.True(t, idx.Time().Equal(ahead.clock.Now().UTC()), "the later time is taken over")
	require.EqualValues(t, 6, idx.Version())
}

// TestTextsThatMoved holds that who has an index, and does not read the tail, finds its texts though they
// have left the table, and that a segment which is there again is found again.
func TestTextsThatMoved(t *testing.T) {
	s := newShelf(t)
	s.write(t, 9)
	v := s.opened(t, repo.NewTexts(1))
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	s.empty(t)
	read := func() error {
		for f := range idx.Files() {
			if _, err := v.Text(t.Context(), f.Body); err != nil {
				return err
			}
			for _, err := range v.Revisions(t.Context(), f.Path, f.Version) {
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	require.NoError(t, read())
	key := s.objects(t, "segment/")[0]
	data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	require.NoError(t, s.Bucket.Delete(t.Context(), key))
	require.True(t, fault.Is(read(), fault.IndexError))
	_, err = s.Bucket.Put(t.Context(), key, data, blob.Always)
	require.NoError(t, err)
	require.NoError(t, read())
}

// opened is the vault as a process has it with a cache of its own.
func (s *shelf) opened(t *testing.T, texts *repo.Texts) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: s.Table, Bucket: s.Bucket, Texts: texts, Now: s.clock.Now,
	})
	require.NoError(t, err)
	return v
}

// TestTextsAreBounded holds that the cache of texts has room for so many bytes and no more, and that the
// text which was used longest ago goes first (DESIGN §5).
func TestTextsAreBounded(t *testing.T) {
	s, m := newShelf(t), &mute{}
	bodies := map[string]index.Body{}
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		change(t, s.vault, edit{path, strings.Repeat(path, 250)})
	}
	late := *s
	late.Table = muteTable{s.Table, m}
	v := late.opened(t, repo.NewTexts(2<<10+512)) // two of the three
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	for f := range idx.Files() {
		bodies[f.Path] = f.Body
	}
	cached := func(path string) bool {
		m.table.Store(true)
		defer m.table.Store(false)
		_, err := v.Text(t.Context(), bodies[path])
		return err == nil
	}
	for _, path := range []string{"a.md", "b.md", "a.md", "c.md"} {
		_, err := v.Text(t.Context(), bodies[path])
		require.NoError(t, err)
	}
	require.True(t, cached("c.md"))
	require.True(t, cached("a.md"))
	require.False(t, cached("b.md"))
}

// TestUndoOverSegments holds that what is undone, and the history of a note, are found wherever they are.
func TestUndoOverSegments(t *testing.T) {
	s := newShelf(t)
	change(t, s.vault, edit{"a.md", "# A\n\none"}, edit{"b.md", "b"})
	change(t, s.vault, edit{"a.md", "# A\n\ntwo"}, edit{"b.md", ""})
	s.empty(t)
	change(t, s.vault, edit{"c.md", "c"})
	v := s.open(t)
	r, err := v.Reversal(t.Context(), 3)
	require.NoError(t, err)
	_, err = v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Reverse(ctx, r)
	})
	require.NoError(t, err)
	s.empty(t)
	v = s.open(t)
	history := func(path string) (all []string) {
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		f, ok := idx.File(path)
		require.True(t, ok)
		for r, err := range v.Revisions(t.Context(), path, f.Version) {
			require.NoError(t, err)
			all = append(all, fmt.Sprintf("v%d %s", r.Seq, r.Text))
		}
		return all
	}
	require.Equal(t, []string{"v5 # A\n\none", "v3 # A\n\ntwo", "v2 # A\n\none"}, history("a.md"))
	require.Equal(t, []string{"v5 b", "v3 ", "v2 b"}, history("b.md"))
}

// TestAsOfAMonth holds that the first image of each month is the one that stays, and that as-of begins from
// it: what came before is not read.
func TestAsOfAMonth(t *testing.T) {
	s := newShelf(t)
	states, firsts := map[uint64]string{}, map[time.Month]uint64{}
	for range 7 {
		s.write(t, 3)
		idx, err := s.vault.Read(t.Context())
		require.NoError(t, err)
		states[idx.Version()] = string(idx.AppendImage(nil))
		s.fold(t)
		if month := idx.Time().Month(); firsts[month] == 0 {
			firsts[month] = idx.Version()
		}
		s.clock.Move(12 * 24 * time.Hour)
	}
	s.empty(t)
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	kept := map[time.Month]uint64{}
	for _, i := range c.Images {
		kept[i.Time.Month()] = i.Seq
	}
	delete(firsts, c.Image.Time.Month())
	delete(kept, c.Image.Time.Month())
	require.Equal(t, firsts, kept)
	require.Len(t, kept, 3)
	require.NoError(t, s.Bucket.Delete(t.Context(), "segment/000000000001"))
	v := s.open(t)
	read := 0
	for version, want := range states {
		idx, err := v.At(t.Context(), version)
		if err != nil {
			continue // it lies before the first image, or is read from a segment that is gone
		}
		read++
		require.True(t, want == string(idx.AppendImage(nil)), "v%d", version)
	}
	require.Equal(t, 7, read, "the first segment ends with the first image")
}

// TestWhenFoldingIsDue holds that nothing is folded before 500 commits, unless they are 1 MB, and that an
// image which another has superseded stays for an hour.
func TestWhenFoldingIsDue(t *testing.T) {
	s := newShelf(t)
	pass := func() {
		require.NoError(t, s.vault.Fold(t.Context(), repo.Folding{}))
	}
	s.write(t, 498)
	pass()
	require.Empty(t, s.objects(t, "segment/"))
	require.Empty(t, s.objects(t, "image/"))
	s.write(t, 1)
	pass()
	require.Equal(t, []string{"segment/000000000001"}, s.objects(t, "segment/"))
	require.Len(t, s.objects(t, "image/"), 1, "the first of its month")
	for n := range 2 {
		s.fill(t, 100)
		pass()
		require.Len(t, s.objects(t, "segment/"), n+2)
		require.Len(t, s.objects(t, "image/"), n+2)
	}
	s.clock.Move(time.Hour - time.Second)
	pass()
	require.Len(t, s.objects(t, "image/"), 3)
	s.clock.Move(time.Second)
	pass()
	require.Len(t, s.objects(t, "image/"), 2, "the first of the month, and the one in force")
}

// TestKeeper holds that a vault which is kept folds by itself, also what is due when it is closed.
func TestKeeper(t *testing.T) {
	s := newShelf(t)
	k := s.vault.Keep(repo.KeeperOptions{Log: slog.New(slog.DiscardHandler)})
	s.write(t, 500)
	folded := func() uint64 {
		c, err := s.open(t).Control(t.Context())
		require.NoError(t, err)
		return c.Cursors["segments"].Seq
	}
	require.Eventually(t, func() bool { return folded() >= 500 }, time.Minute, 10*time.Millisecond)
	k.Close()
	k.Close()
	late := s.vault.Keep(repo.KeeperOptions{Log: slog.New(slog.DiscardHandler)})
	s.write(t, 500)
	late.Close()
	require.GreaterOrEqual(t, folded(), uint64(1000))
}
