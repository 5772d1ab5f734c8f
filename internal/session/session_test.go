package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/awstest"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/dynamotable"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/session"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tree"
)

// A clock stands still until it is told to move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A suite is a store on some engine.
type suite struct {
	session.Store
	clock *clock
	base  *counting
}

// counting is a table that counts what is asked of it.
type counting struct {
	table.Table
	mu            sync.Mutex
	gets, commits int
	fail          error // of the next commit, which is done all the same
}

func (c *counting) Get(ctx context.Context, k table.Key) (table.Item, error) {
	c.mu.Lock()
	c.gets++
	c.mu.Unlock()
	return c.Table.Get(ctx, k)
}

func (c *counting) Commit(ctx context.Context, ops ...table.Op) error {
	c.mu.Lock()
	c.commits++
	fail := c.fail
	c.fail = nil
	c.mu.Unlock()
	if err := c.Table.Commit(ctx, ops...); err != nil {
		return err
	}
	return fail
}

var (
	ann = session.Owner{Principal: "ann", Agent: "one"}
	ben = session.Owner{Principal: "ann", Agent: "two"}
)

// TestSuite runs on every engine.
func TestSuite(t *testing.T) {
	engines := map[string]func(*testing.T, func() time.Time) table.Table{
		"bolt": func(t *testing.T, now func() time.Time) table.Table {
			db, err := bolttable.Open(filepath.Join(t.TempDir(), "table.db"), bolttable.Options{Now: now})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			return table.Sub(db, "tenant")
		},
		"dynamo": func(t *testing.T, now func() time.Time) table.Table {
			b := awstest.Start(t)
			return table.Sub(dynamotable.New(b.DynamoDB(nil), b.Table(t), dynamotable.Options{Now: now}), "tenant")
		},
	}
	cases := map[string]func(*testing.T, *suite){
		"views": views, "views expire": viewsExpire, "two at once": twoAtOnce, "keys": keys, "keys expire": keysExpire,
		"keys of agents": keysOfAgents, "bookmarks": bookmarks, "bookmarks at once": bookmarksAtOnce, "quota": quota,
		"snapshots": snapshots, "snapshots at once": snapshotsAtOnce, "snapshots alike": alike, "too many snapshots": tooManySnapshots,
		"one commit": oneCommit, "unknown outcome": unknownOutcome, "refused": refused,
	}
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			for name, run := range cases {
				t.Run(name, func(t *testing.T) {
					c := &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
					base := &counting{Table: open(t, c.Now)}
					run(t, &suite{session.Store{Table: base, Part: "v/1", Now: c.Now}, c, base})
				})
			}
		})
	}
}

// expand makes a call that adds a rule to the view of a session.
func (s *suite) expand(t *testing.T, c session.Call, name, uid string) json.RawMessage {
	t.Helper()
	replayed, err := s.Update(t.Context(), c, func(ctx context.Context, d *session.Draft) (any, error) {
		v, err := s.View(ctx, c.Owner, name)
		if err != nil {
			return nil, err
		}
		now := v.View
		now.Seq, now.Rules = now.Seq+1, append(now.Rules, tree.Rule{UID: uid, Expanded: true})
		return map[string]string{"uid": uid}, s.SetView(d, v, now)
	})
	require.NoError(t, err)
	return replayed
}

func (s *suite) uids(t *testing.T, o session.Owner, name string) (all []string) {
	t.Helper()
	v, err := s.View(t.Context(), o, name)
	require.NoError(t, err)
	for _, r := range v.Rules {
		all = append(all, r.UID)
	}
	return all
}

func views(t *testing.T, s *suite) {
	s.expand(t, session.Call{Owner: ann}, "a", "n1")
	s.expand(t, session.Call{Owner: ann}, "b", "n2")
	s.expand(t, session.Call{Owner: ben}, "a", "n3")
	s.expand(t, session.Call{Owner: ann}, "a", "n4")
	require.Equal(t, []string{"n1", "n4"}, s.uids(t, ann, "a"))
	require.Equal(t, []string{"n2"}, s.uids(t, ann, "b"))
	require.Equal(t, []string{"n3"}, s.uids(t, ben, "a"))
	require.Empty(t, s.uids(t, ben, "b"))
}

func viewsExpire(t *testing.T, s *suite) {
	s.expand(t, session.Call{Owner: ann}, "a", "n1")
	s.clock.move(29 * 24 * time.Hour)
	s.expand(t, session.Call{Owner: ann}, "a", "n2")
	s.clock.move(29 * 24 * time.Hour)
	require.Equal(t, []string{"n1", "n2"}, s.uids(t, ann, "a"), "a change keeps the view for 30 days more")
	s.clock.move(2 * 24 * time.Hour)
	require.Empty(t, s.uids(t, ann, "a"))
	s.expand(t, session.Call{Owner: ann}, "a", "n3")
	require.Equal(t, []string{"n3"}, s.uids(t, ann, "a"))
}

func twoAtOnce(t *testing.T, s *suite) {
	const callers = 6
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { s.expand(t, session.Call{Owner: ann}, "a", fmt.Sprint(i)) })
	}
	all.Wait()
	require.Len(t, s.uids(t, ann, "a"), callers, "nothing is lost")
}

func keys(t *testing.T, s *suite) {
	c := session.Call{Owner: ann, Key: "k", Request: []byte("r")}
	require.Nil(t, s.expand(t, c, "a", "n1"))
	require.JSONEq(t, `{"uid":"n1"}`, string(s.expand(t, c, "a", "n1")))
	require.Equal(t, []string{"n1"}, s.uids(t, ann, "a"), "a repetition has no effect")
	c.Request = []byte("other")
	_, err := s.Update(t.Context(), c, func(context.Context, *session.Draft) (any, error) { return nil, nil })
	require.Equal(t, fault.KeyReused, fault.Of(err).Code)
}

func keysExpire(t *testing.T, s *suite) {
	c := session.Call{Owner: ann, Key: "k", Request: []byte("r")}
	s.expand(t, c, "a", "n1")
	s.clock.move(24*time.Hour + time.Second)
	require.Nil(t, s.expand(t, c, "a", "n2"))
	require.Equal(t, []string{"n1", "n2"}, s.uids(t, ann, "a"))
}

func keysOfAgents(t *testing.T, s *suite) {
	s.expand(t, session.Call{Owner: ann, Key: "k", Request: []byte("r")}, "a", "n1")
	require.Nil(t, s.expand(t, session.Call{Owner: ben, Key: "k", Request: []byte("other")}, "a", "n2"))
}

// mark makes a bookmark.
func (s *suite) mark(t *testing.T, o session.Owner, label string) error {
	_, err := s.Update(t.Context(), session.Call{Owner: o}, func(ctx context.Context, d *session.Draft) (any, error) {
		return nil, s.AddBookmark(ctx, d, o, session.Bookmark{Label: label, UID: "n1", CreatedAt: s.Now()})
	})
	return err
}

// unmark removes a bookmark, and reports whether there was one.
func (s *suite) unmark(t *testing.T, o session.Owner, label string) (was bool) {
	_, err := s.Update(t.Context(), session.Call{Owner: o}, func(ctx context.Context, d *session.Draft) (any, error) {
		b, found, err := s.Bookmark(ctx, o, label)
		if was = found; found {
			s.RemoveBookmark(d, o, b)
		}
		return nil, err
	})
	require.NoError(t, err)
	return was
}

func (s *suite) labels(t *testing.T, o session.Owner) (all []string) {
	list, err := s.Bookmarks(t.Context(), o)
	require.NoError(t, err)
	for _, b := range list {
		all = append(all, b.Label)
	}
	return all
}

func bookmarks(t *testing.T, s *suite) {
	for _, label := range []string{"z", "é\x00", "a"} {
		require.NoError(t, s.mark(t, ann, label))
		s.clock.move(time.Second)
	}
	require.NoError(t, s.mark(t, ben, "b"))
	require.Equal(t, []string{"z", "é\x00", "a"}, s.labels(t, ann), "the oldest first")
	b, found, err := s.Bookmark(t.Context(), ann, "z")
	require.NoError(t, err)
	require.True(t, found)
	_, err = s.Update(t.Context(), session.Call{Owner: ann}, func(_ context.Context, d *session.Draft) (any, error) {
		now := b.Bookmark
		now.UID = "n2"
		return nil, s.SetBookmark(d, b, now)
	})
	require.NoError(t, err)
	b, _, err = s.Bookmark(t.Context(), ann, "z")
	require.NoError(t, err)
	require.Equal(t, "n2", b.UID)
	require.True(t, s.unmark(t, ann, "z"))
	require.False(t, s.unmark(t, ann, "z"))
	require.Equal(t, []string{"é\x00", "a"}, s.labels(t, ann))
	require.NoError(t, s.mark(t, ann, "z"))
	require.Equal(t, []string{"b"}, s.labels(t, ben))
}

func bookmarksAtOnce(t *testing.T, s *suite) {
	require.NoError(t, s.mark(t, ann, "a"))
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { s.unmark(t, ann, "a") })
		all.Go(func() { _ = s.mark(t, ann, fmt.Sprint(i)) })
	}
	all.Wait()
	require.Len(t, s.labels(t, ann), 3)
	for _, label := range s.labels(t, ann) {
		require.True(t, s.unmark(t, ann, label))
	}
	key := table.Key{Part: s.Part, Sort: "session/bookmarks/"}
	for it, err := range s.Table.Query(t.Context(), key.Part, key.Sort, key.Sort+"\x7f") {
		require.NoError(t, err)
		require.Zero(t, it.Count, "what is counted is what is there")
	}
}

func quota(t *testing.T, s *suite) {
	for i := range 3 {
		require.NoError(t, s.mark(t, ann, fmt.Sprint(i)))
	}
	var count table.Item
	for it, err := range s.Table.Query(t.Context(), s.Part, "session/bookmarks/", "session/bookmarks/\x7f") {
		require.NoError(t, err)
		count = it
	}
	require.NoError(t, s.Table.Commit(t.Context(),
		table.Add(table.Item{Key: count.Key}, session.MaxBookmarks-4, session.MaxBookmarks)))
	require.NoError(t, s.mark(t, ann, "the last one"))
	require.Equal(t, fault.QuotaExceeded, fault.Of(s.mark(t, ann, "one too many")).Code)
	require.NoError(t, s.mark(t, ben, "another agent's"))
	require.True(t, s.unmark(t, ann, "0"))
	require.NoError(t, s.mark(t, ann, "one again"))
}

func oneCommit(t *testing.T, s *suite) {
	audit := table.Create(table.Item{Key: table.Key{Part: "refusals", Sort: "1"}, Data: []byte("{}")})
	s.base.gets, s.base.commits = 0, 0
	s.expand(t, session.Call{Owner: ann, Audit: []table.Op{audit}}, "a", "n1")
	require.Equal(t, []int{1, 1}, []int{s.base.gets, s.base.commits}, "one Get and one write, the audit entry in it")
	_, err := s.Table.Get(t.Context(), table.Key{Part: "refusals", Sort: "1"})
	require.NoError(t, err)
}

func unknownOutcome(t *testing.T, s *suite) {
	s.base.fail = context.DeadlineExceeded
	c := session.Call{Owner: ann, Key: "k", Request: []byte("r")}
	_, err := s.Update(t.Context(), c, func(ctx context.Context, d *session.Draft) (any, error) {
		v, err := s.View(ctx, ann, "a")
		if err != nil {
			return nil, err
		}
		return 1, s.SetView(d, v, session.View{Rules: tree.Rules{{UID: "n1"}}})
	})
	require.Equal(t, fault.Unavailable, fault.Of(err).Code)
	require.ErrorContains(t, err, "repeat with the same idempotency key")
	require.JSONEq(t, "1", string(s.expand(t, c, "a", "n1")), "it was written")
}

func refused(t *testing.T, s *suite) {
	want := fault.New(fault.NotFound, "no")
	_, err := s.Update(t.Context(), session.Call{Owner: ann, Key: "k"}, func(_ context.Context, d *session.Draft) (any, error) {
		return nil, want
	})
	require.ErrorIs(t, err, want)
	require.Zero(t, s.base.commits, "a refused call uses no key")
}

// label makes a snapshot.
func (s *suite) label(t *testing.T, o session.Owner, label string) (id string, err error) {
	_, err = s.Update(t.Context(), session.Call{Owner: o}, func(ctx context.Context, d *session.Draft) (any, error) {
		n := session.Snapshot{Label: label, Seq: 7, UID: "n1", Owner: o, CreatedAt: s.Now()}
		var err error
		if n.ID, err = s.FreeSnapshotID(ctx, n); err != nil {
			return nil, err
		}
		id = n.ID
		return nil, s.AddSnapshot(ctx, d, n)
	})
	return id, err
}

// unlabel deletes a snapshot, and reports whether there was one.
func (s *suite) unlabel(t *testing.T, id string) (found bool) {
	_, err := s.Update(t.Context(), session.Call{Owner: ann}, func(ctx context.Context, d *session.Draft) (any, error) {
		n, ok, err := s.Snapshot(ctx, id)
		if found = ok; ok {
			s.RemoveSnapshot(d, n)
		}
		return nil, err
	})
	require.NoError(t, err)
	return found
}

// snapshotLabels are the labels of all snapshots behind one, newest first.
func (s *suite) snapshotLabels(t *testing.T, after string) (all []string) {
	require.NoError(t, s.EachSnapshot(t.Context(), after, func(n session.Snapshot) bool {
		all = append(all, n.Label)
		return true
	}))
	return all
}

func snapshots(t *testing.T, s *suite) {
	ids := map[string]string{}
	for i, label := range []string{"a", "b", "c"} {
		id, err := s.label(t, []session.Owner{ann, ben}[i%2], label)
		require.NoError(t, err)
		ids[label] = id
		s.clock.move(time.Second)
	}
	require.Equal(t, []string{"c", "b", "a"}, s.snapshotLabels(t, ""))
	require.Equal(t, []string{"a"}, s.snapshotLabels(t, ids["b"]))
	n, found, err := s.Snapshot(t.Context(), ids["b"])
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []any{"b", ben, uint64(7)}, []any{n.Label, n.Owner, n.Seq})
	require.True(t, s.unlabel(t, ids["b"]))
	require.False(t, s.unlabel(t, ids["b"]))
	for _, id := range []string{"", "b", "s_", "s_!", ids["a"] + "0", "n_" + ids["a"][2:]} {
		require.False(t, s.unlabel(t, id), id)
	}
	safety := session.Snapshot{Label: "safety", Seq: 8}
	safety.ID = s.SnapshotID(safety, 0)
	require.NoError(t, s.KeepAutomatic(t.Context(), safety))
	safety.Seq = 9
	require.NoError(t, s.KeepAutomatic(t.Context(), safety))
	require.Equal(t, []string{"safety", "c", "a"}, s.snapshotLabels(t, ""))
	n, _, err = s.Snapshot(t.Context(), safety.ID)
	require.NoError(t, err)
	require.Equal(t, []any{true, uint64(9)}, []any{n.Automatic, n.Seq})
	s.clock.move(31 * 24 * time.Hour)
	require.Equal(t, []string{"c", "a"}, s.snapshotLabels(t, ""))
	safety.ID = s.SnapshotID(safety, 1)
	require.NoError(t, s.KeepAutomatic(t.Context(), safety))
	s.DropAutomatic(t.Context(), safety.ID)
	require.Equal(t, []string{"c", "a"}, s.snapshotLabels(t, ""))
}

// alike covers that snapshots which are alike in one moment are several.
func alike(t *testing.T, s *suite) {
	one, err := s.label(t, ann, "a")
	require.NoError(t, err)
	other, err := s.label(t, ann, "a")
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	require.Equal(t, []string{"a", "a"}, s.snapshotLabels(t, ""))
}

func snapshotsAtOnce(t *testing.T, s *suite) {
	id, err := s.label(t, ann, "a")
	require.NoError(t, err)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { s.unlabel(t, id) })
		all.Go(func() { _, _ = s.label(t, ben, fmt.Sprint(i)) })
	}
	all.Wait()
	require.Len(t, s.snapshotLabels(t, ""), 3)
	it, err := s.Table.Get(t.Context(), table.Key{Part: s.Part, Sort: "session/snapshots"})
	require.NoError(t, err)
	require.EqualValues(t, 3, it.Count)
}

func tooManySnapshots(t *testing.T, s *suite) {
	id, err := s.label(t, ann, "a")
	require.NoError(t, err)
	key := table.Key{Part: s.Part, Sort: "session/snapshots"}
	require.NoError(t, s.Table.Commit(t.Context(), table.Add(table.Item{Key: key}, session.MaxSnapshots-1, session.MaxSnapshots)))
	_, err = s.label(t, ben, "b")
	require.Equal(t, fault.QuotaExceeded, fault.Of(err).Code)
	require.True(t, s.unlabel(t, id))
	_, err = s.label(t, ben, "b")
	require.NoError(t, err)
}
