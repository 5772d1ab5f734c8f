package checkout_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A place is a vault's log and the folder of its notes.
type place struct {
	dir   string // of the notes
	table table.Table
	whole blob.Bucket
	files *files
	named int // files that the control item names of each kind; 0: repo.MaxNamed

	clock atomic.Pointer[time.Time] // stands still there; nil: it is that of the machine
}

// now returns the time of the place.
func (p *place) now() time.Time {
	if at := p.clock.Load(); at != nil {
		return *at
	}
	return time.Now()
}

// pass moves the clock of the place forward, and stops it.
func (p *place) pass(d time.Duration) {
	at := p.now().Add(d)
	p.clock.Store(&at)
}

// files are the folder that the checkout uses. It can fail, it counts calls, and it calls functions
// of the test.
type files struct {
	checkout.Files
	mu     sync.Mutex
	broken error    // returned by every call that writes
	stuck  error    // returned by Sync
	synced []string // keys, in order
	put    []string // keys that were passed to Exchange, in order
	before func()   // called once, before the next Exchange
	missed func()   // called once, when a file is missed by the first reading
}

func (f *files) Touched(ctx context.Context, key string) (time.Time, error) {
	at, err := f.Files.Touched(ctx, key)
	f.mu.Lock()
	hook := f.missed
	f.missed = nil
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	return at, err
}

func (f *files) failing(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = err
}

func (f *files) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

func (f *files) Exchange(ctx context.Context, key string, data, want []byte) error {
	f.mu.Lock()
	hook := f.before
	f.before, f.put = nil, append(f.put, key)
	f.mu.Unlock()
	if hook != nil {
		hook()
	}
	if err := f.failure(); err != nil {
		return err
	}
	return f.Files.Exchange(ctx, key, data, want)
}

func (f *files) Remove(ctx context.Context, key string, want []byte) error {
	if err := f.failure(); err != nil && want != nil {
		return err
	}
	return f.Files.Remove(ctx, key, want)
}

func (f *files) Append(ctx context.Context, key string, n int64, data []byte) error {
	if err := f.failure(); err != nil {
		return err
	}
	return f.Files.Append(ctx, key, n, data)
}

func (f *files) Sync(ctx context.Context, keys ...string) error {
	f.mu.Lock()
	err := f.stuck
	if err == nil {
		f.synced = append(f.synced, keys...)
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Files.Sync(ctx, keys...)
}

// newPlace creates an empty vault. wrap, if not nil, wraps its table.
func newPlace(t testing.TB, wrap func(table.Table) table.Table) *place {
	t.Helper()
	dir := t.TempDir()
	b, err := bolttable.Open(filepath.Join(dir, "table.db"), bolttable.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	whole, err := fileblob.Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, whole.Close()) })
	p := &place{
		dir: filepath.Join(dir, "notes"), table: b, whole: whole,
		files: &files{Files: blob.Sub(whole, "notes").(checkout.Files)},
	}
	require.NoError(t, p.vault(t).Create(t.Context(), eventlog.Call{Request: []byte("r")}, nil))
	if wrap != nil {
		p.table = wrap(b)
	}
	return p
}

// vault returns the vault of a new process, without a checkout.
func (p *place) vault(t testing.TB) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "v", Part: "v/1", Table: p.table, Bucket: blob.Sub(p.whole, "log"),
		Texts: repo.NewTexts(1 << 20), Now: p.now, MaxNamed: p.named,
	})
	require.NoError(t, err)
	return v
}

// open opens the folder, as a new process does.
func (p *place) open(t testing.TB) (*repo.Vault, *checkout.Checkout) {
	t.Helper()
	v := p.vault(t)
	c, err := checkout.Open(t.Context(), v, checkout.Options{
		Files: p.files, Log: slog.New(slog.DiscardHandler), Now: p.now,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.Ready(t.Context()))
	return v, c
}

// openUnread opens a vault with its folder, whose first reading begins only when read is called.
// read waits for its end.
func (p *place) openUnread(t testing.TB) (v *repo.Vault, c *checkout.Checkout, read func()) {
	t.Helper()
	v = p.vault(t)
	begin := make(chan struct{})
	o := p.options()
	o.Watch = func(func(string) bool) (blob.Watch, error) { // the first thing that the reading does
		<-begin
		return nil, errors.New("nothing watches")
	}
	c, err := checkout.Open(t.Context(), v, o)
	require.NoError(t, err)
	read = sync.OnceFunc(func() {
		close(begin)
		require.NoError(t, c.Ready(context.WithoutCancel(t.Context())))
	})
	t.Cleanup(func() {
		read()
		c.Close()
	})
	return v, c, read
}

// put writes a file of a vault; a nil text removes it.
func put(ctx context.Context, v *repo.Vault, path string, text []byte) error {
	_, err := v.Update(ctx, eventlog.Call{Tool: "test"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			if text == nil {
				return nil, tx.Remove(ctx, vault.Path(path))
			}
			return nil, tx.Put(ctx, vault.Path(path), text)
		})
	return err
}

// write calls put, which must succeed.
func write(t testing.TB, v *repo.Vault, path, text string) {
	t.Helper()
	require.NoError(t, put(t.Context(), v, path, []byte(text)), path)
}

// conflict requires that a write is refused because of its file.
func conflict(t testing.TB, v *repo.Vault, path string) {
	t.Helper()
	err := put(t.Context(), v, path, []byte("ours\n"))
	f := fault.Of(err)
	require.Equal(t, fault.Conflict, f.Code, "%v", err)
	require.NotEmpty(t, f.Fixes)
	require.Contains(t, f.Message, path)
}

// edit writes a file, as an editor does.
func (p *place) edit(t testing.TB, path, text string) {
	t.Helper()
	file := filepath.Join(p.dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file+"~", []byte(text), 0o600))
	require.NoError(t, os.Rename(file+"~", file))
}

// file returns the content of a file; "(none)" if there is none.
func (p *place) file(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, path))
	if os.IsNotExist(err) {
		return "(none)"
	}
	require.NoError(t, err)
	return string(data)
}

// paths returns all files and folders of the folder.
func (p *place) paths(t testing.TB) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if path != p.dir && err == nil {
			path, err = filepath.Rel(p.dir, path)
			all = append(all, path)
		}
		return err
	})
	require.NoError(t, err)
	slices.Sort(all)
	return all
}

// inStep requires that every file is in the state of the log.
func (p *place) inStep(t testing.TB, v *repo.Vault) *index.Index {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	for f := range idx.Files() {
		text, err := v.Text(t.Context(), f.Body)
		require.NoError(t, err)
		require.Equal(t, string(text), p.file(t, f.Path), f.Path)
	}
	return idx
}

// cursor returns the cursor of a consumer of the log.
func cursor(t testing.TB, v *repo.Vault, name string) uint64 {
	t.Helper()
	c, err := v.Control(t.Context())
	require.NoError(t, err)
	return c.Cursors[name].Seq
}
