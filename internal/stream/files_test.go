package stream_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A counting counts the Queries and all other calls of a table.
type counting struct {
	table.Table
	mu      sync.Mutex
	queries int
	gets    int
	writes  int
}

func (c *counting) count(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// A vaultFixture is a vault with its notes in a bucket.
type vaultFixture struct {
	table  *counting
	bucket blob.Bucket
	notes  *kept
	now    time.Time
	writer *repo.Vault // has an index

	mu    sync.Mutex
	folds []time.Duration // after which passes were asked for
}

// kept is a bucket that counts, and takes as one with versions does.
type kept struct {
	blob.Bucket
	mu    sync.Mutex
	calls int
	from  int // from this call on all fail, as if the process were killed before it; 0: none does
	most  int // bytes that a Get returned at most
}

// errCut is the error of a call of a process that was killed.
var errCut = errors.New("cut off")

func (k *kept) called() error {
	k.calls++
	if k.from > 0 && k.calls >= k.from {
		return errCut
	}
	return nil
}

func (k *kept) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.called(); err != nil {
		return nil, "", err
	}
	data, tag, err := k.Bucket.Get(ctx, key, off, n)
	k.most = max(k.most, len(data))
	return data, tag, err
}

func (k *kept) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.called(); err != nil {
		return "", err
	}
	return k.Bucket.Put(ctx, key, data, c)
}

// Take implements blob.Taker.
func (k *kept) Take(ctx context.Context, key string, t blob.Tag) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.called(); err != nil {
		return err
	}
	_, tag, err := k.Bucket.Get(ctx, key, 0, 0)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil
	case err == nil && tag != t:
		return blob.ErrCondition
	case err != nil:
		return err
	}
	return k.Delete(ctx, key)
}

func newVaultFixture(t *testing.T) *vaultFixture {
	t.Helper()
	b := &vaultFixture{now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{Now: func() time.Time { return b.now }})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	b.table, b.bucket = &counting{Table: db}, files
	b.notes = &kept{Bucket: blob.Sub(files, "notes")}
	b.writer = b.vault(t)
	require.NoError(t, b.writer.Create(t.Context(), eventlog.Call{Tool: "create"}, nil))
	return b
}

// vault is the vault as one more process has it.
func (b *vaultFixture) vault(t *testing.T) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "main", Part: "main/1", Table: b.table, Bucket: blob.Sub(b.bucket, "log"), Texts: repo.NewTexts(1 << 20),
		Listed: table.Key{Part: "~vaults", Sort: "main/1"}, Now: func() time.Time { return b.now },
	})
	require.NoError(t, err)
	return v
}

// followed are its files as one more process has them.
func (b *vaultFixture) followed(t *testing.T) stream.Followed {
	t.Helper()
	return stream.Followed{
		Vault: b.vault(t), Files: b.notes, Now: func() time.Time { return b.now },
		QueuePass: func(_ context.Context, after time.Duration) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.folds = append(b.folds, after)
			return nil
		},
	}
}

// write makes a commit of notes: path, text and so on; an empty text removes the note.
func (b *vaultFixture) write(t *testing.T, pairs ...string) uint64 {
	t.Helper()
	r, err := b.writer.Update(t.Context(), eventlog.Call{Tool: "t"}, func(ctx context.Context, tx *repo.Tx) (any, error) {
		for i := 0; i < len(pairs); i += 2 {
			path := vault.Path(pairs[i])
			if pairs[i+1] == "" {
				if err := tx.Remove(ctx, path); err != nil {
					return nil, err
				}
			} else if err := tx.Put(ctx, path, []byte(pairs[i+1])); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	require.NoError(t, err)
	return r.Seq
}

// save is what somebody puts into a file.
func (b *vaultFixture) save(t *testing.T, path, text string) {
	t.Helper()
	_, err := b.notes.Bucket.Put(t.Context(), path, []byte(text), blob.Always)
	require.NoError(t, err)
}

// files are all files, as "path: text".
func (b *vaultFixture) files(t *testing.T) (all []string) {
	t.Helper()
	for o, err := range b.notes.List(t.Context(), "") {
		require.NoError(t, err)
		text, _, err := b.notes.Bucket.Get(t.Context(), o.Key, 0, -1)
		require.NoError(t, err)
		all = append(all, o.Key+": "+string(text))
	}
	return all
}

func (b *vaultFixture) sync(t *testing.T, first uint64) {
	t.Helper()
	more, err := b.followed(t).Sync(t.Context(), first)
	require.NoError(t, err)
	require.False(t, more)
}

func (b *vaultFixture) control(t *testing.T) repo.Control {
	t.Helper()
	c, err := b.writer.Control(t.Context())
	require.NoError(t, err)
	return c
}

func (c *counting) Get(ctx context.Context, k table.Key) (table.Item, error) {
	c.count(&c.gets)
	return c.Table.Get(ctx, k)
}

func (c *counting) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	c.count(&c.queries)
	return c.Table.Query(ctx, part, from, to)
}

func (c *counting) Commit(ctx context.Context, ops ...table.Op) error {
	c.count(&c.writes)
	return c.Table.Commit(ctx, ops...)
}

func (b *vaultFixture) reset() {
	b.table.queries, b.table.gets, b.table.writes, b.notes.calls = 0, 0, 0, 0
}

// requests are the Queries, Gets and writes of the table, and the requests of the bucket, since
// reset.
func (b *vaultFixture) requests() []int {
	return []int{b.table.queries, b.table.gets, b.table.writes, b.notes.calls}
}

// TestBring holds that files follow the log, with one Query, a read and a write a file, and one
// write of the cursor; and that a record that comes again costs a Query and nothing else.
func TestBring(t *testing.T) {
	b := newVaultFixture(t)
	b.sync(t, 1)
	first := b.write(t, "a.md", "A\n", "people/b.md", "B\n")
	b.write(t, "a.md", "A2\n")
	b.reset()
	b.sync(t, first)
	require.Equal(t, []string{"a.md: A2\n", "people/b.md: B\n"}, b.files(t))
	require.Equal(t, []int{1, 0, 1, 4}, b.requests())
	c := b.control(t)
	require.Equal(t, first+1, c.Cursors["checkout"].Seq)
	require.Equal(t, uint64(1), c.Sweep.Version, "they are known to agree since then")

	b.reset()
	b.sync(t, first)
	b.sync(t, first+1)
	require.Equal(t, []int{2, 0, 0, 0}, b.requests())

	last := b.write(t, "a.md", "", "c.md", "C\n")
	b.sync(t, last)
	require.Equal(t, []string{"c.md: C\n", "people/b.md: B\n"}, b.files(t))
	b.write(t, "c.md", "")
	last = b.write(t, "c.md", "C\n") // it is as it was
	b.sync(t, last)                  // the record of the first one was lost
	require.Equal(t, []string{"c.md: C\n", "people/b.md: B\n"}, b.files(t))
	b.sync(t, 0)
}

// TestNobodysEditIsOverwritten holds that what somebody put into a file stays, and that the log may
// replace it once it has taken it in.
func TestNobodysEditIsOverwritten(t *testing.T) {
	b := newVaultFixture(t)
	b.sync(t, b.write(t, "a.md", "A\n", "b.md", "B\n", "c.md", "C\n"))
	b.save(t, "a.md", "A of a person\n")
	b.save(t, "b.md", "B of a person\n")
	b.save(t, "d.md", "D of a person\n")
	require.NoError(t, b.notes.Delete(t.Context(), "c.md"))
	last := b.write(t, "a.md", "A2\n", "b.md", "", "c.md", "C2\n", "d.md", "D\n")
	b.sync(t, last)
	left := []string{"a.md: A of a person\n", "b.md: B of a person\n", "d.md: D of a person\n"}
	require.Equal(t, left, b.files(t))
	require.Equal(t, last, b.control(t).Cursors["checkout"].Seq, "an edit never holds the cursor")

	call := eventlog.Call{Tool: "reindex", Outside: true}
	r, err := b.writer.Update(t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.TakeIn(ctx, "a.md", repo.Outside{Text: []byte("merged\n"), Found: []byte("A of a person\n")})
	})
	require.NoError(t, err)
	b.sync(t, r.Seq)
	left[0] = "a.md: merged\n"
	require.Equal(t, left, b.files(t))
}

// TestBehindSegments holds that a cursor which is further back than the table goes on from
// segments, in pieces.
func TestBehindSegments(t *testing.T) {
	b := newVaultFixture(t)
	var want []string
	for i := range 700 {
		b.write(t, fmt.Sprintf("%03d.md", i), fmt.Sprintf("text %d\n", i))
		want = append(want, fmt.Sprintf("%03d.md: text %d\n", i, i))
	}
	for range 3 {
		require.NoError(t, b.writer.Compact(t.Context(), eventlog.Compaction{All: true}))
		b.now = b.now.Add(time.Hour + time.Minute)
	}
	require.Positive(t, b.control(t).Low)
	last := b.write(t, "x.md", "x\n")
	b.sync(t, last)
	require.Equal(t, append(want, "x.md: x\n"), b.files(t))
	require.Equal(t, last, b.control(t).Cursors["checkout"].Seq)
}

// TestOlderCommits holds that what a commit replaced is found where the commit does not say it.
func TestOlderCommits(t *testing.T) {
	b := newVaultFixture(t)
	seq := b.write(t, "a.md", "A\n")
	v := b.vault(t)
	for n, there := range map[*eventlog.Note]bool{
		{Path: "a.md", Prev: seq}: true, {Path: "a.md"}: false, {Path: "b.md", Prev: seq}: false,
	} {
		was, ok, err := v.Was(t.Context(), *n)
		require.NoError(t, err)
		require.Equal(t, there, ok)
		require.Equal(t, there, was != (index.Digest{}))
	}
	last := b.write(t, "a.md", "A2\n")
	s, err := v.CommitsAfter(t.Context(), last-1, eventlog.Most{Commits: 1, Bytes: 1})
	require.NoError(t, err)
	said := s.Commits[0].Notes[0]
	require.NotNil(t, said.Was)
	was, _, err := v.Was(t.Context(), said)
	require.NoError(t, err)
	said.Was = nil
	same, _, err := v.Was(t.Context(), said)
	require.NoError(t, err)
	require.Equal(t, same, was)
}

// TestTwoOfEach holds that several which follow one log, and hear of it late, twice and in any
// order, leave the files as the log says.
func TestTwoOfEach(t *testing.T) {
	b := newVaultFixture(t)
	var running sync.WaitGroup
	want := map[string]string{}
	for i := range 60 {
		path := fmt.Sprintf("%d.md", rand.N(5))
		text := fmt.Sprintf("%d of three\n", rand.N(3))
		if rand.N(4) == 0 && want[path] != "" {
			text = ""
		}
		want[path] = text
		seq := b.write(t, path, text)
		for range 2 {
			f := b.followed(t)
			running.Go(func() {
				_, err := f.Sync(context.WithoutCancel(t.Context()), seq)
				if err != nil {
					t.Error(i, err)
				}
			})
		}
		if i%4 == 3 {
			running.Wait()
		}
	}
	running.Wait()
	b.sync(t, 0)
	var files []string
	for i := range 5 {
		if text := want[fmt.Sprintf("%d.md", i)]; text != "" {
			files = append(files, fmt.Sprintf("%d.md: %s", i, text))
		}
	}
	require.Equal(t, files, b.files(t))
}

// TestFoldDue holds that a pass that folds is asked for once a minute, at once where much has come,
// and again when its message seems to be lost.
func TestFoldDue(t *testing.T) {
	b := newVaultFixture(t)
	asked := func(want ...time.Duration) {
		t.Helper()
		b.sync(t, b.write(t, "a.md", fmt.Sprintf("text %d\n", b.control(t).Rev)))
		require.Equal(t, want, b.folds)
		b.folds = nil
	}
	asked(time.Minute)
	require.Equal(t, b.now.Add(time.Minute), b.control(t).FoldDue)
	asked()
	b.now = b.now.Add(5 * time.Minute)
	asked()
	b.now = b.now.Add(6 * time.Minute)
	asked(time.Minute)
	require.NoError(t, b.writer.Change(t.Context(), func(c *repo.Control) bool { c.FoldDue = time.Time{}; return true }))
	asked(time.Minute)
	for i := range 500 {
		b.write(t, "b.md", fmt.Sprint(i))
	}
	asked(0)
	asked()
	require.NoError(t, b.writer.Compact(t.Context(), eventlog.Compaction{All: true}))
	require.NoError(t, b.writer.Change(t.Context(), func(c *repo.Control) bool { c.FoldDue = time.Time{}; return true }))
	asked(time.Minute)
}

// TestLargeFile holds that of a file which is larger than any note no more is read than shows that.
func TestLargeFile(t *testing.T) {
	b := newVaultFixture(t)
	b.sync(t, b.write(t, "a.md", "A\n"))
	b.save(t, "a.md", strings.Repeat("x", 3<<20))
	b.notes.most = 0
	b.sync(t, b.write(t, "a.md", "A2\n"))
	require.Equal(t, repo.MaxNote+1, b.notes.most)
	text, _, err := b.notes.Bucket.Get(t.Context(), "a.md", 0, -1)
	require.NoError(t, err)
	require.Len(t, text, 3<<20)
}
