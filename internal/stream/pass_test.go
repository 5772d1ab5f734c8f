package stream_test

import (
	"context"
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
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A line is a queue that notes what it is sent.
type line struct {
	mu  sync.Mutex
	all []job.Message
}

// Send implements job.Queue.
func (l *line) Send(_ context.Context, m job.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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

// A deployment is a deployment with the vault main of the tenant acme, and what follows its log.
type deployment struct {
	table  *counting
	bucket *kept
	queue  line
	now    time.Time
	calls  *tenant.Registry // of a function that answers calls
	worker *stream.Follower
	vault  *repo.Vault
	notes  blob.Bucket
	forgot []string // paths of erased notes
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	p := &deployment{now: time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { return p.now }
	db, err := bolttable.Open(filepath.Join(t.TempDir(), "t.db"), bolttable.Options{Now: now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	files, err := fileblob.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	p.table, p.bucket = &counting{Table: db}, &kept{Bucket: files}
	p.calls, p.worker = p.teams(t, false), &stream.Follower{
		Queue: &p.queue, Log: slog.New(slog.DiscardHandler), Now: now,
	}
	p.worker.Teams = p.teams(t, true)
	require.NoError(t, p.calls.Make(t.Context(), "acme"))
	own, err := p.calls.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	_, err = own.Create(t.Context(), eventlog.Call{Tool: "t"}, tenant.NewVault{Name: "main"},
		func(tenant.Entry) any { return nil })
	require.NoError(t, err)
	p.vault, err = own.Vault(t.Context(), "main")
	require.NoError(t, err)
	p.notes = blob.Sub(files, "tenants/acme/vaults/main/notes")
	return p
}

// teams are the tenants as one more process has them, which may be able to follow.
func (p *deployment) teams(t *testing.T, follows bool) *tenant.Registry {
	t.Helper()
	o := tenant.Options{
		Table: p.table, Bucket: p.bucket, Texts: repo.NewTexts(1 << 20), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return p.now }, Followers: stream.Cursors(), Queue: &p.queue,
	}
	if follows {
		o.Follow = func(ctx context.Context, own *tenant.Tenant, vault string) error {
			return p.worker.Follow(ctx, own, vault)
		}
		o.Forget = func(_ context.Context, _ *tenant.Tenant, vault, path string) error {
			p.forgot = append(p.forgot, vault+"/"+path)
			return nil
		}
	}
	all := tenant.NewRegistry(o)
	t.Cleanup(all.Close)
	return all
}

// write makes a commit of a note; an empty text removes it.
func (p *deployment) write(t *testing.T, path, text string) uint64 {
	t.Helper()
	call := eventlog.Call{Tool: "t", Who: eventlog.Who{Principal: "freya"}}
	r, err := p.vault.Update(t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		if text == "" {
			return nil, tx.Remove(ctx, vault.Path(path))
		}
		return nil, tx.Put(ctx, vault.Path(path), []byte(text))
	})
	require.NoError(t, err)
	return r.Seq
}

// ring wakes the function behind the stream.
func (p *deployment) ring(t *testing.T, first uint64) {
	t.Helper()
	require.NoError(t, p.worker.Wake(t.Context(), []stream.Notification{{Part: "acme/main/1", First: first}}))
}

// fold works on a message that asks for a pass.
func (p *deployment) fold(t *testing.T) {
	t.Helper()
	m := job.Message{V: 1, Kind: stream.CompactKind, Tenant: "acme", Vault: "main", Incarnation: 1}
	require.NoError(t, p.worker.CompactMessage(t.Context(), m))
}

// file is the text of a file beside the notes; empty where there is none.
func (p *deployment) file(t *testing.T, path string) string {
	t.Helper()
	text, _, err := p.notes.Get(t.Context(), path, 0, -1)
	if err != nil {
		require.ErrorIs(t, err, blob.ErrNotExist)
	}
	return string(text)
}

// verified holds that the audit log has all lines of the log, and verifies.
func (p *deployment) verified(t *testing.T) {
	t.Helper()
	own, err := p.calls.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	file, err := own.AuditFile(t.Context(), "main")
	require.NoError(t, err)
	done, err := p.vault.Verify(t.Context(), file)
	require.NoError(t, err)
	require.Equal(t, done.Version, file.Cursor.Seq, "it has all commits")
	var all strings.Builder
	for lines, err := range p.vault.AuditLog(t.Context()) {
		require.NoError(t, err)
		all.Write(lines)
	}
	var files strings.Builder
	for _, month := range file.Months {
		text, err := file.Closed(t.Context(), month)
		require.NoError(t, err)
		files.Write(text)
	}
	files.WriteString(p.file(t, vault.AuditLog))
	require.Equal(t, all.String(), files.String())
}

const traits = "traits:\n  due:\n    type: date\n"

// TestAuditFollows holds that a line is in the audit log a minute after its write, that a month is closed, and that a
// pass without anything new reads no file.
func TestAuditFollows(t *testing.T) {
	p := newDeployment(t)
	p.ring(t, p.write(t, "schema.yaml", traits))
	p.ring(t, p.write(t, "a.md", "- @due(2026-11-01)\n"))
	sent := p.queue.take()
	require.Len(t, sent, 1)
	require.Equal(t, stream.CompactKind, sent[0].Kind)
	require.LessOrEqual(t, sent[0].After, 90*time.Second)
	require.Empty(t, p.file(t, vault.AuditLog))
	p.now = p.now.Add(sent[0].After)
	require.NoError(t, p.worker.CompactMessage(t.Context(), sent[0]))
	require.Contains(t, p.file(t, vault.AuditLog), `"parent":"a"`)
	p.verified(t)

	p.bucket.calls = 0
	p.fold(t)
	require.Zero(t, p.bucket.calls)
	p.now = p.now.Add(24 * time.Hour)
	p.ring(t, p.write(t, "a.md", "- @due(2026-11-02)\n"))
	require.Len(t, p.queue.take(), 1, "what is written behind a pass asks for another one")
	p.fold(t)
	require.Contains(t, p.file(t, vault.ClosedAudit("2026-10")), `"parent":"a"`)
	require.Equal(t, 1, strings.Count(p.file(t, vault.AuditLog), "\n"))
	p.verified(t)
}

// TestAuditIsMended holds that files which somebody cut or removed are made again, and that what a pass wrote without
// saying so is not written twice.
func TestAuditIsMended(t *testing.T) {
	p := newDeployment(t)
	p.write(t, "schema.yaml", traits)
	for i, change := range []func(){
		func() {},
		func() { require.NoError(t, p.notes.Delete(t.Context(), vault.AuditLog)) },
		func() {
			_, err := p.notes.Put(t.Context(), vault.AuditLog, []byte("cut"), blob.Always)
			require.NoError(t, err)
		},
		func() { // it was killed behind the write
			cursor, _ := p.cursor(t)
			p.write(t, "b.md", "- @due(2026-11-03)\n")
			p.fold(t)
			require.NoError(t, p.vault.Change(t.Context(), func(c *repo.Control) bool {
				c.Cursors["audit"] = cursor
				return true
			}))
		},
	} {
		p.write(t, "a.md", strings.Repeat("- @due(2026-11-01)\n", i+1))
		p.fold(t)
		change()
		p.write(t, "c.md", strings.Repeat("- @due(2026-11-02)\n", i+1))
		p.fold(t)
		p.verified(t)
	}
}

// cursor is that of the audit log.
func (p *deployment) cursor(t *testing.T) (eventlog.Cursor, repo.Control) {
	t.Helper()
	c, err := p.vault.Control(t.Context())
	require.NoError(t, err)
	return c.Cursors["audit"], c
}

// TestOnePass holds that a message waits while another process makes a pass, and not longer than that can take.
func TestOnePass(t *testing.T) {
	p := newDeployment(t)
	require.NoError(t, p.vault.Change(t.Context(), func(c *repo.Control) bool {
		c.Passing = &eventlog.Lease{Holder: "another", Until: p.now.Add(16 * time.Minute)}
		return true
	}))
	p.write(t, "a.md", "A\n")
	p.queue.take()
	p.fold(t)
	sent := p.queue.take()
	require.Len(t, sent, 1)
	require.Equal(t, 30*time.Second, sent[0].After)
	at, _ := p.cursor(t)
	require.Zero(t, at.Seq)
	p.now = p.now.Add(17 * time.Minute)
	p.fold(t)
	at, control := p.cursor(t)
	require.NotZero(t, at.Seq)
	require.Nil(t, control.Passing)
}

// TestErasedNote holds that a function which cannot follow the log leaves the erasure of a note to one that can, and
// that nothing of the note is in the files or the audit log then.
func TestErasedNote(t *testing.T) {
	p := newDeployment(t)
	p.write(t, "schema.yaml", traits)
	p.ring(t, p.write(t, "secret.md", "- @due(2026-11-01) hush\n"))
	p.ring(t, p.write(t, "other.md", "- @due(2026-11-01)\n"))
	p.fold(t)
	require.Contains(t, p.file(t, vault.AuditLog), "secret")
	require.NotEmpty(t, p.file(t, "secret.md"))
	p.queue.take()
	own, err := p.calls.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	done, err := own.EraseNote(t.Context(), eventlog.Call{Tool: "t"}, "main", "secret.md")
	require.NoError(t, err)
	require.Equal(t, job.Waiting, done.Job.State)
	for range 5 {
		for _, m := range p.queue.take() {
			if m.Job == "" {
				continue
			}
			p.now = p.now.Add(m.After)
			_, err := p.worker.Teams.WorkOn(t.Context(), m)
			require.NoError(t, err)
		}
	}
	it, err := own.Jobs().Get(t.Context(), done.Job.ID)
	require.NoError(t, err)
	require.Equal(t, job.Done, it.State, it.Error)
	require.Equal(t, []string{"main/secret.md"}, p.forgot)
	require.Empty(t, p.file(t, "secret.md"))
	require.NotContains(t, p.file(t, vault.AuditLog), "secret")
	require.NotEmpty(t, p.file(t, "other.md"))
	p.verified(t)
}
