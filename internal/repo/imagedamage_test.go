package repo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// TestADamagedImage changes each byte of an image in turn. It checks that a process that starts
// with it has the state and the idempotency keys of the log.
func TestADamagedImage(t *testing.T) {
	e, clock := engine(t), repotest.NewClock()
	open := func() *repo.Vault {
		v, err := repo.NewVault(repo.VaultOptions{
			Name: "v", Part: "v", Table: e.Table, Bucket: e.Bucket, Texts: repo.NewTexts(1 << 20),
			Now: clock.Now,
		})
		require.NoError(t, err)
		return v
	}
	keyed := eventlog.Call{
		Who: eventlog.Who{Principal: "ann"}, Tool: "write", Key: "k", Request: []byte("request"),
	}
	write := func(v *repo.Vault) repo.Receipt {
		r, err := v.Update(t.Context(), keyed, func(ctx context.Context, tx *repo.Tx) (any, error) {
			return "answer", tx.Put(ctx, "a.md", []byte("# A\n"))
		})
		require.NoError(t, err)
		return r
	}
	v := open()
	require.NoError(t, v.Create(t.Context(), eventlog.Call{Tool: "create"}, nil))
	first := write(v)
	require.NoError(t, v.Compact(t.Context(), eventlog.Compaction{All: true}))
	want, err := v.Read(t.Context())
	require.NoError(t, err)
	for o, err := range e.Bucket.List(t.Context(), "image/") {
		require.NoError(t, err)
		sound, _, err := e.Bucket.Get(t.Context(), o.Key, 0, -1)
		require.NoError(t, err)
		for i := 0; i < len(sound); i += 1 + i/200 {
			damaged := append([]byte{}, sound...)
			damaged[i] ^= 0x20
			_, err := e.Bucket.Put(t.Context(), o.Key, damaged, blob.Always)
			require.NoError(t, err)
			v := open()
			x, err := v.Read(t.Context())
			require.NoError(t, err, "byte %d of %d", i, len(sound))
			require.Equal(t, want.AppendImage(nil), x.AppendImage(nil), "byte %d of %d", i, len(sound))
			again := write(v)
			require.Equal(t, first.Seq, again.Seq)
			require.JSONEq(t, `"answer"`, string(again.Replayed), "byte %d of %d", i, len(sound))
		}
	}
}
