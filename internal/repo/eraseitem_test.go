package repo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/vault"
)

// items returns a function that puts items with their values, or removes those whose value is nil,
// and returns an answer.
func items(answer any, all map[memory.Ref]any) func(context.Context, *repo.Tx) (any, error) {
	return func(_ context.Context, tx *repo.Tx) (any, error) {
		for ref, value := range all {
			err := tx.RemoveItem(ref.Kind, ref.ID)
			if value != nil {
				err = tx.PutItem(ref.Kind, ref.ID, value)
			}
			if err != nil {
				return nil, err
			}
		}
		return answer, nil
	}
}

// remembers changes items in one call, with an idempotency key unless it is empty.
func remembers(t *testing.T, v *repo.Vault, key string, answer any, all map[memory.Ref]any) {
	t.Helper()
	c := caller()
	c.Key = key
	_, err := v.Update(t.Context(), c, items(answer, all))
	require.NoError(t, err)
}

// remembered returns a memory with a goal.
func remembered(goal string) memory.Memory {
	return memory.Memory{V: memory.Format, Agent: "a", Principal: "ann", Created: 1, Intent: memory.Intent{Goal: goal}}
}

// furnishMemories stores a memory with the canary and data that quotes it: chapters, one of them
// deleted and one that quoted it only at first, wisdom of these, and answers of calls. It also
// stores unrelated items.
func (s *shelf) furnishMemories(t *testing.T) {
	t.Helper()
	ref := func(kind, id string) memory.Ref { return memory.Ref{Kind: kind, ID: id} }
	chapter := func(summary string, of ...string) memory.Chapter {
		return memory.Chapter{V: memory.Format, Summary: summary, Learnings: []string{summary}, Memories: of}
	}
	s.write(t, 2)
	remembers(t, s.vault, "stored", map[string]any{"memory_id": "mem_secret"}, map[memory.Ref]any{
		ref(memory.KindMemory, "mem_secret"): remembered(canary + " first"),
		ref(memory.KindMemory, "mem_other"):  remembered("other"),
	})
	remembers(t, s.vault, "", nil, map[memory.Ref]any{
		ref(memory.KindMemory, "mem_secret"): remembered(canary + noise(60<<10)),
		ref(memory.KindLinks, "mem_secret"):  memory.Links{V: memory.Format, RelatedTo: []string{"mem_other"}},
	})
	remembers(t, s.vault, "chapters", nil, map[memory.Ref]any{
		ref(memory.KindChapter, "chapter_gone"): chapter(canary, "mem_other", "mem_secret"),
		ref(memory.KindChapter, "chapter_left"): chapter(canary, "mem_secret"),
		ref(memory.KindChapter, "chapter_safe"): chapter("safe", "mem_other"),
	})
	remembers(t, s.vault, "", nil, map[memory.Ref]any{
		ref(memory.KindWisdom, "wisdom_made"): memory.Wisdom{
			V: memory.Format, Summary: canary, Chapters: []string{"chapter_gone", "chapter_safe"},
		},
		ref(memory.KindWisdom, "wisdom_safe"): memory.Wisdom{V: memory.Format, Chapters: []string{"chapter_safe"}},
	})
	remembers(t, s.vault, "", nil, map[memory.Ref]any{
		ref(memory.KindChapter, "chapter_gone"): nil,
		ref(memory.KindChapter, "chapter_left"): chapter("of another", "mem_other"),
	})
	remembers(t, s.vault, "unchanged", map[string]any{"memory_id": "mem_secret", "goal": canary}, nil)
	s.write(t, 2)
}

// TestEraseMemory checks that nothing is left of a memory and of the data that quotes it, wherever
// the log is, that the chain is intact, and that other memories stay.
func TestEraseMemory(t *testing.T) {
	for name, before := range map[string]func(*testing.T, *shelf){
		"in the table":     func(*testing.T, *shelf) {},
		"in segments":      func(t *testing.T, s *shelf) { s.fold(t) },
		"out of the table": func(t *testing.T, s *shelf) { s.empty(t) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			s.furnishMemories(t)
			before(t, s)
			warm := s.open(t)
			_, err := warm.Read(t.Context())
			require.NoError(t, err)
			warm.Accessed(t.Context(), []string{"mem_secret", "mem_other"})
			s.clock.Move(2 * time.Minute)
			warm.Accessed(t.Context(), []string{"mem_secret"})
			require.Contains(t, s.unpacked(t), canary)

			_, err = s.vault.EraseMemory(t.Context(), caller(), "mem_secret")
			require.NoError(t, err)
			require.NoError(t, s.vault.Compact(t.Context(), eventlog.Compaction{}))
			s.write(t, 1)

			rest := s.unpacked(t)
			require.False(t, strings.Contains(rest, canary))
			require.False(t, strings.Contains(rest, "mem_secret"))
			_, err = s.open(t).Verify(t.Context(), nil)
			require.NoError(t, err)
			for _, v := range []*repo.Vault{warm, s.vault, s.open(t)} {
				requireMemories(t, v)
			}
			keyed := caller()
			keyed.Key = "unchanged"
			_, err = warm.Update(t.Context(), keyed, items(nil, nil))
			require.ErrorContains(t, err, "erased")
			_, err = warm.EraseMemory(t.Context(), caller(), "mem_never")
			require.True(t, fault.Is(err, fault.NotFound), "%v", err)
		})
	}
}

// requireMemories requires the items that must remain after mem_secret is erased.
func requireMemories(t *testing.T, v *repo.Vault) {
	t.Helper()
	idx, err := v.Read(t.Context())
	require.NoError(t, err)
	x := idx.Memories()
	var ids []string
	for c := range x.Cards("") {
		ids = append(ids, c.ID)
	}
	for k := range x.Chapters() {
		ids = append(ids, k.ID)
	}
	for k := range x.AllWisdom() {
		ids = append(ids, k.ID)
	}
	require.ElementsMatch(t, []string{"mem_other", "chapter_safe", "wisdom_safe"}, ids)
	counts, err := v.Accesses(t.Context())
	require.NoError(t, err)
	require.NotContains(t, counts, "mem_secret")
	require.Equal(t, 1, counts["mem_other"].Count)
}

// TestEraseMovedNote checks that the history of a note at its earlier paths is erased, and that the
// histories of other notes at those paths are not.
func TestEraseMovedNote(t *testing.T) {
	move := func(t *testing.T, v *repo.Vault, from, to, text string) {
		t.Helper()
		_, err := v.Update(t.Context(), caller(), func(ctx context.Context, tx *repo.Tx) (any, error) {
			if err := tx.Remove(ctx, vault.Path(from)); err != nil {
				return nil, err
			}
			return nil, tx.TakeIn(ctx, vault.Path(to), repo.Outside{Text: []byte(text), From: from})
		})
		require.NoError(t, err)
	}
	s := newShelf(t)
	change(t, s.vault, edit{"one.md", "of the earlier note\n"})
	move(t, s.vault, "one.md", "earlier.md", "of the earlier note, moved")
	change(t, s.vault, edit{"one.md", canary})
	move(t, s.vault, "one.md", "two.md", canary+" moved")
	change(t, s.vault, edit{"one.md", "of the later note"})
	move(t, s.vault, "two.md", "secret.md", canary+" moved again")
	s.write(t, 2)
	s.fold(t)
	s.eraseNote(t, "secret.md")

	rest := s.unpacked(t)
	require.False(t, strings.Contains(rest, canary))
	require.False(t, strings.Contains(rest, "two.md"))
	require.Contains(t, rest, "of the earlier note\n")
	require.Contains(t, rest, "of the later note")
	_, err := s.open(t).Verify(t.Context(), nil)
	require.NoError(t, err)
	idx, err := s.open(t).Read(t.Context())
	require.NoError(t, err)
	for path, there := range map[string]bool{"one.md": true, "earlier.md": true, "two.md": false, "secret.md": false} {
		_, ok := idx.File(path)
		require.Equal(t, there, ok, path)
	}
}
