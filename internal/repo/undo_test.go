package repo_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/repotest"
)

// TestUndoComparesContents checks that a commit can be undone if its files have the contents that
// it gave them, whatever happened in between.
func TestUndoComparesContents(t *testing.T) {
	for name, c := range map[string]struct {
		between func(t *testing.T, v *repo.Vault) // after v4, which makes "two" of "one"
		refused bool
	}{
		"nothing": {func(*testing.T, *repo.Vault) {}, false},
		"an undo": {func(t *testing.T, v *repo.Vault) { change(t, v, edit{"a.md", "three"}); undo(t, v, 5) }, false},
		"written back": {func(t *testing.T, v *repo.Vault) {
			change(t, v, edit{"a.md", "three"})
			change(t, v, edit{"a.md", "two"})
		}, false},
		"deleted and made":      {func(t *testing.T, v *repo.Vault) { change(t, v, edit{"a.md", ""}); change(t, v, edit{"a.md", "two"}) }, false},
		"undone and done":       {func(t *testing.T, v *repo.Vault) { undo(t, v, 4); undo(t, v, 5) }, false},
		"another text":          {func(t *testing.T, v *repo.Vault) { change(t, v, edit{"a.md", "three"}) }, true},
		"undone":                {func(t *testing.T, v *repo.Vault) { undo(t, v, 4) }, true},
		"deleted":               {func(t *testing.T, v *repo.Vault) { change(t, v, edit{"a.md", ""}) }, true},
		"the other file":        {func(t *testing.T, v *repo.Vault) { change(t, v, edit{"b.md", ""}) }, true},
		"a file it has nothing": {func(t *testing.T, v *repo.Vault) { change(t, v, edit{"c.md", "c"}) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t, engine(t))
			change(t, v, edit{"c.md", "x"})
			change(t, v, edit{"a.md", "one"})
			change(t, v, edit{"a.md", "two"}, edit{"b.md", "b"})
			c.between(t, v)
			r, err := tryUndo(t, v, 4)
			if c.refused {
				require.True(t, fault.Is(err, fault.Conflict), "%v", err)
				require.NotEmpty(t, fault.Of(err).Details["changed"])
				return
			}
			require.NoError(t, err)
			require.Equal(t, "one", textAt(t, v, r.Seq, "a.md"))
			require.Empty(t, textAt(t, v, r.Seq, "b.md"))
		})
	}
}

// TestUndoneAlready checks that undoing a commit that is undone reports that, and gives no advice:
// it would repeat the change.
func TestUndoneAlready(t *testing.T) {
	v := newVault(t, engine(t))
	change(t, v, edit{"a.md", "one"}, edit{".trash/b.md", "b"})
	change(t, v, edit{"a.md", ""}, edit{".trash/a.md", "one"})
	undo(t, v, 3)
	_, err := tryUndo(t, v, 3)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
	require.ErrorContains(t, err, "undone already")
	require.Equal(t, true, fault.Of(err).Details["undone"])
}

// TestUndoDatesWhatReturns checks that traits and sections that return to a note have their old ids
// and times, and that the note and the rest of it keep theirs.
func TestUndoDatesWhatReturns(t *testing.T) {
	e, w := engine(t), &watch{time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)}
	v := watchedVault(t, e, w, nil)
	require.NoError(t, v.Create(t.Context(), caller(), nil))
	step := func(all ...edit) {
		w.now = w.now.Add(time.Hour)
		change(t, v, all...)
	}
	step(edit{"schema.yaml", "version: 1\ntraits: {due: {type: date}}\n"})
	step(edit{"a.md", task})
	step(edit{"a.md", task + "- @due(2026-12-02) later\n"})
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	before, _ := idx.Note("a.md")
	step(edit{"a.md", "# A\n\n- @due(2026-12-01) same\n"})
	w.now = w.now.Add(time.Hour)
	undo(t, v, 5)
	for _, read := range []*repo.Vault{v, watchedVault(t, e, w, nil)} {
		idx, err = read.Read(t.Context())
		require.NoError(t, err)
		n, _ := idx.Note("a.md")
		require.Equal(t, before.TraitIDs(), n.TraitIDs())
		require.Equal(t, before.AllTimes().Traits, n.AllTimes().Traits)
		require.Equal(t, before.AllTimes().Sections, n.AllTimes().Sections)
		require.Equal(t, before.Created, n.Created)
		require.Equal(t, w.now, n.Modified, "the note has changed")
	}
}

// TestUndoAdvice checks which commits a refused undo advises to undo first.
func TestUndoAdvice(t *testing.T) {
	for name, c := range map[string]struct {
		after       []edit // v4 and on, each a commit; v3 makes "two" of a.md
		undone      []uint64
		since, want []uint64
	}{
		"one change":           {[]edit{{"a.md", "three"}}, nil, []uint64{4}, []uint64{4}},
		"two changes":          {[]edit{{"a.md", "three"}, {"a.md", "four"}}, nil, []uint64{5, 4}, []uint64{5, 4}},
		"one of two is undone": {[]edit{{"a.md", "three"}, {"a.md", "four"}}, []uint64{5}, []uint64{6, 5, 4}, []uint64{4}},
		"a change of others":   {[]edit{{"b.md", "b"}, {"a.md", "three"}}, nil, []uint64{5}, []uint64{5}},
		"a deletion":           {[]edit{{"a.md", "three"}, {"a.md", ""}}, nil, []uint64{5, 4}, []uint64{5, 4}},
		"undone":               {nil, []uint64{3}, []uint64{4}, nil},
		"an older one undone":  {[]edit{{"a.md", "one"}}, []uint64{2}, []uint64{5, 4}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t, engine(t))
			change(t, v, edit{"a.md", "one"})
			change(t, v, edit{"a.md", "two"})
			for _, e := range c.after {
				change(t, v, e)
			}
			undos := []uint64{}
			for _, version := range c.undone {
				undos = append(undos, undo(t, v, version).Seq)
			}
			r, err := v.Reversal(t.Context(), 3)
			require.NoError(t, err)
			o, err := v.Obstacles(t.Context(), r, func(c *eventlog.Commit) bool {
				return slices.Contains(undos, c.Seq)
			})
			require.NoError(t, err)
			seqs := func(all []*eventlog.Commit) (seqs []uint64) {
				for _, c := range all {
					seqs = append(seqs, c.Seq)
				}
				return seqs
			}
			require.Equal(t, c.since, seqs(o.Since))
			require.Equal(t, c.want, seqs(o.First))
		})
	}
}

// A ledger is a vault with a random history, and the contents of its files after each version.
type ledger struct {
	t     *testing.T
	r     *rand.Rand
	v     *repo.Vault
	after []map[string]string // by version; an absent file has no text
	undos map[uint64]bool
}

// failedLedgers are the seeds of histories that revealed a bug.
var failedLedgers = []uint64{}

// TestUndoByContents checks, for random histories, that an undo succeeds if and only if the files
// of the commit have the contents that it gave them, that it restores the earlier contents, and
// that the commits to undo first are not undos, can be undone in their order, and make the undo of
// the commit possible.
func TestUndoByContents(t *testing.T) {
	repotest.EachSeed(t, failedLedgers, func(t *testing.T, seed uint64) {
		l := &ledger{
			t: t, r: rand.New(rand.NewPCG(seed, 7)), v: newVault(t, engine(t)),
			after: []map[string]string{{}, {}}, undos: map[uint64]bool{},
		}
		advised := 0
		for range 80 {
			switch l.r.IntN(5) {
			case 0, 1:
				l.write()
			case 2, 3:
				l.undo(l.draw())
			default:
				if l.followAdvice(l.draw()) {
					advised++
				}
			}
		}
		t.Logf("v%d, advice followed %d times", l.newest(), advised)
	})
}

func (l *ledger) newest() uint64 { return uint64(len(l.after) - 1) }

// draw returns a random version, more often a late one.
func (l *ledger) draw() uint64 {
	return l.newest() - l.r.Uint64N(min(l.newest()-1, 10)+1)
}

// write changes one or two files: it sets a text, edits it, or deletes the file.
func (l *ledger) write() {
	next, paths := maps.Clone(l.after[l.newest()]), []string{"a.md", "b.md", "sub/c.md"}
	var all []edit
	for _, i := range l.r.Perm(len(paths))[:1+l.r.IntN(2)] {
		e := edit{paths[i], []string{"", "one\n", "two\n", "- @due(2026-12-01) three\n"}[l.r.IntN(4)]}
		if e.text == next[e.path] {
			continue
		}
		all = append(all, e)
		if next[e.path] = e.text; e.text == "" {
			delete(next, e.path)
		}
	}
	if len(all) > 0 {
		change(l.t, l.v, all...)
		l.after = append(l.after, next)
	}
}

// touched returns the files that a version changed.
func (l *ledger) touched(version uint64) []string {
	var paths []string
	for _, path := range []string{"a.md", "b.md", "sub/c.md"} {
		if l.after[version][path] != l.after[version-1][path] {
			paths = append(paths, path)
		}
	}
	return paths
}

// asLeft reports whether the files of a version are as it left them.
func (l *ledger) asLeft(version uint64) bool {
	return !slices.ContainsFunc(l.touched(version), func(path string) bool {
		return l.after[version][path] != l.after[l.newest()][path]
	})
}

// undo tries to undo a version, and reports whether it succeeded.
func (l *ledger) undo(version uint64) bool {
	r, err := l.v.Reversal(l.t.Context(), version)
	if len(l.touched(max(version, 1))) == 0 {
		require.True(l.t, fault.Is(err, fault.InvalidValue), "%v", err)
		return false
	}
	require.NoError(l.t, err)
	call := caller()
	call.Tool = "undo"
	_, err = l.v.Update(l.t.Context(), call, func(ctx context.Context, tx *repo.Tx) (any, error) {
		return nil, tx.Reverse(ctx, r)
	})
	if !l.asLeft(version) {
		require.True(l.t, fault.Is(err, fault.Conflict), "v%d: %v", version, err)
		return false
	}
	require.NoError(l.t, err, "v%d", version)
	next := maps.Clone(l.after[l.newest()])
	for _, path := range l.touched(version) {
		if next[path] = l.after[version-1][path]; next[path] == "" {
			delete(next, path)
		}
	}
	l.after = append(l.after, next)
	l.undos[l.newest()] = true
	l.compare()
	return true
}

// compare requires that the files equal those of the model.
func (l *ledger) compare() {
	idx, err := l.v.Read(l.t.Context())
	require.NoError(l.t, err)
	require.Equal(l.t, l.newest(), idx.Version())
	is := map[string]string{}
	for f := range idx.Files() {
		text, err := l.v.Text(l.t.Context(), f.Body)
		require.NoError(l.t, err)
		is[f.Path] = string(text)
	}
	require.Equal(l.t, l.after[l.newest()], is)
}

// followAdvice undoes the commits that a refused undo advises, and reports whether there were any.
func (l *ledger) followAdvice(version uint64) bool {
	if version < 2 || l.undo(version) {
		return false
	}
	r, err := l.v.Reversal(l.t.Context(), version)
	require.NoError(l.t, err)
	o, err := l.v.Obstacles(l.t.Context(), r, func(c *eventlog.Commit) bool { return c.Tool == "undo" })
	require.NoError(l.t, err)
	require.NotEmpty(l.t, o.Since)
	for i, c := range o.Since {
		require.Greater(l.t, c.Seq, version)
		require.True(l.t, i == 0 || c.Seq < o.Since[i-1].Seq, "newest first")
	}
	if len(o.First) == 0 {
		return false
	}
	for _, c := range o.First {
		require.False(l.t, l.undos[c.Seq], "v%d is an undo", c.Seq)
		require.True(l.t, l.undo(c.Seq), "v%d cannot be undone: %s", c.Seq, strings.Join(l.touched(c.Seq), " "))
	}
	require.True(l.t, l.undo(version), "v%d after the others", version)
	return true
}
