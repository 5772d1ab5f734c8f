package ingest_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/ingest"
	"github.com/rookeryhq/rookery/internal/repo"
)

const song = "# Song\n\none\ntwo\nthree\n"

// TestTakesIn holds that what a person does to files is in the log, as one commit, and that files agree with it then.
func TestTakesIn(t *testing.T) {
	b := newBed(t)
	b.write(t, "a.md", song, "b.md", "B\n", "c.md", "C\n")
	b.settle(t)
	b.pass(time.Minute)
	require.Zero(t, b.reindexes(t))
	b.save(t, "a.md", song+"mine\n")
	b.save(t, "people/new.md", "new\n")
	b.rm(t, "b.md")
	b.save(t, "moved/c.md", "C\n")
	b.rm(t, "c.md")
	b.notice(t)
	require.Equal(t, []string{"a.md", "b.md", "c.md", "moved/c.md", "people/new.md"}, b.control(t).Noticed.Paths)
	require.Equal(t, repo.Pending, b.control(t).Freshness(b.now()))
	b.settle(t)
	b.agree(t, map[string]string{"a.md": song + "mine\n", "moved/c.md": "C\n", "people/new.md": "new\n"})
	require.Equal(t, 1, b.reindexes(t))
	var last *eventlog.Commit
	for c, err := range b.agent.Commits(t.Context(), 2) {
		require.NoError(t, err)
		last = c
	}
	require.Equal(t, eventlog.Who{Principal: ingest.Principal}, last.Who)
	for _, n := range last.Notes {
		if n.Path == "moved/c.md" {
			require.Equal(t, "c.md", n.From, "a note that moved is the same note")
		}
	}
	b.settle(t)
	require.Equal(t, 1, b.reindexes(t))
}

// TestEchoesAreNothing holds that files which were written from the log make no commit, whatever came since, and cost a
// read each and a Query for all of a batch.
func TestEchoesAreNothing(t *testing.T) {
	b := newBed(t)
	for i := range 1000 {
		b.write(t, fmt.Sprintf("%d.md", i%50), fmt.Sprintf("text %d\n", i))
		if i%7 == 0 {
			b.follow(t)
		}
		if i%20 == 0 {
			b.notice(t)
		}
	}
	b.settle(t)
	require.Zero(t, b.reindexes(t))
	require.Nil(t, b.control(t).Noticed)

	for i := range 100 {
		b.write(t, fmt.Sprintf("%d.md", i), "newest\n")
	}
	b.follow(t)
	c := &cutter{}
	p := b.process(t, c)
	_, err := p.Vault.Read(t.Context()) // the process knows the vault
	require.NoError(t, err)
	c.reset()
	require.NoError(t, p.Notice(t.Context(), b.take(), b.ask))
	requests(t, &cutter{n: 101, queries: 1, reads: 100}, c)
	require.Empty(t, b.asks)
}

// requests requires that so many requests were made.
func requests(t *testing.T, want, got *cutter) {
	t.Helper()
	list := func(c *cutter) []int { return []int{c.n, c.queries, c.gets, c.writes, c.reads, c.puts, c.lists} }
	require.Equal(t, list(want), list(got), "all, Queries, Gets and writes of the table, reads, writes and lists of files")
}

// TestRequests holds what the taking in of one edit costs.
func TestRequests(t *testing.T) {
	b := newBed(t)
	b.write(t, "a.md", song)
	b.settle(t)
	b.pass(time.Minute)
	c := &cutter{}
	p := b.process(t, c)
	_, err := p.Vault.Read(t.Context())
	require.NoError(t, err)
	b.save(t, "a.md", song+"mine\n")
	c.reset()
	require.NoError(t, p.Notice(t.Context(), b.take(), b.ask))
	requests(t, &cutter{n: 7, queries: 2, reads: 1, gets: 2, writes: 2}, c)
	require.Equal(t, []time.Duration{3 * time.Second}, b.asks)
	b.pass(3 * time.Second)
	c.reset()
	again, err := p.Close(t.Context())
	require.NoError(t, err)
	require.Zero(t, again)
	requests(t, &cutter{n: 15, queries: 8, gets: 1, writes: 5, reads: 1}, c)
}

// TestStaleCopyIsMerged holds that a copy which is older than the log is merged on the text that it began with.
func TestStaleCopyIsMerged(t *testing.T) {
	above := func(text, line string) string {
		return strings.Replace(text, "# Song\n", "# Song\n\n"+line+"\n", 1)
	}
	t.Run("nearest is base", func(t *testing.T) {
		b := newBed(t)
		now := song
		b.write(t, "a.md", now)
		for i := range 7 { // a week of commits
			now = above(now, fmt.Sprintf("day %d", i))
			b.write(t, "a.md", now)
			b.follow(t)
			b.pass(24 * time.Hour)
		}
		b.settle(t)
		b.save(t, "a.md", song+"mine\n")
		b.settle(t)
		b.agree(t, map[string]string{"a.md": now + "mine\n"})
	})
	t.Run("saved again", func(t *testing.T) {
		b := newBed(t)
		b.write(t, "a.md", song)
		b.settle(t)
		b.pass(time.Hour)
		b.write(t, "a.md", above(song, "ours"))
		b.follow(t)
		for range 3 { // by a program that has not read it since
			b.pass(2 * time.Second)
			b.save(t, "a.md", song)
			b.settle(t)
			b.agree(t, map[string]string{"a.md": above(song, "ours")})
		}
		b.pass(2 * time.Minute)
		b.save(t, "a.md", song)
		b.settle(t)
		b.agree(t, map[string]string{"a.md": song})
	})
	t.Run("overlap", func(t *testing.T) {
		b := newBed(t)
		b.write(t, "a.md", song)
		b.settle(t)
		b.pass(time.Minute)
		b.save(t, "a.md", strings.Replace(song, "two", "theirs", 1))
		b.pass(5 * time.Second)
		b.write(t, "a.md", strings.Replace(song, "two", "ours", 1))
		b.settle(t)
		b.agree(t, map[string]string{
			"a.md":             strings.Replace(song, "two", "ours", 1),
			"a.conflict-v4.md": strings.Replace(song, "two", "theirs", 1),
		})
	})
	t.Run("removed, and changed since", func(t *testing.T) {
		b := newBed(t)
		b.write(t, "a.md", song, "b.md", song, "c.md", song)
		b.settle(t)
		b.pass(time.Minute)
		b.write(t, "c.md", song+"a moment before\n") // it is not in the file yet
		b.pass(time.Second)
		b.rm(t, "c.md")
		b.rm(t, "a.md")
		b.rm(t, "b.md")
		b.pass(time.Second)
		b.write(t, "a.md", song+"since\n")
		b.settle(t)
		b.agree(t, map[string]string{"a.md": song + "since\n", "c.md": song + "a moment before\n"})
	})
	t.Run("written while it could not be read", func(t *testing.T) {
		for why, bad := range map[repo.Reason]string{
			repo.LeftEncoding: "t\xe9st\n", repo.LeftSize: strings.Repeat("a very long line\n", repo.MaxNote/16),
		} {
			b := newBed(t)
			b.write(t, "a.md", song)
			b.settle(t)
			b.pass(time.Hour)
			b.save(t, "a.md", bad)
			b.settle(t)
			left := &repo.Left{Count: 1, Files: []repo.LeftFile{{Path: "a.md", Why: why}}}
			require.Equal(t, left, b.control(t).Left)
			b.write(t, "a.md", above(song, "ours"))
			b.settle(t)
			require.Equal(t, bad, b.inFiles(t)["a.md"])
			b.pass(time.Hour)
			b.save(t, "a.md", song)
			b.settle(t)
			b.agree(t, map[string]string{"a.md": above(song, "ours")})
			require.Nil(t, b.control(t).Left)
			require.Empty(t, b.items(t, "left/"))
		}
	})
}

// TestNotNotes holds that what can be no note stays as it is, and is told until it is gone.
func TestNotNotes(t *testing.T) {
	b := newBed(t)
	b.write(t, "note.md", song)
	b.settle(t)
	for path, text := range map[string]string{
		"con.md": "x\n", "cafe\u0301.md": "x\n", "latin.md": "t\xe9st\n", "Note.md": "x\n",
		".hidden.md": "x\n", ".trash/gone.md": "x\n", "picture.png": "x\n", "schema.yaml": "types: {}\n",
	} {
		b.save(t, path, text)
	}
	b.settle(t)
	require.Equal(t, &repo.Left{Count: 4, Twins: 1, Files: []repo.LeftFile{
		{Path: "Note.md", Why: repo.LeftTwin}, {Path: "cafe\u0301.md", Why: repo.LeftName},
		{Path: "con.md", Why: repo.LeftName}, {Path: "latin.md", Why: repo.LeftEncoding},
	}}, b.control(t).Left)
	require.Equal(t, map[string]string{"note.md": song, "schema.yaml": "types: {}\n"}, b.inLog(t))
	require.Len(t, b.inFiles(t), 9)
	for _, path := range []string{"con.md", "cafe\u0301.md", "Note.md"} {
		b.rm(t, path)
	}
	b.save(t, "latin.md", "test\n")
	b.settle(t)
	require.Nil(t, b.control(t).Left)
	require.Empty(t, b.items(t, "left/"))
	require.Equal(t, "test\n", b.inLog(t)["latin.md"])
	b.pass(time.Minute)
	b.rm(t, "note.md")
	b.save(t, "Note.md", song+"and more\n")
	b.settle(t)
	require.Equal(t, song+"and more\n", b.inLog(t)["Note.md"], "another spelling of a name is the same note")
	require.NotContains(t, b.inLog(t), "note.md")
}

// TestMassRemovalIsHeld holds that what would take away too much waits for a word, whole, however its events come.
func TestMassRemovalIsHeld(t *testing.T) {
	n, batches := sized(5010, 130), 40
	setup := func(t *testing.T) (b *bed, before map[string]string) {
		b = newBed(t)
		var pairs []string
		for i := range n {
			pairs = append(pairs, fmt.Sprintf("%03d.md", i), fmt.Sprintf("text %d\n", i))
		}
		b.write(t, pairs...)
		b.settle(t)
		b.pass(time.Hour)
		before = b.inLog(t)
		for i := range n - 10 {
			b.rm(t, fmt.Sprintf("%03d.md", i))
		}
		b.save(t, "new.md", "new\n")
		events := b.take()
		rng := drawn(t)
		rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		for i := range batches {
			from, to := i*len(events)/batches, (i+1)*len(events)/batches
			require.NoError(t, b.process(t, b.shared).Notice(t.Context(), events[from:to], b.ask))
			again, err := b.process(t, b.shared).Close(t.Context())
			require.NoError(t, err)
			require.Positive(t, again, "more may come")
			b.pass(500 * time.Millisecond)
		}
		b.settle(t)
		return b, before
	}
	t.Run("held", func(t *testing.T) {
		b, before := setup(t)
		require.Equal(t, before, b.inLog(t))
		held := b.control(t).Held
		require.Equal(t, []int{n - 10, 1, 10}, []int{held.Removed, held.Created, len(held.Paths)})
		require.Len(t, b.items(t, "held/"), n-9)
		require.Nil(t, b.control(t).Noticed)
		b.write(t, "001.md", "agent\n")
		b.settle(t)
		require.NotContains(t, b.inFiles(t), "001.md", "its paths are not written")

		b.save(t, "beside.md", "beside\n") // is taken in
		b.settle(t)
		require.Equal(t, "beside\n", b.inLog(t)["beside.md"])
		require.Len(t, b.items(t, "held/"), n-9)
		b.save(t, "000.md", "text 0\n") // is put back
		b.settle(t)
		require.Equal(t, n-11, b.control(t).Held.Removed)
		require.Equal(t, held.Since, b.control(t).Held.Since)
	})
	t.Run("accepted", func(t *testing.T) {
		b, before := setup(t)
		b.write(t, "001.md", "agent\n")
		b.follow(t)
		who := eventlog.Who{Principal: "freya"}
		would, err := b.process(t, b.shared).Reindex(t.Context(), checkout.IngestOptions{Pending: checkout.Accept, Who: who, DryRun: true})
		require.NoError(t, err)
		done, err := b.process(t, b.shared).Reindex(t.Context(), checkout.IngestOptions{Pending: checkout.Accept, Who: who})
		require.NoError(t, err)
		require.Equal(t, []int{n - 11, 1, 1}, []int{done.Removed, done.Created, done.Restored})
		require.Equal(t, []int{done.Removed, done.Created, 1}, []int{would.Removed, would.Created, would.Restored})
		b.settle(t)
		want := map[string]string{"001.md": "agent\n", "new.md": "new\n"}
		for i := n - 10; i < n; i++ {
			path := fmt.Sprintf("%03d.md", i)
			want[path] = before[path]
		}
		b.agree(t, want)
		require.Nil(t, b.control(t).Held)
		require.Empty(t, b.items(t, "held/"))
	})
	t.Run("discarded", func(t *testing.T) {
		b, before := setup(t)
		b.save(t, "fresh.md", "fresh\n")
		b.notice(t)
		_, err := b.process(t, b.shared).Reindex(t.Context(), checkout.IngestOptions{Pending: checkout.Discard})
		require.NoError(t, err)
		b.settle(t)
		log := b.inLog(t)
		require.Contains(t, log, ".trash/new.md")
		require.Equal(t, "fresh\n", log["fresh.md"])
		maps.DeleteFunc(log, func(path, _ string) bool { return strings.HasPrefix(path, ".trash/") || path == "fresh.md" })
		require.Equal(t, before, log)
		b.agree(t, b.inLog(t))
		require.Nil(t, b.control(t).Held)
		require.Empty(t, b.items(t, "held/"))
	})
}

// TestRemovalsInSlices holds that removals which follow each other closely count together for the guard.
func TestRemovalsInSlices(t *testing.T) {
	b := newBed(t)
	b.fill(t, 100, "")
	b.settle(t)
	b.pass(time.Minute)
	for i := range 100 {
		b.rm(t, fmt.Sprintf("n/%02d.md", i))
		if i%15 == 14 {
			b.notice(t)
			b.closes(t)
			b.follow(t)
		}
	}
	b.settle(t)
	require.Len(t, b.inLog(t), 85, "the first slice is taken in, and no other")
	require.Equal(t, 85, b.control(t).Held.Removed)
}

// TestEmptied holds that a file which was emptied waits for its new text.
func TestEmptied(t *testing.T) {
	b := newBed(t)
	b.write(t, "a.md", song)
	b.settle(t)
	b.save(t, "a.md", "")
	b.notice(t)
	b.pass(10 * time.Second)
	again, err := b.process(t, b.shared).Close(t.Context())
	require.NoError(t, err)
	require.Positive(t, again)
	b.asks = []time.Duration{again}
	require.Equal(t, song, b.inLog(t)["a.md"])
	b.save(t, "a.md", song+"mine\n")
	b.settle(t)
	b.agree(t, map[string]string{"a.md": song + "mine\n"})
	require.Equal(t, 1, b.reindexes(t))
	b.pass(time.Minute)
	b.save(t, "a.md", "")
	b.settle(t)
	b.agree(t, map[string]string{"a.md": ""})
}
