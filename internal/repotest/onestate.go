package repotest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
)

// failedOnce are the seeds of histories that found a mistake.
var failedOnce = []uint64{1795785821285787263}

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
		require.NoError(c.t, c.live.Compact(ctx, eventlog.Compaction{All: true}))
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
	if soaking() {
		return 1000
	}
	return 80
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
