package repo_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// TestTextOfALargeCommit checks that reading one of many texts of a commit that do not fit in the
// cache together costs about one frame of its payload, and that the payload is read once.
func TestTextOfALargeCommit(t *testing.T) {
	large := newLargeCommit(t)
	each := large.costs(t, func(i int, f *index.File) {
		got, err := large.vault.Text(t.Context(), f.Body)
		require.NoError(t, err)
		require.Equal(t, large.text(i), string(got))
	})
	require.Less(t, each, uint64(1<<20)) // all texts together are 4 MiB
}

// TestHistoryOfALargeCommit checks the same for the changes of the notes in the commit, none of
// which is cached.
func TestHistoryOfALargeCommit(t *testing.T) {
	large := newLargeCommit(t)
	each := large.costs(t, func(i int, f *index.File) {
		times := 0
		for r, err := range large.vault.Revisions(t.Context(), f.Path, f.Version) {
			require.NoError(t, err)
			require.Equal(t, f.Path, r.Path)
			require.Equal(t, f.Version, r.Seq)
			require.Equal(t, index.DigestOf([]byte(large.text(i))), r.Digest)
			times++
		}
		require.Equal(t, 1, times)
	})
	require.Less(t, each, uint64(1<<20))
}

// TestFirstHistoryOfALargeCommit checks that the first history that a process reads from a large
// commit does not unpack all of it: it costs the packed commit and a frame for the newest change of
// a note, and a buffer for further frames for an earlier one.
func TestFirstHistoryOfALargeCommit(t *testing.T) {
	large := newLargeCommit(t)
	change(t, large.vault, edit{"n123.md", "edited"})
	for path, changes := range map[string]int{"n322.md": 1, "n123.md": 2} {
		v := large.open(t)
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		f, ok := idx.File(path)
		require.True(t, ok)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		for _, err := range v.Revisions(t.Context(), path, f.Version) {
			require.NoError(t, err)
			n++
		}
		runtime.ReadMemStats(&after)
		require.Equal(t, changes, n)
		t.Logf("%s: %d KiB", path, (after.TotalAlloc-before.TotalAlloc)>>10)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20)) // all texts together are 4 MiB
	}
}

// TestHistoryOfADamagedPayload checks that the history of a note is read from a segment if the
// payload of its large commit is damaged or lost, whether the note was edited since or not.
func TestHistoryOfADamagedPayload(t *testing.T) {
	s := newShelf(t)
	var edits []edit
	for i := range 50 {
		edits = append(edits, edit{fmt.Sprintf("n%02d.md", i), fmt.Sprintf("note %d\n%s", i, noise(8<<10))})
	}
	change(t, s.vault, edits...)
	change(t, s.vault, edit{"n20.md", "edited"})
	s.fold(t)
	keys := s.objects(t, "payload/")
	require.Len(t, keys, 1)
	for _, c := range []struct {
		name   string
		damage func() error
	}{
		{"intact", func() error { return nil }},
		{"damaged", func() error {
			data, _, err := s.Bucket.Get(t.Context(), keys[0], 0, -1)
			require.NoError(t, err)
			for i := len(data) / 4; i < len(data); i += 1 << 10 {
				data[i]++
			}
			_, err = s.Bucket.Put(t.Context(), keys[0], data, blob.Always)
			return err
		}},
		{"lost", func() error { return s.Bucket.Delete(t.Context(), keys[0]) }},
	} {
		require.NoError(t, c.damage())
		v := s.open(t)
		idx, err := v.Read(t.Context())
		require.NoError(t, err)
		for _, i := range []int{20, 45} {
			f, ok := idx.File(edits[i].path)
			require.True(t, ok)
			var digest index.Digest
			for r, err := range v.Revisions(t.Context(), f.Path, f.Version) {
				require.NoError(t, err, "%s: %s", c.name, f.Path)
				digest = r.Digest
			}
			require.Equal(t, index.DigestOf([]byte(edits[i].text)), digest, "%s: %s", c.name, f.Path)
		}
	}
}

// A largeCommit is a vault with one commit of many notes, whose texts do not fit in its cache
// together.
type largeCommit struct {
	vault    *repo.Vault
	counting *countingTable
	bucket   blob.Bucket
}

const largeNotes = 500

// text returns the text of note i.
func (largeCommit) text(i int) string {
	line := fmt.Sprintf("a line of note %d, which says what the others say\n", i)
	return strings.Repeat(line, (8<<10)/len(line))
}

func newLargeCommit(t *testing.T) (large largeCommit) {
	e := engine(t)
	v := newVault(t, e)
	var edits []edit
	for i := range largeNotes {
		edits = append(edits, edit{fmt.Sprintf("n%03d.md", i), large.text(i)})
	}
	change(t, v, edits...)
	large.counting, large.bucket = &countingTable{Table: e.Table}, e.Bucket
	large.vault = large.open(t)
	return large
}

// open opens the vault as a process that has just started.
func (large largeCommit) open(t *testing.T) *repo.Vault {
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "team", Part: "v", Table: large.counting, Bucket: large.bucket, Texts: repo.NewTexts(1 << 20), Now: time.Now,
	})
	require.NoError(t, err)
	return v
}

// costs calls read for each note, and returns the average number of bytes allocated for one. It
// requires that the run is read once.
func (large largeCommit) costs(t *testing.T, read func(int, *index.File)) uint64 {
	idx, err := large.vault.Read(t.Context())
	require.NoError(t, err)
	begun := large.counting.gets.Load()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range largeNotes {
		i = i * 211 % largeNotes
		f, ok := idx.File(fmt.Sprintf("n%03d.md", i))
		require.True(t, ok)
		read(i, f)
	}
	runtime.ReadMemStats(&after)
	require.LessOrEqual(t, large.counting.gets.Load()-begun, int64(2))
	each := (after.TotalAlloc - before.TotalAlloc) / largeNotes
	t.Logf("%d KiB each", each>>10)
	return each
}

// TestTextsOfAMovedPayload checks that a process which knows where the frames of a commit were reads
// its texts after another process has moved its payload into a segment, and after an erasure has
// rewritten the segment.
func TestTextsOfAMovedPayload(t *testing.T) {
	s := newShelf(t)
	var edits []edit
	for i := range largeNotes {
		edits = append(edits, edit{fmt.Sprintf("n%03d.md", i), largeCommit{}.text(i) + noise(100+i)})
	}
	change(t, s.vault, edits...)
	require.Len(t, s.objects(t, "payload/"), 1)
	late := s.open(t)
	idx, err := late.Read(t.Context())
	require.NoError(t, err)
	read := func(from, to int) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := from; i < to; i++ {
			f, ok := idx.File(edits[i].path)
			require.True(t, ok)
			text, err := late.Text(t.Context(), f.Body)
			require.NoError(t, err)
			require.Equal(t, edits[i].text, string(text))
		}
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(to-from)<<20, "only frames are unpacked")
	}
	read(0, 10)
	s.empty(t)
	for _, key := range s.objects(t, "payload/") { // as a later pass does
		require.NoError(t, s.Bucket.Delete(t.Context(), key))
	}
	read(50, 100)
	late = s.open(t) // reads frames of the segment
	idx, err = late.Read(t.Context())
	require.NoError(t, err)
	read(100, 150)
	_, err = s.vault.EraseNote(t.Context(), caller(), vault.Path(edits[200].path))
	require.NoError(t, err)
	for range 2 {
		s.clock.Move(25 * time.Hour)
		s.fold(t)
	}
	read(300, 350)
}
