package repotest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A deed is one call of a client on one note, and what it was told. Its word is in no other deed.
type deed struct {
	note, kind, word string
	client           int
	key              string
	dry              bool
	ifVersion        uint64
	size             int // of what it writes, 0: little

	called, returned time.Duration

	at      uint64 // the version that it made, or that it saw
	found   string // the text that it saw
	there   bool   // it saw a note
	done    bool   // it made a version
	refused bool
	stale   bool // it was refused for its ifVersion
}

// change stages what the deed makes of the note that it found.
func (d *deed) change(ctx context.Context, tx *repo.Tx) error {
	switch {
	case d.kind == "create" && d.there:
		return errThere
	case d.kind != "create" && !d.there:
		return errAbsent
	case d.kind == "delete":
		return tx.Remove(ctx, vault.Path(d.note))
	}
	return tx.Put(ctx, vault.Path(d.note), []byte(d.text(d.found)))
}

// text is what a note becomes by the deed.
func (d *deed) text(before string) string {
	if d.kind == "edit" {
		return before + "- " + d.word + "\n"
	}
	long := noise(d.size, uint64(len(d.word)+d.client))
	return "# " + d.word + "\n\n" + strings.ReplaceAll(long, "\n", " ") + "\n"
}

// A history is what all clients did.
type history struct {
	mu    sync.Mutex
	deeds []*deed
}

func (h *history) add(d *deed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deeds = append(h.deeds, d)
}

// A noteState is what the model knows of a note.
type noteState struct {
	version uint64 // that changed it last
	there   bool
	text    string
	reads   int // how many saw it so
}

// A placed deed is one with its place among those of its note, as the versions of the answers tell
// it. Without it the search for an order would have to try too many.
type placed struct {
	*deed
	before uint64 // the version that changed the note last before it
	reads  int    // of one that made a version: how many saw what was before
}

// noteModel is one note. Versions are part of what is promised, so a deed that made one stands where
// its version does, and one that saw one before the next.
func noteModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return noteState{} },
		Step: func(state, in, _ any) (bool, any) {
			s, d := state.(noteState), in.(placed)
			if d.before != s.version {
				return false, s
			}
			if !d.done {
				s.reads++
				return d.saw(s), s
			}
			if d.reads != s.reads || s.there && d.ifVersion != 0 && s.version > d.ifVersion {
				return false, s
			}
			return d.there == s.there && d.found == s.text, d.after(s)
		},
		Equal: func(a, b any) bool {
			one, other := a.(noteState), b.(noteState)
			return one.version == other.version && one.reads == other.reads
		},
	}
}

// saw reports whether a deed that changed nothing may have been told so of a note in this state.
func (d *deed) saw(s noteState) bool {
	right := d.there == s.there && d.found == s.text
	switch {
	case d.kind == "read":
		return right
	case d.stale:
		return right && s.there && s.version > d.ifVersion
	case d.refused:
		return right && (d.kind == "create") == s.there
	}
	return right && (d.kind == "create") != s.there // it was only tried
}

// after is the note after a deed that changed it.
func (d *deed) after(s noteState) noteState {
	if d.kind == "delete" {
		return noteState{version: d.at}
	}
	return noteState{version: d.at, there: true, text: d.text(s.text)}
}

// inOrder says of the deeds of one note where they stand.
func inOrder(deeds []*deed) []placed {
	var versions []uint64
	for _, d := range deeds {
		if d.done {
			versions = append(versions, d.at)
		}
	}
	slices.Sort(versions)
	all, reads := make([]placed, len(deeds)), map[uint64]int{}
	for i, d := range deeds {
		at, found := slices.BinarySearch(versions, d.at)
		if found && !d.done {
			at++
		}
		all[i] = placed{deed: d}
		if at > 0 {
			all[i].before = versions[at-1]
		}
		if !d.done {
			reads[all[i].before]++
		}
	}
	for i := range all {
		all[i].reads = reads[all[i].before]
	}
	return all
}

// check requires that the history of each note is linearizable, that each edit that was acknowledged
// is in the log once and nothing else is, and that everybody comes to the same.
func (c *crowd) check(t *testing.T) {
	c.over.Store(true)
	c.place.flaky.Deliver(t.Context())
	c.place.bucket.deliver()
	byNote := map[string][]*deed{}
	for _, d := range c.history.deeds {
		byNote[d.note] = append(byNote[d.note], d)
	}
	for note, deeds := range byNote {
		result := porcupine.CheckOperationsTimeout(noteModel(), operations(deeds), time.Minute)
		require.Equal(t, porcupine.Ok, result, "%s is not linearizable", note)
	}
	c.checkOrder(t)
	c.checkLog(t)
}

// operations are the deeds of a note as porcupine takes them.
func operations(deeds []*deed) []porcupine.Operation {
	var ops []porcupine.Operation
	for _, d := range inOrder(deeds) {
		ops = append(ops, porcupine.Operation{
			ClientId: d.client, Input: d,
			Call: int64(d.called), Return: int64(d.returned),
		})
	}
	return ops
}

// checkOrder requires that no version goes back, over all notes and clients: who is called after
// another was answered sees what that one saw, or later.
func (c *crowd) checkOrder(t *testing.T) {
	answered := slices.Clone(c.history.deeds)
	slices.SortFunc(answered, func(a, b *deed) int { return cmp.Compare(a.returned, b.returned) })
	called := slices.Clone(answered)
	slices.SortFunc(called, func(a, b *deed) int { return cmp.Compare(a.called, b.called) })
	newest := uint64(0)
	for _, d := range called {
		for len(answered) > 0 && answered[0].returned < d.called {
			newest = max(newest, answered[0].at)
			answered = answered[1:]
		}
		require.GreaterOrEqual(t, d.at, newest, "%+v", d)
		require.False(t, d.done && d.at == newest, "%+v", d)
	}
}

// checkLog compares the log with what was acknowledged, and the processes with each other.
func (c *crowd) checkLog(t *testing.T) {
	acked := map[uint64]string{}
	for _, d := range c.history.deeds {
		if d.done {
			require.Empty(t, acked[d.at], "%d is the version of two", d.at)
			acked[d.at] = d.word
		}
	}
	fresh := c.open(t, c.place.Engine)
	seq := uint64(0)
	for commit, err := range fresh.Commits(t.Context(), 1) {
		require.NoError(t, err)
		seq++
		require.Equal(t, seq, commit.Seq)
		require.Equal(t, acked[seq], commit.Tool, "v%d", seq)
	}
	require.Len(t, acked, int(seq))
	want, err := vaultSubject{Vault: fresh}.state(t.Context())
	require.NoError(t, err)
	for i := range c.processes {
		found, err := vaultSubject{Vault: c.processes[i].Load()}.state(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, found)
	}
	_, err = fresh.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.NoError(t, vaultSubject{Vault: fresh}.verify(t.Context()))
	audited := 0
	for lines, err := range fresh.AuditLog(t.Context()) {
		require.NoError(t, err)
		audited += strings.Count(string(lines), "\n")
	}
	require.GreaterOrEqual(t, audited, int(seq), "each commit changes a note")
}
