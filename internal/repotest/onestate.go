package repotest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rookery/internal/fault"
	"rookery/internal/repo"
)

// failedOnce are the seeds of histories that found a mistake.
var failedOnce = []uint64{}

// oneState holds that a version is one state (DESIGN §9), however somebody comes by it: who followed
// each commit, who starts from an image and the tail, from segments after the images were lost, who
// makes all anew, and who asks for it as of later. The history is random, and so is when it is folded,
// when processes begin anew, and what becomes of the images.
func oneState(t *testing.T, e Engine) {
	EachSeed(t, failedOnce, func(t *testing.T, seed uint64) {
		c := newChronicle(t, e, seed)
		for c.version() < uint64(historyLength()) && !t.Failed() {
			c.step(t.Context())
		}
		c.end(t.Context())
	})
}

// end lets everything leave the table, and examines all that there is.
func (c *chronicle) end(ctx context.Context) {
	c.examine(ctx)
	for range 3 {
		require.NoError(c.t, c.live.Fold(ctx, repo.Folding{All: true}))
		c.clock.Move(2 * time.Hour)
	}
	control, err := c.live.Control(ctx)
	require.NoError(c.t, err)
	require.Equal(c.t, c.version(), control.Low, "what is in segments and an image leaves the table")
	c.examine(ctx)
	c.examineAll(ctx)
	c.withoutImages(ctx)
	c.t.Logf("%d commits of %d calls, %d versions asked, did %v",
		c.version(), c.calls, len(c.asked), c.did)
}

// historyLength is how many commits a random history has.
func historyLength() int {
	switch {
	case os.Getenv("ROOKERY_SOAK") != "":
		return 1000
	case testing.Short():
		return 80
	}
	return 160
}

// An event is what may happen in a history, and how often among a hundred.
type event struct {
	name  string
	often int
	do    func(*chronicle, context.Context)
}

// events are all of them.
func events() []event {
	return []event{
		{"write", 60, func(c *chronicle, ctx context.Context) { c.write(ctx, c.live) }},
		{"other", 4, func(c *chronicle, ctx context.Context) { c.write(ctx, pick(c.r, c.others)) }},
		{"burst", 6, (*chronicle).burst},
		{"fold", 5, func(c *chronicle, ctx context.Context) { c.fold(ctx, c.live) }},
		{"together", 4, (*chronicle).foldTogether},
		{"hour", 4, func(c *chronicle, ctx context.Context) { c.pass(ctx, time.Hour) }},
		{"day", 1, func(c *chronicle, ctx context.Context) { c.pass(ctx, 24*time.Hour) }},
		{"restart", 3, (*chronicle).restart},
		{"lose", 3, (*chronicle).loseImages},
		{"damage", 2, (*chronicle).damageImage},
		{"trash", 1, (*chronicle).trash},
		{"replay", 3, func(c *chronicle, ctx context.Context) { c.replay(ctx, c.any()) }},
		{"examine", 4, (*chronicle).examine},
	}
}

// step does one thing: mostly it makes a change.
func (c *chronicle) step(ctx context.Context) {
	n := c.r.IntN(100)
	for _, e := range events() {
		if n -= e.often; n < 0 {
			c.did[e.name]++
			e.do(c, ctx)
			return
		}
	}
}

// any is some process: one that runs, or a new one.
func (c *chronicle) any() *repo.Vault {
	return pick(c.r, []*repo.Vault{c.live, c.others[0], c.others[1], c.fresh()})
}

// pass lets time pass, and folds what that makes due.
func (c *chronicle) pass(ctx context.Context, d time.Duration) {
	c.clock.Move(d + time.Minute)
	c.fold(ctx, c.any())
}

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
func (c *chronicle) folding() repo.Folding {
	f := repo.Folding{All: c.r.IntN(5) > 0}
	if c.r.IntN(3) > 0 {
		f.Behind = []string{follower}
	}
	return f
}

// fold moves the log outward, after the follower has come on some way.
func (c *chronicle) fold(ctx context.Context, v *repo.Vault) {
	to := c.version() - c.r.Uint64N(min(c.version(), 20))
	require.NoError(c.t, c.live.Advance(ctx, follower, repo.Cursor{Seq: to}))
	require.NoError(c.t, v.Fold(ctx, c.folding()))
}

// foldTogether lets several processes fold at once, while others write.
func (c *chronicle) foldTogether(ctx context.Context) {
	folders := []*repo.Vault{c.live, c.fresh(), pick(c.r, c.others)}
	how := []repo.Folding{c.folding(), c.folding(), c.folding()}
	changes := []change{c.draw(ctx), c.draw(ctx), c.draw(ctx)}
	together(6, func(i int) {
		if i >= 3 {
			c.made(ctx, c.live, changes[i-3])
		} else if err := folders[i].Fold(ctx, how[i]); err != nil {
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

// images are the keys of the images that there are.
func (c *chronicle) images(ctx context.Context) []string {
	var keys []string
	for o, err := range c.Bucket.List(ctx, "image/") {
		require.NoError(c.t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

// loseImages deletes all images, or one of them.
func (c *chronicle) loseImages(ctx context.Context) {
	keys := c.images(ctx)
	if len(keys) > 0 && c.r.IntN(2) == 0 {
		keys = []string{pick(c.r, keys)}
	}
	for _, key := range keys {
		require.NoError(c.t, c.Bucket.Delete(ctx, key))
	}
}

// trash puts the vault in the trash and takes it out again. Meanwhile it is folded, and begun anew;
// nothing is read or written.
func (c *chronicle) trash(ctx context.Context) {
	call, late := repo.Call{Who: repo.Who{Principal: "ann"}, Tool: "trash"}, c.draw(ctx)
	require.NoError(c.t, c.live.SetStatus(ctx, call, repo.Trashed))
	c.fold(ctx, c.live)
	c.fold(ctx, c.fresh())
	for _, v := range []*repo.Vault{c.live, c.others[0], c.others[1], c.fresh()} {
		_, err := v.Read(ctx)
		require.True(c.t, fault.Is(err, fault.NotFound), "%v", err)
		_, err = late.make(ctx, v)
		require.True(c.t, fault.Is(err, fault.NotFound), "%v", err)
	}
	call.Tool = "restore"
	require.NoError(c.t, c.any().SetStatus(ctx, call, repo.Active))
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
