package janitor_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
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
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/janitor"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// errCut is the error of a request of a process that was killed.
var errCut = errors.New("cut off")

// counts are the requests of a process, which all fail from one on.
type counts struct {
	mu                            sync.Mutex
	n, from                       int
	queries, gets, writes, bucket int
	parts                         map[string]bool // partitions that were asked for
}

func (c *counts) request(kind *int, part string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	*kind++
	if c.parts == nil {
		c.parts = map[string]bool{}
	}
	c.parts[part] = true
	if c.from > 0 && c.n >= c.from {
		return errCut
	}
	return nil
}

// A counted is the table as one process has it.
type counted struct {
	table.Table
	*counts
}

func (c counted) Get(ctx context.Context, k table.Key) (table.Item, error) {
	if err := c.request(&c.gets, k.Part); err != nil {
		return table.Item{}, err
	}
	return c.Table.Get(ctx, k)
}

func (c counted) Query(ctx context.Context, part, from, to string) iter.Seq2[table.Item, error] {
	if err := c.request(&c.queries, part); err != nil {
		return func(yield func(table.Item, error) bool) { yield(table.Item{}, err) }
	}
	return c.Table.Query(ctx, part, from, to)
}

func (c counted) Commit(ctx context.Context, ops ...table.Op) error {
	if err := c.request(&c.writes, ""); err != nil {
		return err
	}
	return c.Table.Commit(ctx, ops...)
}

// A shut is a bucket that counts calls, and answers none.
type shut struct {
	blob.Bucket
	*counts
}

func (s shut) Get(context.Context, string, int64, int64) ([]byte, blob.Tag, error) {
	return nil, "", errors.Join(s.request(&s.bucket, "bucket"), errCut)
}

func (s shut) List(context.Context, string) iter.Seq2[blob.Object, error] {
	_ = s.request(&s.bucket, "bucket")
	return func(yield func(blob.Object, error) bool) { yield(blob.Object{}, errCut) }
}

// taker is a bucket that removes objects on a condition.
type taker struct{ blob.Bucket }

func (k taker) Take(ctx context.Context, key string, t blob.Tag) error {
	_, tag, err := k.Get(ctx, key, 0, 0)
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

// A line is a queue.
type line struct {
	mu   sync.Mutex
	all  []job.Message
	fail bool
}

func (l *line) Send(_ context.Context, m job.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail {
		return errCut
	}
	l.all = append(l.all, m)
	return nil
}

// take empties the queue.
func (l *line) take() []job.Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// A bed is a deployment with the function that works on its queue.
type bed struct {
	db     table.Table
	files  blob.Bucket
	queue  line
	logs   strings.Builder
	now    time.Time
	worker *stream.Follower
	ingest *ingest.Ingester
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{Now: b.time})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	dir, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	b.db, b.files = db, taker{dir}
	teams := b.teams(t, b.db, b.files)
	b.worker = &stream.Follower{Teams: teams, Queue: &b.queue, Log: slog.New(slog.DiscardHandler), Now: b.time}
	b.ingest = &ingest.Ingester{Tenants: teams, Queue: &b.queue, Now: b.time}
	return b
}

func (b *bed) time() time.Time { return b.now }

// teams are the tenants as one more process has them.
func (b *bed) teams(t *testing.T, over table.Table, in blob.Bucket) *tenant.Registry {
	t.Helper()
	o := tenant.Options{
		Table: over, Bucket: in, Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler),
		Now: b.time, Followers: stream.Cursors(), Queue: &b.queue,
		Follow: func(ctx context.Context, own *tenant.Tenant, vault string) error {
			return b.worker.Follow(ctx, own, vault)
		},
	}
	all := tenant.NewRegistry(o)
	t.Cleanup(all.Close)
	return all
}

// janitor is one more process that looks at all tenants.
func (b *bed) janitor(t *testing.T, c *counts) *janitor.Janitor {
	t.Helper()
	over := counted{b.db, c}
	return &janitor.Janitor{
		Teams: b.teams(t, over, shut{b.files, c}), Table: over, Queue: &b.queue,
		Log: slog.New(slog.NewTextHandler(&b.logs, nil)), Now: b.time,
	}
}

// run is one run, and returns its messages.
func (b *bed) run(t *testing.T) []job.Message {
	t.Helper()
	b.queue.take()
	c := &counts{}
	require.NoError(t, b.janitor(t, c).Run(t.Context()))
	require.Zero(t, c.bucket, "nothing is read of a bucket")
	return b.queue.take()
}

// kinds are the kinds of messages about a vault.
func kinds(all []job.Message, vault string) (kinds []string) {
	for _, m := range all {
		if m.Vault == vault {
			kinds = append(kinds, m.Kind)
		}
	}
	return kinds
}

// open is a tenant, which is made if there is none, and its vaults.
func (b *bed) open(t *testing.T, name string, vaults ...string) *tenant.Tenant {
	t.Helper()
	require.NoError(t, b.worker.Teams.Make(t.Context(), name))
	own, err := b.worker.Teams.Tenant(t.Context(), name)
	require.NoError(t, err)
	for _, v := range vaults {
		_, err = own.Create(t.Context(), eventlog.Call{Tool: "t"}, tenant.NewVault{Name: v}, func(tenant.Entry) any { return nil })
		require.NoError(t, err)
	}
	return own
}

// write makes a commit of a note. Nothing follows the log.
func write(t *testing.T, own *tenant.Tenant, name, path, text string) {
	t.Helper()
	v, err := own.Vault(t.Context(), name)
	require.NoError(t, err)
	_, err = v.Update(t.Context(), eventlog.Call{Tool: "t"}, func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Put(ctx, vault.Path(path), []byte(text))
	})
	require.NoError(t, err)
}

// change changes the control item of a vault.
func change(t *testing.T, own *tenant.Tenant, name string, do func(*repo.Control)) {
	t.Helper()
	v, err := own.Vault(t.Context(), name)
	require.NoError(t, err)
	require.NoError(t, v.Change(t.Context(), func(c *repo.Control) bool {
		do(c)
		return true
	}))
}

// work works on messages, and on those that come of them, each at its time.
func (b *bed) work(t *testing.T, all []job.Message) {
	t.Helper()
	handlers := map[string]job.Handler{
		stream.FilesKind: b.worker.Files, stream.CompactKind: b.worker.CompactMessage, stream.ClearKind: b.worker.Clear,
		ingest.CloseKind: b.ingest.Close, ingest.SweepKind: b.ingest.Sweep,
		janitor.TenantKind: func(context.Context, job.Message) error { return nil },
	}
	for range 1000 {
		if len(all) == 0 {
			return
		}
		m := all[0]
		b.now = b.now.Add(m.After)
		if do := handlers[m.Kind]; do != nil {
			require.NoError(t, do(t.Context(), m), m.Kind)
		} else {
			_, err := b.worker.Teams.WorkOn(t.Context(), m)
			require.NoError(t, err)
		}
		all = append(all[1:], b.queue.take()...)
	}
	t.Fatal("messages come for ever")
}
