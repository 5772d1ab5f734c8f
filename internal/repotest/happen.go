package repotest

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
)

// write makes one change, and lets a second pass.
func (c *chronicle) write(ctx context.Context, v *repo.Vault) {
	c.made(ctx, v, c.draw(ctx))
	_, err := c.live.Read(ctx)
	require.NoError(c.t, err)
	c.clock.Move(time.Second)
}

// made makes a change, and keeps it if a repetition is to be answered as it was.
func (c *chronicle) made(ctx context.Context, v *repo.Vault, ch change) {
	receipt, err := ch.make(ctx, v)
	if err != nil {
		c.t.Errorf("%s %q: %v", ch.call.Tool, ch.call.Request, err)
	}
	if ch.call.Key == "" || receipt.Seq == 0 || ch.call.DryRun {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keyed = append(c.keyed, keyedCall{ch, receipt.Seq, c.clock.Now()})
}

// burst lets several processes make changes at once, so that runs hold several commits.
func (c *chronicle) burst(ctx context.Context) {
	changes := make([]change, 4+c.r.IntN(12))
	vaults := make([]*repo.Vault, len(changes))
	for i := range changes {
		changes[i], vaults[i] = c.draw(ctx), c.live
		if c.r.IntN(4) == 0 {
			vaults[i] = pick(c.r, c.others)
		}
	}
	together(len(changes), func(i int) { c.made(ctx, vaults[i], changes[i]) })
	_, err := c.live.Read(ctx)
	require.NoError(c.t, err)
	c.clock.Move(time.Second)
}

// folding is how the next pass folds: for the follower, or for nobody, so that the image in force
// may be one that the follower has not passed.
func (c *chronicle) folding() eventlog.Compaction {
	f := eventlog.Compaction{All: c.r.IntN(5) > 0}
	if c.r.IntN(3) > 0 {
		f.Behind = []string{follower}
	}
	return f
}

// fold moves the log outward, after the follower has come on some way.
func (c *chronicle) fold(ctx context.Context, v *repo.Vault) {
	to := c.version() - c.r.Uint64N(min(c.version(), 20))
	require.NoError(c.t, c.live.Advance(ctx, follower, eventlog.Cursor{Seq: to}))
	require.NoError(c.t, v.Compact(ctx, c.folding()))
}

// foldTogether lets several processes fold at once, while others write.
func (c *chronicle) foldTogether(ctx context.Context) {
	folders := []*repo.Vault{c.live, c.fresh(), pick(c.r, c.others)}
	how := []eventlog.Compaction{c.folding(), c.folding(), c.folding()}
	changes := []change{c.draw(ctx), c.draw(ctx), c.draw(ctx)}
	together(6, func(i int) {
		if i >= 3 {
			c.made(ctx, c.live, changes[i-3])
		} else if err := folders[i].Compact(ctx, how[i]); err != nil {
			c.t.Errorf("fold together: %v", err)
		}
	})
	_, err := c.live.Read(ctx)
	require.NoError(c.t, err)
}

// restart lets a process begin anew: the one that tells of commits, behind the cursor, or another.
func (c *chronicle) restart(ctx context.Context) {
	if i := c.r.IntN(3); i < len(c.others) {
		c.others[i] = c.fresh()
		return
	}
	control, err := c.live.Control(ctx)
	require.NoError(c.t, err)
	c.live = c.process(control.Cursors[follower].Seq)
	_, err = c.live.Read(ctx)
	require.NoError(c.t, err)
}

// trash puts the vault in the trash and takes it out again. Meanwhile it is folded, and begun anew;
// nothing is read or written.
func (c *chronicle) trash(ctx context.Context) {
	call, late := eventlog.Call{Who: eventlog.Who{Principal: "ann"}, Tool: "trash"}, c.draw(ctx)
	require.NoError(c.t, c.live.SetStatus(ctx, call, eventlog.Trashed))
	c.fold(ctx, c.live)
	c.fold(ctx, c.fresh())
	for _, v := range []*repo.Vault{c.live, c.others[0], c.others[1], c.fresh()} {
		_, err := v.Read(ctx)
		require.True(c.t, fault.Is(err, fault.NotFound), "%v", err)
		_, err = late.make(ctx, v)
		require.True(c.t, fault.Is(err, fault.NotFound), "%v", err)
	}
	call.Tool = "restore"
	require.NoError(c.t, c.any().SetStatus(ctx, call, eventlog.Active))
	_, err := c.live.Read(ctx)
	require.NoError(c.t, err)
}

// replay repeats a call with an idempotency key of the last day: it is answered as it was, and nothing
// is written. An older key is forgotten.
func (c *chronicle) replay(ctx context.Context, v *repo.Vault) {
	for len(c.keyed) > 0 && c.clock.Now().Sub(c.keyed[0].made) > 23*time.Hour {
		c.keyed = c.keyed[1:]
	}
	if len(c.keyed) == 0 {
		return
	}
	k := pick(c.r, c.keyed)
	before := c.version()
	receipt, err := k.make(ctx, v)
	require.NoError(c.t, err)
	require.Equal(c.t, k.seq, receipt.Seq, "%s with %s", k.call.Tool, k.call.Key)
	require.NotNil(c.t, receipt.Replayed)
	require.False(c.t, receipt.Changed)
	_, err = c.live.Read(ctx)
	require.NoError(c.t, err)
	require.Equal(c.t, before, c.version(), "a repetition wrote")
}
