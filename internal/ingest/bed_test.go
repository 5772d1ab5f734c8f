package ingest_test

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/vault"
)

// errCut is the error of a request of a process that was killed.
var errCut = errors.New("cut off")

// A cutter counts requests, and fails all from one on, as if the process were killed before it.
type cutter struct {
	mu   sync.Mutex
	n    int
	from int    // 0: none fails
	end  func() // is called then; nil: nothing is
	at   int    // before this one, do is called; 0: before none
	do   func()

	queries, gets, writes, reads, puts, lists int
}

func (c *cutter) request(kind *int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	*kind++
	if c.at == c.n {
		c.do()
	}
	if c.from > 0 && c.n >= c.from {
		if c.end != nil {
			c.end()
		}
		return errCut
	}
	return nil
}

// killed is a process that ends before one of its requests, and its context.
func killed(t *testing.T, before int) (context.Context, *cutter) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, &cutter{from: before, end: cancel}
}

// reset forgets what was counted.
func (c *cutter) reset() {
	c.n, c.queries, c.gets, c.writes, c.reads, c.puts, c.lists = 0, 0, 0, 0, 0, 0, 0
}

// A process is what one process has of the stores.
type process struct {
	table.Table
	*cutter
}

func (p process) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if err := p.request(&p.gets); err != nil {
		return table.Item{}, err
	}
	return p.Table.Get(ctx, k)
}

func (p process) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	if err := p.request(&p.queries); err != nil {
		return func(yield func(table.Item, error) bool) { yield(table.Item{}, err) }
	}
	return p.Table.Query(ctx, part, from, to)
}

func (p process) Commit(ctx context.Context, ops ...table.Op) error {
	if err := p.request(&p.writes); err != nil {
		return err
	}
	return p.Table.Commit(ctx, ops...)
}

// files are the objects of a vault, as a process has them.
type files struct {
	*objects
	*cutter
}

func (f files) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	if err := f.request(&f.reads); err != nil {
		return nil, "", err
	}
	return f.objects.Get(ctx, key, off, n)
}

func (f files) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	if err := f.request(&f.puts); err != nil {
		return "", err
	}
	return f.objects.Put(ctx, key, data, c)
}

func (f files) Take(ctx context.Context, key string, t blob.Tag) error {
	if err := f.request(&f.puts); err != nil {
		return err
	}
	return f.objects.Take(ctx, key, t)
}

// List counts a request for each page of 1,000 objects.
func (f files) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		n := 0
		for o, err := range f.objects.List(ctx, prefix) {
			if n++; err == nil && n%1000 == 1 {
				err = f.request(&f.lists)
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// objects is a bucket that tells of what becomes of its objects, and names them as S3 does.
type objects struct {
	blob.Bucket
	mu     sync.Mutex
	now    func() time.Time
	events []ingest.Change
	put    map[string]blob.Object // by key
	sealed bool                   // tags are no MD5, as those of objects that S3 encrypts
}

// List yields objects with the time at which they were put, and the MD5 of their bytes as their
// tag.
func (o *objects) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return func(yield func(blob.Object, error) bool) {
		for object, err := range o.Bucket.List(ctx, prefix) {
			o.mu.Lock()
			put := o.put[object.Key]
			o.mu.Unlock()
			object.Modified, object.Tag = put.Modified, put.Tag
			if !yield(object, err) {
				return
			}
		}
	}
}

func (o *objects) tell(key string, gone bool) {
	o.events = append(o.events, ingest.Change{Path: key, Gone: gone, At: o.now()})
}

func (o *objects) Put(ctx context.Context, key string, data []byte, c blob.Cond) (blob.Tag, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	tag, err := o.Bucket.Put(ctx, key, data, c)
	if err == nil {
		sum := md5.Sum(data)
		if o.sealed {
			sum = md5.Sum(sum[:])
		}
		o.put[key] = blob.Object{Modified: o.now(), Tag: blob.Tag(fmt.Sprintf("%q", hex.EncodeToString(sum[:])))}
		o.tell(key, false)
	}
	return tag, err
}

func (o *objects) Delete(ctx context.Context, key string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tell(key, true)
	return o.Bucket.Delete(ctx, key)
}

// Take implements blob.Taker.
func (o *objects) Take(ctx context.Context, key string, t blob.Tag) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, tag, err := o.Get(ctx, key, 0, 0)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil
	case err == nil && tag != t:
		return blob.ErrCondition
	case err != nil:
		return err
	}
	o.tell(key, true)
	return o.Bucket.Delete(ctx, key)
}

// A bed is a vault whose notes are in a bucket, with an agent that writes to its log, and a process
// that follows that.
type bed struct {
	db     table.Table
	bucket blob.Bucket
	notes  *objects
	agent  *repo.Vault
	shared *cutter // of the process that takes edits in, unless a test has another

	mu   sync.Mutex
	time time.Time
	asks []time.Duration
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{time: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), shared: &cutter{}}
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{Now: b.now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	dir, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	b.db, b.bucket = db, dir
	b.notes = &objects{Bucket: blob.Sub(dir, "notes"), now: b.now, put: map[string]blob.Object{}}
	b.agent = b.vault(t, db)
	require.NoError(t, b.agent.Create(t.Context(), eventlog.Call{Tool: "create"}, nil))
	return b
}

func (b *bed) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.time
}

func (b *bed) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time = b.time.Add(d)
}

// vault is the vault as one more process has it.
func (b *bed) vault(t *testing.T, over table.Table) *repo.Vault {
	t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "main", Part: "main/1", Table: over, Bucket: blob.Sub(b.bucket, "log"), Texts: repo.NewTexts(1 << 20),
		Listed: table.Key{Part: "~vaults", Sort: "main/1"}, Now: b.now, MaxNamed: 10,
	})
	require.NoError(t, err)
	return v
}

// process is the vault as a new process has it that takes edits in.
func (b *bed) process(t *testing.T, c *cutter) ingest.Vault {
	t.Helper()
	over := process{b.db, c}
	return ingest.Vault{
		Vault: b.vault(t, over), Notes: files{b.notes, c}, Table: over, Part: "main/1", Now: b.now,
	}
}

// ask is what asks for what was noticed to be taken in.
func (b *bed) ask(_ context.Context, after time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = append(b.asks, after)
	return nil
}

// write makes a commit of notes: path, text and so on; an empty text removes the note. Its files
// are not brought.
func (b *bed) write(t *testing.T, pairs ...string) uint64 {
	t.Helper()
	r, err := b.agent.Update(t.Context(), eventlog.Call{Tool: "t"}, func(ctx context.Context, tx *repo.Tx) (any, error) {
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

// follow brings the files.
func (b *bed) follow(t *testing.T) {
	t.Helper()
	f := stream.Followed{
		Vault: b.vault(t, b.db), Files: b.notes, Now: b.now,
		QueuePass: func(context.Context, time.Duration) error { return nil },
	}
	for more := true; more; {
		var err error
		more, err = f.Sync(t.Context(), 0)
		require.NoError(t, err)
	}
}

// save is what a person puts into a file.
func (b *bed) save(t *testing.T, path, text string) {
	t.Helper()
	_, err := b.notes.Put(t.Context(), path, []byte(text), blob.Always)
	require.NoError(t, err)
}

// rm is a person who removes a file.
func (b *bed) rm(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, b.notes.Delete(t.Context(), path))
}

// take returns the events since the last call.
func (b *bed) take() []ingest.Change {
	b.notes.mu.Lock()
	defer b.notes.mu.Unlock()
	all := b.notes.events
	b.notes.events = nil
	return all
}

// notice hands over the events that are there.
func (b *bed) notice(t *testing.T) {
	t.Helper()
	if all := b.take(); len(all) > 0 {
		require.NoError(t, b.process(t, b.shared).Notice(t.Context(), all, b.ask))
	}
}

// closes works on the messages that are there, and those that come of them, each at its time.
func (b *bed) closes(t *testing.T) {
	t.Helper()
	for range 10_000 {
		b.mu.Lock()
		if len(b.asks) == 0 {
			b.mu.Unlock()
			return
		}
		slices.Sort(b.asks)
		after := b.asks[0]
		b.asks = b.asks[1:]
		for i := range b.asks {
			b.asks[i] -= after
		}
		b.time = b.time.Add(after)
		b.mu.Unlock()
		again, err := b.process(t, b.shared).Close(t.Context())
		require.NoError(t, err)
		if again > 0 {
			require.NoError(t, b.ask(t.Context(), again))
		}
	}
	t.Fatal("messages come for ever")
}

// settle lets all that is under way come to its end.
func (b *bed) settle(t *testing.T) {
	t.Helper()
	b.follow(t)
	for range 20 {
		b.notice(t)
		b.closes(t)
		b.follow(t)
		b.notes.mu.Lock()
		quiet := len(b.notes.events) == 0
		b.notes.mu.Unlock()
		if quiet && len(b.asks) == 0 {
			return
		}
	}
	t.Fatal("log and files never agree")
}

func (b *bed) control(t *testing.T) repo.Control {
	t.Helper()
	c, err := b.agent.Control(t.Context())
	require.NoError(t, err)
	return c
}

// inLog are all notes of the log, and their texts.
func (b *bed) inLog(t *testing.T) map[string]string {
	t.Helper()
	idx, err := b.agent.Read(t.Context())
	require.NoError(t, err)
	all := map[string]string{}
	for f := range idx.Files() {
		text, err := b.agent.Text(t.Context(), f.Body)
		require.NoError(t, err)
		all[f.Path] = string(text)
	}
	return all
}

// inFiles are all files, and their texts.
func (b *bed) inFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for o, err := range b.notes.List(t.Context(), "") {
		require.NoError(t, err)
		text, _, err := b.notes.Get(t.Context(), o.Key, 0, -1)
		require.NoError(t, err)
		all[o.Key] = string(text)
	}
	return all
}

// agree requires that log and files have these texts, and nothing else, and that nothing is on its
// way.
func (b *bed) agree(t *testing.T, want map[string]string) {
	t.Helper()
	require.Equal(t, want, b.inLog(t))
	require.Equal(t, want, b.inFiles(t))
	require.Nil(t, b.control(t).Noticed)
	require.Empty(t, b.items(t, "noticed/"))
}

// items are the sort keys of the vault's items with a prefix.
func (b *bed) items(t *testing.T, prefix string) (all []string) {
	t.Helper()
	for it, err := range b.db.Query(t.Context(), "main/1", prefix, prefix+"~") {
		require.NoError(t, err)
		all = append(all, it.Sort)
	}
	return all
}

// tools are the operations of the commits of the log.
func (b *bed) tools(t *testing.T) (all []string) {
	t.Helper()
	for c, err := range b.agent.Commits(t.Context(), 2) {
		require.NoError(t, err)
		all = append(all, c.Tool)
	}
	return all
}

// fill makes notes n/00.md and so on by one commit.
func (b *bed) fill(t *testing.T, n int, more string) {
	t.Helper()
	var pairs []string
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\n%s", i, more))
	}
	b.write(t, pairs...)
}

// reindexes is how many commits took edits in.
func (b *bed) reindexes(t *testing.T) (n int) {
	t.Helper()
	for _, tool := range b.tools(t) {
		if tool == "reindex" {
			n++
		}
	}
	return n
}
