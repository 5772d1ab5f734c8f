package checkout_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
)

// A nosy folder calls a function after a file was read.
type nosy struct {
	checkout.Files
	read func(key string) // called after every read
}

func (f *nosy) Get(ctx context.Context, key string, from, n int64) ([]byte, blob.Tag, error) {
	data, tag, err := f.Files.Get(ctx, key, from, n)
	f.read(key)
	return data, tag, err
}

// above returns the song with a line added at its beginning, below with one added at its end.
func above(text, line string) string {
	return strings.Replace(text, "# Song\n\n", "# Song\n\n"+line+"\n", 1)
}

func below(text, line string) string { return text + line + "\n" }

// settled ingests edits until there are none.
func settled(t *testing.T, p *place, v *repo.Vault, folder *checkout.Checkout) {
	t.Helper()
	for n, before := 0, uint64(0); before != v.Known().Version(); n++ {
		before = v.Known().Version()
		require.Less(t, n, 20, "it takes in what it took in already")
		reindex(t, folder, "")
	}
	p.inStep(t, v)
	require.Equal(t, repo.Fresh, freshness(t, v))
}

// TestSavedWhileTakenIn is an editor that saves again after its file was read and before its first
// save is committed: it changes a line that it had just added.
func TestSavedWhileTakenIn(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	files := &nosy{Files: p.files.Files, read: func(string) {}}
	p.files.Files = files
	folder := p.follow(t, v)
	write(t, v, "a.md", song)
	p.edit(t, "a.md", below(song, "mine, which is the first of all that is said here"))
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	write(t, v, "a.md", above(song, "ours"))
	reads := 0
	files.read = func(string) {
		if reads++; reads == 2 { // once to examine it, and once to ingest it
			p.edit(t, "a.md", below(song, "mine, which is the last of all that is said here"))
		}
	}
	reindex(t, folder, "")
	require.GreaterOrEqual(t, reads, 2)
	settled(t, p, v, folder)
	require.Equal(t, above(below(song, "mine, which is the last of all that is said here"), "ours"), text(t, v, "a.md"))
}

// TestSavedBeforeItIsWritten is an editor that saves again when its first save is committed, before
// its file is replaced.
func TestSavedBeforeItIsWritten(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close() // no more background sweeps
	write(t, v, "a.md", song)
	p.edit(t, "a.md", below(song, "mine, which is the first of all that is said here"))
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	write(t, v, "a.md", above(song, "ours"))
	p.files.before = func() { p.edit(t, "a.md", below(song, "mine, which is the last of all that is said here")) }
	reindex(t, folder, "")
	settled(t, p, v, folder)
	require.Equal(t, above(below(song, "mine, which is the last of all that is said here"), "ours"), text(t, v, "a.md"))
}

// options returns the options with which a folder is opened.
func (p *place) options() checkout.Options {
	return checkout.Options{Files: p.files, Log: slog.New(slog.DiscardHandler), Now: p.now}
}

// follow opens the folder for an existing vault, without background sweeps.
func (p *place) follow(t *testing.T, v *repo.Vault) *checkout.Checkout {
	t.Helper()
	c, err := checkout.Open(t.Context(), v, p.options())
	require.NoError(t, err)
	require.NoError(t, c.Ready(t.Context()))
	c.Close()
	return c
}

// TestSavedTwiceInAnExchange is an editor that saves while its file is exchanged, and again before
// the exchange is undone: the earlier save is displaced, and none of it is lost.
func TestSavedTwiceInAnExchange(t *testing.T) {
	var p *place
	saves := 0
	seam := func(c fileblob.Change, do func() error) error {
		if c.Op != fileblob.Swap || !strings.HasSuffix(c.To, "a.md") || saves == 0 || saves > 2 {
			return do()
		}
		saves++
		p.edit(t, "a.md", below(below(song, "mine"), strings.Repeat("more ", saves)))
		return do()
	}
	p = newSeamPlace(t, seam)
	v := p.vault(t)
	folder := p.follow(t, v)
	write(t, v, "a.md", song)
	saves = 1
	write(t, v, "a.md", above(song, "ours"))
	require.Equal(t, 3, saves)
	settled(t, p, v, folder)
	folder.Close()
	v, folder = p.open(t) // a start examines all displaced files
	require.NoError(t, folder.Ready(t.Context()))
	settled(t, p, v, folder)
	found := text(t, v, "a.md")
	require.Equal(t, 1, times(found, "ours"))
	require.Equal(t, 1, times(found, "mine"))
	require.Contains(t, found, "more more more")
	for range p.files.Displaced(t.Context()) {
		t.Fatal("it is settled")
	}
}

// newSeamPlace is newPlace for a folder that reports each of its changes to a test.
func newSeamPlace(t *testing.T, seam fileblob.Seam) *place {
	t.Helper()
	dir := t.TempDir()
	b, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	whole, err := fileblob.OpenWith(dir, fileblob.Options{Seam: seam})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, whole.Close()) })
	p := &place{
		dir: filepath.Join(dir, "notes"), table: b, whole: whole,
		files: &files{Files: blob.Sub(whole, "notes").(checkout.Files)},
	}
	require.NoError(t, p.vault(t).Create(t.Context(), repo.Call{Request: []byte("r")}, nil))
	return p
}

// TestUnreadableForAWhile is an editor that saves data that is not text, and then text again.
func TestUnreadableForAWhile(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close()
	write(t, v, "a.md", song)
	p.edit(t, "a.md", below(song, "mine \xff\xfe"))
	reindex(t, folder, "")
	require.Equal(t, song, text(t, v, "a.md"))
	require.Equal(t, repo.Stale, freshness(t, v))
	write(t, v, "a.md", above(song, "ours"))
	require.Equal(t, below(song, "mine \xff\xfe"), p.file(t, "a.md"), "it stays as it is")
	p.edit(t, "a.md", below(song, "mine"))
	settled(t, p, v, folder)
	require.Equal(t, above(below(song, "mine"), "ours"), text(t, v, "a.md"))
}

// TestSlowSave is an editor that empties the file and writes the new text in pieces, so slowly that
// each piece is ingested; and once with a write between, which replaces the file that it has open.
func TestSlowSave(t *testing.T) {
	for _, ours := range []bool{false, true} {
		t.Run(fmt.Sprintf("ours=%t", ours), func(t *testing.T) {
			p := newPlace(t, nil)
			v, folder := p.open(t)
			folder.Close()
			write(t, v, "a.md", song)
			file, err := os.OpenFile(filepath.Join(p.dir, "a.md"), os.O_WRONLY|os.O_TRUNC, 0)
			require.NoError(t, err)
			defer file.Close()
			whole := below(song, "mine")
			want, half := whole, strings.Index(whole, "three")
			for i, part := range []string{"", whole[:half], whole[half:]} {
				_, err := file.WriteString(part)
				require.NoError(t, err)
				reindex(t, folder, "")
				if ours && i == 1 {
					write(t, v, "a.md", above(text(t, v, "a.md"), "ours"))
					want = above(whole, "ours")
				}
			}
			folder.Close()
			v, folder = p.open(t) // a start examines all displaced files
			require.NoError(t, folder.Ready(t.Context()))
			settled(t, p, v, folder)
			require.Equal(t, want, text(t, v, "a.md"))
		})
	}
}

// TestBusyFile checks that a file to which a program appends all the time does not delay others.
func TestBusyFile(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	folder, err := checkout.Open(t.Context(), v, p.options().Hurried(20))
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	write(t, v, "busy.md", song)
	write(t, v, "calm.md", song)
	file, err := os.OpenFile(filepath.Join(p.dir, "busy.md"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer file.Close()
	write(t, v, "gone.md", song)
	for i := 0; text(t, v, "calm.md") == song || text(t, v, "gone.md") == song; i++ {
		require.Less(t, i, 1000, "it waits and waits")
		_, err := fmt.Fprintf(file, "line %d\n", i)
		require.NoError(t, err)
		if i == 5 {
			p.edit(t, "calm.md", below(song, "mine"))
			p.remove(t, "gone.md")
		}
		time.Sleep(25 * time.Millisecond) // the pace of the program that appends
	}
	require.Equal(t, below(song, "mine"), text(t, v, "calm.md"))
	require.Equal(t, "(none)", text(t, v, "gone.md"))
}

// TestBusyClients checks that clients which keep writing to a note do not delay an edit of its
// file.
func TestBusyClients(t *testing.T) {
	p := newPlace(t, nil)
	v := p.vault(t)
	folder, err := checkout.Open(t.Context(), v, p.options().Hurried(10))
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	write(t, v, "a.md", song)
	p.edit(t, "a.md", below(song, "mine"))
	for i := 0; !strings.Contains(text(t, v, "a.md"), "mine\n"); i++ {
		require.Less(t, i, 5000, "it waits and waits")
		_, err := v.Update(t.Context(), repo.Call{Tool: "test"},
			func(ctx context.Context, tx *repo.Tx) (any, error) {
				now, _, err := tx.Text(ctx, "a.md") // the edit that was just ingested stays
				if err != nil {
					return nil, err
				}
				return nil, tx.Put(ctx, "a.md", []byte(above(string(now), fmt.Sprintf("ours %d", i))))
			})
		require.NoError(t, err)
		time.Sleep(10 * time.Millisecond) // the pace of the clients
	}
}

// TestMassOfEdits changes very many files at once: 500, or 3,000 with ROOKERY_SOAK.
func TestMassOfEdits(t *testing.T) {
	t.Parallel()
	n := 500
	if os.Getenv("ROOKERY_SOAK") != "" {
		n = 3000
	}
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close()
	for i := range n {
		p.edit(t, fmt.Sprintf("n/%04d.md", i), song)
	}
	require.Equal(t, n, reindex(t, folder, "").Created)
	for i := range n {
		p.edit(t, fmt.Sprintf("n/%04d.md", i), below(song, fmt.Sprintf("mine %d", i)))
	}
	before := v.Known().Version()
	taken := reindex(t, folder, "")
	require.Equal(t, n, taken.Changed)
	require.Equal(t, before+1, v.Known().Version(), "it is one commit")
	settled(t, p, v, folder)
}

// TestLargeNoteOnBothSides merges a note of almost the largest permitted size.
func TestLargeNoteOnBothSides(t *testing.T) {
	p := newPlace(t, nil)
	v, folder := p.open(t)
	folder.Close()
	var all strings.Builder
	for i := 0; all.Len() < repo.MaxNote-1000; i++ {
		fmt.Fprintf(&all, "line %d of many that there are\n", i)
	}
	large := all.String()
	write(t, v, "a.md", large)
	p.edit(t, "a.md", "mine\n"+large)
	_, err := folder.Sweep(t.Context())
	require.NoError(t, err)
	write(t, v, "a.md", large+"ours\n")
	require.Zero(t, reindex(t, folder, "").Conflicts)
	settled(t, p, v, folder)
	require.Equal(t, "mine\n"+large+"ours\n", text(t, v, "a.md"))

	p.edit(t, "a.md", "mine\n"+large+"ours\n"+strings.Repeat("m", 600)+"\n")
	_, err = folder.Sweep(t.Context())
	require.NoError(t, err)
	write(t, v, "a.md", strings.Repeat("o", 600)+"\nmine\n"+large+"ours\n")
	taken := reindex(t, folder, "")
	require.Equal(t, 1, taken.Conflicts, "the two together are too large: each is kept")
	settled(t, p, v, folder)
}
