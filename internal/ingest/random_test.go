package ingest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/ingest"
)

// A story is a vault in which a person and an agent have changed files, each others of their own, so that what there is
// to be in the end is known.
type story struct {
	*bed
	want map[string]string
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{bed: newBed(t), want: map[string]string{}}
	s.fill(t, 30, "")
	s.settle(t)
	s.pass(time.Hour)
	maps.Copy(s.want, s.inLog(t))
	for i := range 5 {
		path, text := fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\ntext\nmine\n", i)
		s.save(t, path, text)
		s.want[path] = text
	}
	s.rm(t, "n/05.md")
	delete(s.want, "n/05.md")
	s.save(t, "moved.md", s.want["n/06.md"])
	s.rm(t, "n/06.md")
	s.want["moved.md"] = s.want["n/06.md"]
	delete(s.want, "n/06.md")
	s.save(t, "new.md", "new\n")
	s.want["new.md"] = "new\n"
	return s
}

// agentWrites makes commits to notes that the person has changed, too.
func (s *story) agentWrites(t *testing.T) {
	t.Helper()
	for i := range 3 {
		path, text := fmt.Sprintf("n/%02d.md", i), fmt.Sprintf("# %d\n\nagent\n\ntext\n", i)
		s.write(t, path, text)
		s.want[path] = text + "mine\n"
	}
	s.write(t, "n/10.md", "agent\n")
	s.want["n/10.md"] = "agent\n"
}

// TestAnyOrder holds that events may come twice, late, in any order and beside those of our own writes.
func TestAnyOrder(t *testing.T) {
	for range 10 {
		s := newStory(t)
		rng := drawn(t)
		var events []ingest.Change
		agent := false
		for step := range 60 {
			events = append(events, s.take()...)
			switch {
			case step > 10 && !agent && rng.IntN(3) == 0:
				s.agentWrites(t)
				agent = true
			case rng.IntN(3) == 0:
				s.follow(t)
			case len(events) > 0:
				rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
				n := 1 + rng.IntN(len(events))
				require.NoError(t, s.process(t, s.shared).Notice(t.Context(), events[:n], s.ask))
				if rng.IntN(2) == 0 { // else they come again
					events = events[n:]
				}
			}
			s.pass(time.Duration(rng.IntN(300)) * time.Millisecond)
		}
		require.NoError(t, s.process(t, s.shared).Notice(t.Context(), events, s.ask))
		s.settle(t)
		s.agree(t, s.want)
	}
}

// TestCrashedBetween holds that a process which ends before any of its requests loses nothing, and that what it began is
// finished by the next one, once.
func TestCrashedBetween(t *testing.T) {
	for at := 1; ; at++ {
		s := newStory(t)
		events := s.take()
		ctx, first := killed(t, at)
		cut := s.process(t, first).Notice(ctx, events, s.ask) != nil
		require.NoError(t, s.process(t, s.shared).Notice(t.Context(), events, s.ask)) // they come again
		require.NotEmpty(t, s.asks)
		s.settle(t)
		s.agree(t, s.want)
		require.Equal(t, 1, s.reindexes(t))
		if !cut {
			break
		}
	}
	closedAt := 0
	for at := 1; ; at++ {
		s := newStory(t)
		s.notice(t)
		s.agentWrites(t)
		s.pass(3 * time.Second)
		ctx, c := killed(t, at)
		again, err := s.process(t, c).Close(ctx)
		if err != nil {
			again = 0 // the message comes again, after a while
		}
		require.NoError(t, s.ask(t.Context(), again))
		s.pass(6 * time.Minute) // its lease ends
		if at%2 == 0 {
			s.follow(t)
		}
		s.settle(t) // with the message that comes again
		s.agree(t, s.want)
		require.Equal(t, 1, s.reindexes(t), at)
		if err == nil {
			closedAt = at
			break
		}
	}
	require.Greater(t, closedAt, 20)
}

// TestDiscardCrashed is the same for the discarding of a batch.
func TestDiscardCrashed(t *testing.T) {
	for at := 1; ; at += 3 {
		b := newBed(t)
		b.fill(t, 30, "")
		b.settle(t)
		b.pass(time.Hour)
		before := b.inLog(t)
		for i := range 25 {
			b.rm(t, fmt.Sprintf("n/%02d.md", i))
		}
		b.save(t, "new.md", "new\n")
		b.settle(t)
		require.Equal(t, 26, b.control(t).Held.Count())
		word := checkout.IngestOptions{Pending: checkout.Discard}
		ctx, c := killed(t, at)
		_, err := b.process(t, c).Reindex(ctx, word)
		b.pass(6 * time.Minute)
		if b.control(t).Held != nil {
			_, err := b.process(t, b.shared).Reindex(t.Context(), word)
			require.NoError(t, err)
		}
		b.settle(t)
		log := b.inLog(t)
		binned := 0
		maps.DeleteFunc(log, func(path, _ string) bool {
			trash := strings.HasPrefix(path, ".trash/")
			if trash {
				binned++
			}
			return trash
		})
		require.Equal(t, before, log)
		require.Positive(t, binned)
		b.agree(t, b.inLog(t))
		require.Empty(t, b.items(t, "held/"))
		if err == nil {
			break
		}
	}
}

// TestTwoOfEach holds that several processes which notice and take in the same edits at once make one commit of them.
func TestTwoOfEach(t *testing.T) {
	for range 5 {
		s := newStory(t)
		events := s.take()
		var running sync.WaitGroup
		each := func(do func(ingest.Vault)) {
			for range 3 {
				v := s.process(t, &cutter{})
				running.Go(func() { do(v) })
			}
			running.Wait()
		}
		ctx := context.WithoutCancel(t.Context())
		each(func(v ingest.Vault) {
			if err := v.Notice(ctx, slices.Clone(events), s.ask); err != nil {
				t.Error(err)
			}
		})
		s.agentWrites(t)
		s.pass(3 * time.Second)
		each(func(v ingest.Vault) {
			again, err := v.Close(ctx)
			if err != nil {
				t.Error(err)
			}
			if again > 0 {
				_ = s.ask(ctx, again)
			}
		})
		s.settle(t)
		s.agree(t, s.want)
		require.Equal(t, 1, s.reindexes(t))
		for path := range s.inLog(t) {
			require.NotContains(t, path, "conflict")
		}
	}
}

// TestOneFileAtATime holds that nobody's bytes are lost: a person puts a file before, between and after each of the
// requests by which an edit is noticed and taken in.
func TestOneFileAtATime(t *testing.T) {
	for at := 1; ; at++ {
		b := newBed(t)
		b.write(t, "a.md", song)
		b.settle(t)
		b.pass(time.Hour)
		b.save(t, "a.md", song+"mine\n")
		events := b.take()
		last := song + "mine\nand more\n"
		c := &cutter{}
		puts := func() { // instead of the request, which is made then
			b.pass(time.Second)
			b.save(t, "a.md", last)
		}
		c.at, c.do = at, puts
		require.NoError(t, b.process(t, c).Notice(t.Context(), events, b.ask))
		b.pass(3 * time.Second)
		_, err := b.process(t, c).Close(t.Context())
		require.NoError(t, err)
		if c.n < at {
			puts()
		}
		b.settle(t)
		b.agree(t, map[string]string{"a.md": last})
		if c.n < at {
			return
		}
	}
}

// TestSync5000 holds that many files which are put at once come into the log by few commits, whatever becomes of the order of
// their events, and by how many requests: nothing is read but the files, twice each.
func TestSync5000(t *testing.T) {
	n, batches := sized(5000, 600), 60
	b := newBed(t)
	want := map[string]string{}
	for i := range n {
		path := fmt.Sprintf("%d/%d.md", i%7, i)
		want[path] = fmt.Sprintf("text %d\n", i)
		b.save(t, path, want[path])
	}
	events := b.take()
	drawn(t).Shuffle(n, func(i, j int) { events[i], events[j] = events[j], events[i] })
	noticing, closing := &cutter{}, &cutter{}
	v := b.process(t, noticing)
	for i := range batches {
		require.NoError(t, v.Notice(t.Context(), events[i*n/batches:(i+1)*n/batches], b.ask))
	}
	require.Len(t, b.asks, 1, "one message")
	require.Equal(t, []int{n, n + 1}, []int{noticing.reads, noticing.writes})
	b.pass(3 * time.Second)
	again, err := b.process(t, closing).Close(t.Context())
	require.NoError(t, err)
	require.Zero(t, again)
	require.Equal(t, n, closing.reads)
	require.Less(t, closing.queries, 20+n/100)
	b.follow(t)
	b.asks = nil
	b.settle(t)
	b.agree(t, want)
	require.Equal(t, (n+499)/500, b.reindexes(t), "500 files each")
}
