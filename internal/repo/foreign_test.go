package repo_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/table"
)

// TestForeignSegment checks that an object in place of a segment that does not continue the chain
// is not used, and that nothing leaves the table for it. A segment of another process that
// continues the chain is used.
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
			err = v.Compact(t.Context(), eventlog.Compaction{All: true})
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
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	require.Equal(t, shorter, segment(own))
	require.Len(t, own.objects(t, "segment/"), 2)
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 14, c.Cursors["segments"].Seq)
	require.True(t, want == told(t, v))
}

// forgetting returns the table of a vault with its first control item, as if a process had written
// a segment and exited before it updated the item.
func forgetting(t *testing.T, s *shelf) table.Table {
	t.Helper()
	it, err := s.Table.Get(t.Context(), table.Key{Part: "v", Sort: "log/~"})
	require.NoError(t, err)
	next := it
	next.Data = []byte(`{"format":1,"rev":99,"made":"2026-11-21T09:00:00Z"}`)
	require.NoError(t, s.Table.Commit(t.Context(), table.Replace(it, next)))
	return s.Table
}

// TestNewerObjects checks that an image of a later release costs only time, and that a segment of
// one is INDEX_INCOMPATIBLE, not damage.
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
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{}))
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

// newer changes the format in the head of an object to a later one.
func (s *shelf) newer(t *testing.T, key string) {
	t.Helper()
	data, _, err := s.Bucket.Get(t.Context(), key, 0, -1)
	require.NoError(t, err)
	data = otherHead(data, func(head []byte) []byte {
		return bytes.Replace(head, []byte(`"format":1`), []byte(`"format":9`), 1)
	})
	_, err = s.Bucket.Put(t.Context(), key, data, blob.Always)
	require.NoError(t, err)
}

// TestAheadByADay checks that a process whose clock is a day ahead blocks no others: its times are
// adopted, and its images contain the idempotency keys of all (log.md §2.5, §2.6).
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
		require.NoError(t, folder.Compact(t.Context(), eventlog.Compaction{All: true}))
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
