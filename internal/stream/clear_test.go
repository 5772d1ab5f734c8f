package stream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vault"
)

// trashed is a plant whose vault is in the trash, with files of its own and of others.
func trashed(t *testing.T) (*deployment, *tenant.Tenant) {
	t.Helper()
	p := newDeployment(t)
	p.write(t, "schema.yaml", traits)
	p.ring(t, p.write(t, "old.md", "one\n"))
	p.write(t, "old.md", "two\n")
	p.write(t, "due.md", "- @due(2026-11-01)\n")
	p.ring(t, p.write(t, "mine.md", "mine\n"))
	p.ring(t, p.write(t, "gone.md", "gone\n"))
	p.ring(t, p.write(t, "gone.md", ""))
	p.fold(t)
	p.now = p.now.Add(24 * time.Hour)
	p.ring(t, p.write(t, "due.md", "- @due(2026-11-02)\n"))
	p.fold(t)
	require.NotEmpty(t, p.file(t, vault.AuditLog))
	require.NotEmpty(t, p.file(t, vault.ClosedAudit("2026-10")))
	for path, text := range map[string]string{
		"old.md": "one\n", "mine.md": "of a person\n", "theirs.md": "one\n", "gone.md": "gone\n",
	} {
		_, err := p.notes.Put(t.Context(), path, []byte(text), blob.Always)
		require.NoError(t, err)
	}
	own, err := p.calls.Tenant(t.Context(), "acme")
	require.NoError(t, err)
	_, err = own.Trash(t.Context(), eventlog.Call{Tool: "t"}, "main", func(tenant.Entry) any { return nil })
	require.NoError(t, err)
	p.queue.take()
	return p, own
}

// clear works on a message that asks for the files of the vault to be removed.
func (p *deployment) clear(t *testing.T) error {
	t.Helper()
	m := job.Message{V: 1, Kind: stream.ClearKind, Tenant: "acme", Vault: "main", Incarnation: 1}
	return p.worker.Clear(t.Context(), m)
}

// left are all files, and their texts.
func (p *deployment) left(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for o, err := range p.notes.List(t.Context(), "") {
		require.NoError(t, err)
		all[o.Key] = p.file(t, o.Key)
	}
	return all
}

// made makes the vault once more.
func made(t *testing.T, own *tenant.Tenant) error {
	t.Helper()
	_, err := own.Create(t.Context(), eventlog.Call{Tool: "t"}, tenant.NewVault{Name: "main"}, func(tenant.Entry) any { return nil })
	return err
}

// TestClear holds that the files of a vault are removed when its time in the trash is over, but for those of others, and
// that its name is free only then.
func TestClear(t *testing.T) {
	p, own := trashed(t)
	before := p.left(t)
	require.NoError(t, p.clear(t))
	require.Equal(t, before, p.left(t), "it can be restored")
	require.Equal(t, fault.DuplicateID, fault.Of(made(t, own)).Code)
	p.now = p.now.Add(tenant.TrashLife)
	refused := fault.Of(made(t, own))
	require.Equal(t, fault.DuplicateID, refused.Code)
	require.NotZero(t, refused.RetryAfter)

	theirs := map[string]string{"mine.md": "of a person\n", "theirs.md": "one\n"}
	require.NoError(t, p.clear(t))
	require.Equal(t, theirs, p.left(t))
	require.NoError(t, made(t, own))
	v, err := own.Vault(t.Context(), "main")
	require.NoError(t, err)
	p.vault = v
	seq := p.write(t, "old.md", "one\n")
	require.NoError(t, p.worker.Wake(t.Context(), []stream.Notification{{Part: "acme/main/2", First: seq}}))
	require.NoError(t, p.clear(t), "the message comes again")
	require.Equal(t, "one\n", p.file(t, "old.md"))
	require.NoError(t, p.worker.Clear(t.Context(), job.Message{V: 1, Kind: stream.ClearKind, Tenant: "none", Vault: "main"}))
}

// TestClearWaits holds that of two messages one waits while the other is worked on.
func TestClearWaits(t *testing.T) {
	p, own := trashed(t)
	p.now = p.now.Add(tenant.TrashLife)
	f, due, err := own.Uncleared(t.Context(), "main", 1)
	require.NoError(t, err)
	require.True(t, due)
	before := p.left(t)
	require.NoError(t, f.Vault.Change(t.Context(), func(c *repo.Control) bool {
		c.Passing = &eventlog.Lease{Holder: "another", Until: p.now.Add(time.Minute)}
		return true
	}))
	require.NoError(t, p.clear(t))
	require.Equal(t, before, p.left(t))
	sent := p.queue.take()
	require.Len(t, sent, 1)
	require.Equal(t, stream.ClearKind, sent[0].Kind)
	require.Equal(t, 30*time.Second, sent[0].After)
}

// TestClearCrashed holds that a process which ends before any of its calls of the bucket leaves the name taken, and that
// the next message finishes what it began.
func TestClearCrashed(t *testing.T) {
	for at := 1; ; at++ {
		p, own := trashed(t)
		p.now = p.now.Add(tenant.TrashLife)
		p.bucket.calls, p.bucket.from = 0, at
		err := p.clear(t)
		p.bucket.from = 0
		if err == nil {
			require.Greater(t, at, 5)
			return
		}
		require.Equal(t, fault.DuplicateID, fault.Of(made(t, own)).Code)
		require.NoError(t, p.clear(t))
		require.Equal(t, map[string]string{"mine.md": "of a person\n", "theirs.md": "one\n"}, p.left(t))
		require.NoError(t, made(t, own))
	}
}
