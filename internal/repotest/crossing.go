package repotest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// canary is a word that only the vault, or the note, has that goes; late, one that the process writes
// which sleeps meanwhile.
const (
	canary = "kestrel"
	late   = "sparrow"
)

// secret is the path of the note that has it.
const secret = "secret.md"

// An act is what a process is about when it falls asleep in a call of its stores.
type act func(ctx context.Context, v *repo.Vault) error

// acts are writers, consumers and readers. Each process has read the vault before.
func acts() map[string]act {
	write := func(call eventlog.Call, text string) act {
		return func(ctx context.Context, v *repo.Vault) error {
			_, err := v.Update(ctx, call, func(ctx context.Context, tx *repo.Tx) (any, error) {
				return "late", tx.Put(ctx, "late.md", []byte(text))
			})
			return err
		}
	}
	keyed := eventlog.Call{Tool: "late", Key: "late", Request: []byte("late")}
	return map[string]act{
		"a writer":           write(eventlog.Call{Tool: "late"}, late),
		"a writer with key":  write(keyed, late),
		"one with a payload": write(eventlog.Call{Tool: "late"}, late+noise(21<<10, 3)),
		"a consumer": func(ctx context.Context, v *repo.Vault) error {
			return v.Compact(ctx, eventlog.Compaction{All: true})
		},
		"a reader": func(ctx context.Context, v *repo.Vault) error {
			_, err := everything(ctx, v)
			return err
		},
		"a searcher": func(ctx context.Context, v *repo.Vault) error {
			_, err := v.Searchable(ctx)
			return err
		},
	}
}

// A turn is what becomes of the vault while the other process sleeps.
type turn struct {
	name  string
	do    func(*crossing)
	check func(*crossing)
}

func turns() []turn {
	return []turn{
		{"erased and made again", (*crossing).erase, (*crossing).isErased},
		{"in the trash, and another made", (*crossing).replace, (*crossing).isReplaced},
		{"in the trash and out of it", (*crossing).restore, (*crossing).isRestored},
		{"a history erased", (*crossing).eraseNote, (*crossing).noteIsErased},
	}
}

// crossingStride is the distance between the calls in which a process sleeps; when soaking it
// sleeps in each.
const crossingStride = 3

// crossings check that nothing of a removed vault is ever answered, folded or committed again, whichever process
// sleeps in whichever call of its stores while the vault is removed, and wakes when another vault has its name.
func crossings(t *testing.T, e Engine) {
	chance := seeded(t)
	for _, tr := range turns() {
		for _, name := range slices.Sorted(maps.Keys(acts())) {
			calls := sampled(chance, crossingStride)
			t.Run(tr.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				cross(t, e, tr, name, calls)
			})
		}
	}
}

// cross makes the crossing of one turn and one act, sleeping in each of the sampled calls in turn.
func cross(t *testing.T, e Engine, tr turn, act string, calls sample) {
	for n := range calls.all() {
		c := newCrossing(t, e, fmt.Sprintf("%s %s %d", tr.name, act, n))
		if !c.run(tr, acts()[act], n) {
			return
		}
	}
}

// A crossing is a vault, its name, and what happens to them.
type crossing struct {
	t     *testing.T
	place *place
	first *repo.Vault // as it was
	next  *repo.Vault // that has the name then; nil: none
	warm  *repo.Vault // the first, as a process has it that sleeps until all is over
	seq   uint64      // of the first, when it went
	slept bool
	err   error // of who slept
}

func newCrossing(t *testing.T, e Engine, name string) *crossing {
	t.Helper()
	c := &crossing{t: t, place: newPlace(e, name, nil)}
	c.first = c.open(c.place.Engine, 1)
	require.NoError(t, c.first.Create(t.Context(), eventlog.Call{Tool: "create"}, nil))
	for i := range 3 {
		c.put(c.first, secret, fmt.Sprintf("# %s\n\n@due(2026-12-0%d) %s", canary, i+1, canary))
		c.put(c.first, "other.md", fmt.Sprint("see [[secret]] ", i))
	}
	require.NoError(t, c.first.Compact(t.Context(), eventlog.Compaction{All: true}))
	c.put(c.first, secret, canary+noise(21<<10, 1))
	c.warm = c.open(c.place.Engine, 1)
	_, err := everything(t.Context(), c.warm)
	require.NoError(t, err)
	return c
}

// open is an incarnation as a process has it that has just started.
func (c *crossing) open(e Engine, incarnation int) *repo.Vault {
	c.t.Helper()
	v, err := repo.NewVault(repo.VaultOptions{
		Name: "v", Part: fmt.Sprintf("v/%d", incarnation), Table: e.Table,
		Bucket: blob.Sub(e.Bucket, fmt.Sprint(incarnation)),
		Texts:  repo.NewTexts(1 << 20), Now: c.place.clock.Now, ImageItems: e.Items,
	})
	require.NoError(c.t, err)
	return v
}

func (c *crossing) put(v *repo.Vault, path vault.Path, text string) {
	c.t.Helper()
	_, err := v.Update(c.t.Context(), eventlog.Call{Tool: "put"},
		func(ctx context.Context, tx *repo.Tx) (any, error) {
			return nil, tx.Put(ctx, path, []byte(text))
		})
	require.NoError(c.t, err)
}

// run lets a process fall asleep in its n-th call, and does the turn meanwhile. It reports whether there
// was such a call.
func (c *crossing) run(tr turn, do act, n int) bool {
	ctx := c.t.Context()
	b := newBed(c.place.Engine)
	sleeper := c.open(b.engine(), 1)
	_, err := sleeper.Read(ctx)
	require.NoError(c.t, err)
	b.sleepAt(n)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.err = do(ctx, sleeper)
	}()
	select {
	case <-b.asleep:
		c.slept = true
	case <-ended:
	}
	tr.do(c)
	close(b.wake)
	<-ended
	tr.check(c)
	if _, err := everything(ctx, sleeper); err != nil {
		require.True(c.t, fault.Is(err, fault.NotFound), "%v", err)
	}
	return c.slept
}

// requireGone requires that who slept, and who was warm, get nothing of the first vault. A writer that
// slept is refused, for it slept before its append.
func (c *crossing) requireGone() {
	c.t.Helper()
	writer := strings.Contains(c.t.Name(), "writer") || strings.Contains(c.t.Name(), "payload")
	ended := c.err == nil && (!c.slept || !writer)
	require.True(c.t, ended || fault.Is(c.err, fault.NotFound), "%v", c.err)
	for _, v := range []*repo.Vault{c.warm, c.first, c.open(c.place.Engine, 1)} {
		_, err := everything(c.t.Context(), v)
		require.True(c.t, fault.Is(err, fault.NotFound), "%v", err)
	}
}

// requireNext requires that the vault that has the name has nothing of the first.
func (c *crossing) requireNext() {
	c.t.Helper()
	require.NoError(c.t, c.next.Compact(c.t.Context(), eventlog.Compaction{All: true}))
	for _, v := range []*repo.Vault{c.next, c.open(c.place.Engine, 2)} {
		told, err := everything(c.t.Context(), v)
		require.NoError(c.t, err)
		for _, old := range []string{canary, late, secret} {
			require.False(c.t, strings.Contains(told, old), old)
		}
		require.True(c.t, strings.Contains(told, "fresh"))
	}
}

// succeed makes the vault that has the name next.
func (c *crossing) succeed() {
	c.next = c.open(c.place.Engine, 2)
	require.NoError(c.t, c.next.Create(c.t.Context(), eventlog.Call{Tool: "create"}, nil))
	c.put(c.next, "late.md", "fresh")
}

func (c *crossing) erase() {
	_, err := c.first.Erase(c.t.Context(), eventlog.Call{Tool: "erase"})
	require.NoError(c.t, err)
	c.succeed()
}

func (c *crossing) isErased() {
	c.requireGone()
	c.place.clock.Move(eventlog.SweepAgain)
	_, err := c.open(c.place.Engine, 1).Erase(c.t.Context(), eventlog.Call{Tool: "erase"})
	require.NoError(c.t, err)
	for it, err := range c.place.Table.Query(c.t.Context(), "v/1", "", "~") {
		require.NoError(c.t, err)
		require.True(c.t, len(it.Data) == 1 || it.Sort == "log/~", "%s is there", it.Sort)
		require.False(c.t, strings.Contains(string(it.Data), canary))
		require.False(c.t, it.Expires.IsZero(), "%s stays for ever", it.Sort)
	}
	for o, err := range c.place.Bucket.List(c.t.Context(), "") {
		require.NoError(c.t, err)
		require.False(c.t, strings.HasPrefix(o.Key, "1/"), "%s is there", o.Key)
	}
	c.requireNext()
}

func (c *crossing) trash() {
	ctx := c.t.Context()
	require.NoError(c.t, c.first.SetStatus(ctx, eventlog.Call{Tool: "trash"}, eventlog.Trashed))
	s, err := c.first.Status(ctx)
	require.NoError(c.t, err)
	c.seq = s.Seq
}

func (c *crossing) replace() {
	c.trash()
	c.succeed()
}

func (c *crossing) isReplaced() {
	c.requireGone()
	s, err := c.open(c.place.Engine, 1).Status(c.t.Context())
	require.NoError(c.t, err)
	require.Equal(c.t, c.seq, s.Seq, "something was committed to a vault in the trash")
	c.requireNext()
}

func (c *crossing) restore() {
	c.trash()
	require.NoError(c.t, c.first.SetStatus(c.t.Context(), eventlog.Call{Tool: "restore"}, eventlog.Active))
}

func (c *crossing) isRestored() {
	ctx := c.t.Context()
	require.True(c.t, c.err == nil || fault.Is(c.err, fault.NotFound), "%v", c.err)
	fresh := c.open(c.place.Engine, 1)
	want, err := everything(ctx, fresh)
	require.NoError(c.t, err)
	got, err := everything(ctx, c.warm)
	require.NoError(c.t, err)
	require.Equal(c.t, want, got)
	_, err = fresh.Verify(ctx, nil)
	require.NoError(c.t, err)
	done := 0
	for commit, err := range fresh.Commits(ctx, 1) {
		require.NoError(c.t, err)
		if commit.Tool == "late" {
			done++
		}
		if commit.Seq == c.seq+1 {
			require.Equal(c.t, eventlog.Active, commit.Status, "a write in the trash")
		}
	}
	require.LessOrEqual(c.t, done, 1)
}

func (c *crossing) eraseNote() {
	ctx := c.t.Context()
	_, err := c.first.EraseNote(ctx, eventlog.Call{Tool: "erase"}, secret)
	require.NoError(c.t, err)
	require.NoError(c.t, c.first.Compact(ctx, eventlog.Compaction{}))
}

func (c *crossing) noteIsErased() {
	ctx := c.t.Context()
	require.True(c.t, c.err == nil || !errors.Is(c.err, context.Canceled), "%v", c.err)
	c.place.clock.Move(eventlog.SweepAgain + time.Minute)
	for range 2 { // what a consumer put that slept is found by the next pass
		require.NoError(c.t, c.first.Compact(ctx, eventlog.Compaction{All: true}))
	}
	fresh := c.open(c.place.Engine, 1)
	_, err := fresh.Verify(ctx, nil)
	require.NoError(c.t, err)
	want, err := everything(ctx, fresh)
	require.NoError(c.t, err)
	require.False(c.t, strings.Contains(want, canary))
	require.False(c.t, strings.Contains(want, secret))
	for _, v := range []*repo.Vault{c.warm, c.first} {
		got, err := everything(ctx, v)
		require.NoError(c.t, err)
		require.Equal(c.t, want, got)
	}
	for version := range uint64(8) {
		idx, err := c.warm.At(ctx, version)
		require.NoError(c.t, err)
		_, there := idx.File(secret)
		require.False(c.t, there, "it is there at v%d", version)
	}
}

// everything is all that a vault says: its index, its texts, its history and what a search has.
func everything(ctx context.Context, v *repo.Vault) (string, error) {
	idx, err := v.Read(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Write(idx.AppendImage(nil))
	for f := range idx.Files() {
		text, err := v.Text(ctx, f.Body)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\n", f.Path, text)
	}
	for c, err := range v.Commits(ctx, 1) {
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, c.Seq, c.Tool)
		for _, n := range c.Notes {
			fmt.Fprintf(&b, "%s %s\n%s\n", n.Path, n.Text, n.Events)
		}
	}
	_, err = v.Searchable(ctx)
	return b.String(), err
}
