package crashdisk_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// failed are seeds with which a fault was found once.
var failed = []uint64{
	4506684335765202590, // a note that was removed came back: what was moved aside was put back
	947828081491949384,  // a note that was removed and made again was missing: it counted as removed by somebody
}

// TestFolderForgets takes the power from a machine whose folder forgets what was not synced.
func TestFolderForgets(t *testing.T) {
	t.Parallel()
	everySeed(t, func(t *testing.T) machine { return newSeamed(t) })
}

// TestDiskForgets takes the power from a machine whose database and folder lie on one file system
// that forgets what was not synced.
func TestDiskForgets(t *testing.T) {
	t.Parallel()
	everySeed(t, newForgetful)
}

// everySeed runs the seeds that failed, and new ones; ROOKERY_SOAK=1 runs many.
func everySeed(t *testing.T, boot func(*testing.T) machine) {
	seeds, lives := slices.Clone(failed), many(4, 20)
	for range many(1, 5) {
		seeds = append(seeds, rand.Uint64())
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := &history{m: boot(t), r: rand.New(rand.NewPCG(seed, 0))}
			for n := range lives {
				h.live(t, n)
			}
			h.last(t)
			t.Logf("%d power cuts, %d deeds", lives, len(h.deeds))
		})
	}
}

// A history is what happened to one machine.
type history struct {
	m     machine
	r     *rand.Rand
	deeds []*deed // all that anybody asked for
}

// live is what happens until the power is gone. Some lives end before they have quite begun, some
// while they come to a good end.
func (h *history) live(t *testing.T, n int) {
	switch h.r.IntN(5) {
	case 0:
		h.m.cutAfter(h.r.IntN(60), h.r.Uint64())
	case 1:
		l, c := h.begin(t, n)
		h.work(t, l, c)
		h.m.cutAfter(h.r.IntN(60), h.r.Uint64())
		h.finish(c)
		_ = l.end() // the power may be gone already
	case 2:
		l, c := h.begin(t, n)
		h.work(t, l, c)
		h.finish(c)
		h.end(t, l)
		fallthrough
	default:
		l, c := h.begin(t, n+100)
		h.work(t, l, c)
		h.m.cutAfter(h.r.IntN(200), h.r.Uint64())
		h.m.wait()
		h.finish(c)
		_ = l.end() // the power is gone, and with it what it could say
		h.m.reboot()
		return
	}
	h.untilCut(t, n+200)
	h.m.reboot()
}

// begin opens the vault, which must be as it was left, and lets clients write to it.
func (h *history) begin(t *testing.T, n int) (*life, *clients) {
	t.Helper()
	l, err := live(t.Context(), h.m)
	require.NoError(t, err)
	h.require(t, l)
	return l, startClients(l, 1+h.r.IntN(4), n, h.r)
}

// work waits for some deeds, or until what was written is durable in the folder as well, and takes
// in what was acknowledged.
func (h *history) work(t *testing.T, l *life, c *clients) {
	t.Helper()
	for range 1 + h.r.IntN(12) {
		<-c.acks
	}
	if h.r.IntN(4) == 0 {
		c.pause(func() {
			durable := func() bool { return savedTo(t, l) == l.vault.Known().Version() }
			require.Eventually(t, durable, time.Minute, 10*time.Millisecond)
		})
	}
	h.deeds = append(h.deeds, c.told()...)
}

// savedTo is how far the folder is durable, as the log knows.
func savedTo(t *testing.T, l *life) uint64 {
	t.Helper()
	control, err := l.vault.Control(t.Context())
	require.NoError(t, err)
	return control.Cursors["checkout"].Seq
}

// untilCut writes until a power cut that may come at any time, also while the vault is opened.
func (h *history) untilCut(t *testing.T, n int) {
	t.Helper()
	l, err := live(t.Context(), h.m)
	if err == nil {
		c := startClients(l, 2, n, h.r)
		h.m.wait()
		h.finish(c)
	} else {
		h.m.wait()
	}
	_ = l.end() // the power is gone, and with it what it could say
}

// finish stops the clients. Of the deeds that were not taken in yet, nobody knows whether they were
// acknowledged before the power went.
func (h *history) finish(c *clients) {
	c.stop()
	known := map[string]bool{}
	for _, d := range h.deeds {
		known[d.name] = true
	}
	for _, d := range c.told() {
		if !known[d.name] {
			d.acked = false
			h.deeds = append(h.deeds, d)
		}
	}
}

// last is a life without a power cut.
func (h *history) last(t *testing.T) {
	t.Helper()
	l, err := live(t.Context(), h.m)
	require.NoError(t, err)
	h.require(t, l)
	h.end(t, l)
	h.m.stop()
}

// end ends a life as it should end.
func (h *history) end(t *testing.T, l *life) {
	t.Helper()
	l.teams.Close()
	requireAudit(t, l)
	require.NoError(t, l.bucket.Close())
	require.NoError(t, l.close())
}

// require requires that everything that was acknowledged is there, once, in log, index, text and
// file, that nothing else is, and that all goes on from there.
func (h *history) require(t *testing.T, l *life) {
	t.Helper()
	requireInStep(t, l)
	requireRepeated(t, l, h.deeds)
	state := requireInStep(t, l)
	commits := map[string]int{}
	for _, c := range logOf(t, l) {
		commits[c.Tool]++
	}
	for _, d := range h.deeds {
		n := commits[d.name]
		if d.acked {
			require.Equal(t, 1, n, "%s was acknowledged", d.name)
		}
		require.LessOrEqual(t, n, 1, d.name)
		if d.line != "" {
			require.Equal(t, n, strings.Count(state[string(d.line)], d.name+"\n"), d.name)
		}
	}
}

func logOf(t *testing.T, l *life) []*eventlog.Commit {
	t.Helper()
	var all []*eventlog.Commit
	for c, err := range l.vault.Commits(t.Context(), 1) {
		require.NoError(t, err)
		require.EqualValues(t, len(all)+1, c.Seq)
		all = append(all, c)
	}
	return all
}

// requireInStep requires that log, index, texts, files and the sweep say the same, and returns it.
func requireInStep(t *testing.T, l *life) map[string]string {
	t.Helper()
	commits := logOf(t, l)
	state := map[string]string{}
	for _, c := range commits {
		for _, n := range c.Notes {
			if n.Deleted {
				delete(state, n.Path)
			} else {
				state[n.Path] = string(n.Text)
			}
		}
	}
	idx, err := l.vault.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, len(commits), idx.Version())
	texts := map[string]string{}
	for f := range idx.Files() {
		text, err := l.vault.Text(t.Context(), f.Body)
		require.NoError(t, err)
		texts[f.Path] = string(text)
	}
	requireSame(t, state, texts, "the index")
	files, err := l.files(t.Context())
	require.NoError(t, err)
	repotest.TakeAudit(files) // which follows within a second
	requireSame(t, state, files, "the folder")
	taken, err := l.folder.Reindex(t.Context(), checkout.IngestOptions{})
	require.NoError(t, err)
	require.Zero(t, taken, "no file of ours is taken for an edit")
	requireNothingNew(t, l, commits)
	return state
}

func requireSame(t *testing.T, want, got map[string]string, where string) {
	t.Helper()
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), where)
	for path, text := range want {
		require.True(t, text == got[path], "%s in %s: %d bytes instead of %d",
			path, where, len(got[path]), len(text))
	}
}

// requireNothingNew requires that what lies aside in the folder is a text of the log, or what is
// left of one.
func requireNothingNew(t *testing.T, l *life, commits []*eventlog.Commit) {
	t.Helper()
	for d, err := range l.bucket.Displaced(t.Context()) {
		require.NoError(t, err)
		path := strings.TrimPrefix(d.Key, "tenants/a/vaults/v/notes/")
		known := slices.ContainsFunc(commits, func(c *eventlog.Commit) bool {
			return slices.ContainsFunc(c.Notes, func(n eventlog.Note) bool {
				return n.Path == path && tornFrom(d.Data, n.Text)
			})
		})
		require.True(t, known, "%d bytes of nobody at %s", len(d.Data), path)
	}
}

// tornFrom reports whether found is text, with parts of it missing or zero.
func tornFrom(found, text []byte) bool {
	if len(found) > len(text) {
		return false
	}
	for i, b := range found {
		if b != 0 && b != text[i] {
			return false
		}
	}
	return true
}

// requireAudit requires that the audit log tells every event of the log, once. The checkout must be
// closed.
func requireAudit(t *testing.T, l *life) {
	t.Helper()
	var want bytes.Buffer
	for _, c := range logOf(t, l) {
		want.Write(repo.AuditLines(c))
	}
	files, err := l.files(t.Context())
	require.NoError(t, err)
	require.Equal(t, want.String(), repotest.TakeAudit(files))
}
