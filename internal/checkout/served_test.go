package checkout_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/casefoldfs"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
	"github.com/rookeryhq/rookery/internal/vault"
	"github.com/rookeryhq/rookery/internal/watch"
)

// A ground is a kind of file system that a folder of notes can be on.
type ground struct {
	name  string
	folds bool // it takes names for one that differ by case or normalization only
	make  func(t *testing.T) string
}

// grounds returns the kinds that are available here. Tests on other kinds are skipped.
func grounds() []ground {
	return []ground{
		{"here", false, func(t *testing.T) string { return t.TempDir() }},
		{"folding", true, func(t *testing.T) string { return casefoldfs.Mount(t, casefoldfs.Options{}) }},
		{"folding, without exchange", true, func(t *testing.T) string {
			return casefoldfs.Mount(t, casefoldfs.Options{NoRenameFlags: true})
		}},
	}
}

// A served is a folder with notes that other programs change, and a vault that follows it while it
// is open.
type served struct {
	*place
	ground ground
	disk   *fileblob.Bucket
	vault  *repo.Vault
	folder *checkout.Checkout
}

// onEveryGround runs a test with a served folder on this file system, and on a folding one drawn by
// a seed; with ROOKERY_SOAK, on every kind of file system.
func onEveryGround(t *testing.T, test func(t *testing.T, s *served)) {
	all := grounds()
	for _, g := range append(all[:1:1], sampled(drawn(t), all[1:])...) {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, g)
			s.serve(t, checkout.Options{})
			test(t, s)
		})
	}
}

// drawn returns a random source for a sample, and logs its seed. ROOKERY_SEED=n sets the seed.
func drawn(t *testing.T) *rand.Rand {
	t.Helper()
	var seed uint64
	for seed = range repotest.Seeds() {
		break
	}
	t.Logf("to run it again: ROOKERY_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// sampled returns one of several cases; with ROOKERY_SOAK, all of them.
func sampled[T any](chance *rand.Rand, all []T) []T {
	if os.Getenv("ROOKERY_SOAK") != "" {
		return all
	}
	i := chance.IntN(len(all))
	return all[i : i+1]
}

// newServed creates a folder, and a vault that does not follow it yet.
func newServed(t *testing.T, g ground) *served {
	t.Helper()
	state, disk := t.TempDir(), g.make(t)
	b, err := bolttable.Open(filepath.Join(state, "table.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	whole, err := fileblob.Open(state)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, whole.Close()) })
	s := &served{
		place:  &place{dir: filepath.Join(disk, "notes"), table: b, whole: whole},
		ground: g,
	}
	s.mount(t)
	require.NoError(t, s.place.vault(t).Create(t.Context(), eventlog.Call{Request: []byte("r")}, nil))
	return s
}

// mount opens the files of the folder, as a new process does.
func (s *served) mount(t *testing.T) {
	t.Helper()
	disk, err := fileblob.OpenWith(s.dir, fileblob.Options{
		Work: filepath.Join(filepath.Dir(s.dir), "work"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = disk.Close() }) // one that a restart closed is closed twice
	s.disk, s.files = disk, &files{Files: disk}
}

// serve opens the vault with the folder, and waits until the folder has been read once. The writes
// of the test follow at once. All times are a tenth of the usual ones, unless o sets them.
func (s *served) serve(t *testing.T, o checkout.Options) {
	t.Helper()
	s.vault = s.place.vault(t)
	o.Files, o.Now = s.files, s.now
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	folder, err := checkout.Open(t.Context(), s.vault, o)
	require.NoError(t, err)
	t.Cleanup(folder.Close)
	s.folder = folder
	require.NoError(t, folder.Ready(t.Context()))
}

// restart ends the process that serves the folder, and begins another.
func (s *served) restart(t *testing.T) {
	t.Helper()
	s.folder.Close()
	require.NoError(t, s.disk.Close())
	s.mount(t)
	s.serve(t, checkout.Options{})
}

// watched returns options with which the folder is watched, and all times are a tenth of the usual
// ones.
func (s *served) watched() checkout.Options {
	return checkout.Options{
		Watch: func(enter func(folder string) bool) (blob.Watch, error) {
			return new(watch.Hub).Open(s.dir, enter)
		},
	}.Hurried(10)
}

// reindex ingests the edits of the folder, without waiting for the debounce time.
func (s *served) reindex(t *testing.T) { s.answer(t, "") }

// answer is reindex with a decision about the held batch.
func (s *served) answer(t *testing.T, word checkout.Pending) {
	t.Helper()
	_, err := s.folder.Reindex(t.Context(), checkout.IngestOptions{Pending: word})
	require.NoError(t, err)
}

// path returns the path of a file of the folder in the operating system.
func (s *served) path(name string) string { return filepath.Join(s.dir, name) }

// rename renames a file or a folder, as mv does.
func (s *served) rename(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(s.path(to)), 0o700))
	require.NoError(t, os.Rename(s.path(from), s.path(to)))
}

// save truncates a file and writes it, as some editors do.
func (s *served) save(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(s.path(name)), 0o700))
	require.NoError(t, os.WriteFile(s.path(name), []byte(text), 0o600))
}

// inFolder returns the texts of all notes in the folder, by their names there.
func (s *served) inFolder(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range s.paths(t) {
		info, err := os.Lstat(s.path(name))
		require.NoError(t, err)
		if info.Mode().IsRegular() && strings.HasSuffix(name, ".md") && name[0] != '.' {
			found[name] = s.file(t, name)
		}
	}
	return found
}

// inLog returns the texts of all notes of the vault.
func (s *served) inLog(t *testing.T) map[string]string {
	t.Helper()
	idx, err := s.vault.Read(t.Context())
	require.NoError(t, err)
	found := map[string]string{}
	for f := range idx.Files() {
		text, err := s.vault.Text(t.Context(), f.Body)
		require.NoError(t, err)
		if vault.Path(f.Path).Kind() == vault.KindNote && f.Path[0] != '.' {
			found[f.Path] = string(text)
		}
	}
	return found
}

// agree requires that the vault and the folder have these notes, and no others.
func (s *served) agree(t *testing.T, want map[string]string) {
	t.Helper()
	require.Equal(t, want, s.inLog(t), "the vault")
	require.Equal(t, want, s.inFolder(t), "the folder")
}

// control returns the control item, from which answers report the state of the folder.
func (s *served) control(t *testing.T) repo.Control {
	t.Helper()
	c, err := s.vault.Control(t.Context())
	require.NoError(t, err)
	return c
}

// left returns the skipped files, as answers report them.
func (s *served) left(t *testing.T) []repo.LeftFile {
	t.Helper()
	if left := s.control(t).Left; left != nil {
		return left.Files
	}
	return nil
}

// history returns all present and earlier texts of the log.
func (s *served) history(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for c, err := range s.vault.Commits(context.WithoutCancel(t.Context()), 1) {
		require.NoError(t, err)
		for _, n := range c.Notes {
			all[string(n.Text)] = true
			all[string(n.Theirs)] = true
		}
	}
	return all
}

// kept requires that the history has every one of these texts.
func (s *served) kept(t *testing.T, texts map[string]string) {
	t.Helper()
	all := s.history(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		require.True(t, all[texts[name]], "the text of %s is lost: %q", name, texts[name])
	}
}

// write writes a note to the log, as a client does.
func (s *served) write(t *testing.T, path, text string) {
	t.Helper()
	write(t, s.vault, path, text)
}

// fill is many in one commit; each note ends with more.
func (s *served) fill(t *testing.T, n int, more string) {
	t.Helper()
	_, err := s.vault.Update(t.Context(), eventlog.Call{Tool: "test"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			for i := range n {
				path, text := fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\n%s", i, more)
				if err := tx.Put(ctx, vault.Path(path), []byte(text)); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
	require.NoError(t, err)
}

// with returns a set of notes with changes; the text "(none)" removes one.
func with(notes map[string]string, changes map[string]string) map[string]string {
	notes = maps.Clone(notes)
	for path, text := range changes {
		if text == "(none)" {
			delete(notes, path)
		} else {
			notes[path] = text
		}
	}
	return notes
}
