package repotest

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// examine holds all processes against what was told: those that run, and new ones with images and
// without.
func (c *chronicle) examine(ctx context.Context) {
	newest, err := c.live.Read(ctx)
	require.NoError(c.t, err)
	c.requireTold("who was told of each commit", newest)
	for i, v := range []*repo.Vault{c.others[0], c.others[1], c.fresh()} {
		x, err := v.Read(ctx)
		require.NoError(c.t, err)
		c.requireTold(fmt.Sprint("process ", i), x)
	}
	if version := newest.Version(); c.asked[version] == "" {
		c.asked[version] = c.answers(ctx, c.live, version)
	}
	c.requireAnswers(ctx, c.fresh(), newest.Version())
	for range 2 {
		c.requirePast(ctx, c.fresh(), c.r.Uint64N(newest.Version()+1))
	}
	c.requireAnswers(ctx, pick(c.r, c.others), c.anyAsked())
	if c.r.IntN(2) == 0 {
		c.rebuild(ctx)
	}
	if c.r.IntN(3) == 0 {
		c.withoutImages(ctx)
	}
}

// rebuild makes the index anew, in a process that runs or in a new one.
func (c *chronicle) rebuild(ctx context.Context) {
	v := c.any()
	x, err := v.Rebuild(ctx, c.r.IntN(2) == 0)
	require.NoError(c.t, err)
	c.requireTold("made anew", x)
	c.requireAnswers(ctx, v, x.Version())
}

// withoutImages loses all images, and begins anew.
func (c *chronicle) withoutImages(ctx context.Context) {
	c.dropImages(ctx, c.t, c.images(ctx, c.t))
	v := c.fresh()
	x, err := v.Read(ctx)
	require.NoError(c.t, err)
	c.requireTold("without images", x)
	c.requireAnswers(ctx, v, x.Version())
	c.requirePast(ctx, v, c.r.Uint64N(x.Version()+1))
}

// anyAsked is a version of which answers are known.
func (c *chronicle) anyAsked() uint64 {
	versions := make([]uint64, 0, len(c.asked))
	for v := range c.asked {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	return pick(c.r, versions)
}

// requireTold holds an index against what was told of its version.
func (c *chronicle) requireTold(who string, x *index.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.told[x.Version()].image
	require.True(c.t, bytes.Equal(was, x.AppendImage(nil)), "%s: v%d is not what it was\n%s",
		who, x.Version(), difference(was, x))
}

// requirePast holds a past state against what was told of it.
func (c *chronicle) requirePast(ctx context.Context, v *repo.Vault, version uint64) {
	x, err := v.At(ctx, version)
	require.NoError(c.t, err)
	require.Equal(c.t, version, x.Version())
	c.requireTold("as of", x)
}

// requireAnswers asks again of a version what was asked when it was the newest.
func (c *chronicle) requireAnswers(ctx context.Context, v *repo.Vault, version uint64) {
	require.Equal(c.t, c.asked[version], c.answers(ctx, v, version), "as of v%d", version)
}

// examineAll holds everything that was told against a new process: each version as of which something
// was asked, the commits, the times, the chain and the audit log.
func (c *chronicle) examineAll(ctx context.Context) {
	v := c.fresh()
	for version := range c.asked {
		c.requireAnswers(ctx, v, version)
	}
	seq, audit := uint64(0), []byte{}
	for commit, err := range v.Commits(ctx, 1) {
		require.NoError(c.t, err)
		seq++
		require.Equal(c.t, string(c.told[seq].commit), string(commitJSON(c.t, commit)))
		audit = append(audit, repo.AuditLines(commit)...)
	}
	require.Equal(c.t, c.version(), seq)
	c.requireTimes(ctx, v)
	var log []byte
	for lines, err := range pick(c.r, c.others).AuditLog(ctx) {
		require.NoError(c.t, err)
		log = append(log, lines...)
	}
	require.Equal(c.t, string(audit), string(log))
	done, err := v.Verify(ctx, &repo.AuditFile{Text: log, Cursor: eventlog.Cursor{Seq: seq}})
	require.NoError(c.t, err)
	require.Equal(c.t, repo.Verification{Version: seq, Lines: bytes.Count(log, []byte("\n"))}, done)
}

// requireTimes asks for the versions that were there at the times of some commits.
func (c *chronicle) requireTimes(ctx context.Context, v *repo.Vault) {
	for range 10 {
		at := c.told[1+c.r.IntN(len(c.told)-1)].time
		want := uint64(0)
		for i, told := range c.told[1:] {
			if !told.time.After(at) {
				want = uint64(i + 1)
			}
		}
		version, err := v.VersionAt(ctx, at)
		require.NoError(c.t, err)
		require.Equal(c.t, want, version, "at %s", at)
	}
}
