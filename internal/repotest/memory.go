package repotest

import (
	"context"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/memory"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/search"
)

// memoryID returns the id of the memory that a scenario keeps beside the note of a name.
func memoryID(name string) string { return memory.PrefixMemory + name }

// storeMemory stages a memory with a text. One that has it already is left alone.
func storeMemory(tx *repo.Tx, id, text string) error {
	old, there := tx.Index().Memories().Card(id)
	if there && old.Outcome.Summary == text {
		return nil
	}
	m := memory.Memory{
		V: memory.Format, Agent: "tester", Principal: "tester", Session: memory.NoSession,
		Created: tx.Now().UnixMilli(),
		Intent:  memory.Intent{Goal: "goal of " + id, TaskType: "other"},
		Outcome: memory.Outcome{Success: true, Summary: text},
	}
	if there {
		m.Created, m.Updated = old.Created, tx.Now().UnixMilli()
	}
	return tx.PutItem(memory.KindMemory, id, m)
}

// growMemory stages a memory with a longer text.
func growMemory(tx *repo.Tx, id string) error {
	text := "+"
	if old, there := tx.Index().Memories().Card(id); there {
		text = old.Outcome.Summary + "+"
	}
	return storeMemory(tx, id, text)
}

// memoriesOf writes all memories of a vault, with their whole values.
func memoriesOf(ctx context.Context, v *repo.Vault, x *memory.Index, b *strings.Builder) error {
	for c := range x.Cards("") {
		m, err := v.Memory(ctx, c)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s v%d %v %q %v\n", c.ID, c.Version, c.Place, m.Outcome.Summary, x.AllLinks(c.ID))
	}
	return nil
}

// memories is how many memories a random history has at most: few, so that they are changed, linked and deleted.
const memories = 12

func (a Author) memoryID() string { return fmt.Sprintf("mem_%d", a.r.IntN(memories)) }

// Memory is a memory.
func (a Author) Memory() memory.Memory {
	m := memory.Memory{
		V: memory.Format, Agent: pick(a.r, []string{"ann", "helper"}), Principal: "ann",
		Session: pick(a.r, []string{memory.NoSession, "s1"}), Importance: float64(a.r.IntN(3)) / 2,
		Intent: memory.Intent{Goal: a.fill("{word} {name} {word}"),
			TaskType: pick(a.r, []memory.TaskType{"bug_fix", "refactor"})},
		Outcome: memory.Outcome{Success: a.r.IntN(3) > 0, Summary: a.fill(pick(a.r, lines))},
	}
	for range a.r.IntN(3) {
		m.Tags = append(m.Tags, a.fill("{tag}"))
		m.Actions = append(m.Actions, memory.Action{Type: "file_edit", FilePath: a.Path()})
		m.Outcome.Learnings = append(m.Outcome.Learnings, a.fill("{word} {word}"))
	}
	return m
}

// drawMemoryEdit draws an edit of a memory, of its links, of an agent or of a chapter.
func (c *chronicle) drawMemoryEdit() edit {
	id := c.author.memoryID()
	switch c.r.IntN(8) {
	case 0:
		return func(_ context.Context, tx *repo.Tx) error {
			if err := tx.RemoveItem(memory.KindMemory, id); err != nil {
				return err
			}
			return tx.RemoveItem(memory.KindLinks, id)
		}
	case 1, 2:
		return link(id, pick(c.r, memory.LinkKinds()), c.author.memoryID())
	case 3:
		return c.drawChapter()
	case 4: // over what the item of a run holds
		return put(id, c.author.Memory(), noise(17<<10+c.r.IntN(2<<10), c.r.Uint64()))
	}
	return put(id, c.author.Memory(), "")
}

// put stages a memory, with more text behind its summary.
func put(id string, m memory.Memory, more string) edit {
	return func(_ context.Context, tx *repo.Tx) error {
		m := m // the edit may run again
		m.Created = tx.Now().UnixMilli()
		if old, there := tx.Index().Memories().Card(id); there {
			m.Created, m.Updated, m.Agent = old.Created, m.Created, old.Agent
		}
		m.Outcome.Summary += more
		return tx.PutItem(memory.KindMemory, id, m)
	}
}

// link stages a link between two memories that are there.
func link(source, kind, target string) edit {
	return func(_ context.Context, tx *repo.Tx) error {
		x := tx.Index().Memories()
		_, from := x.Card(source)
		_, to := x.Card(target)
		links := x.Links(source).Links
		if !from || !to || source == target || !links.Add(kind, target) {
			return nil
		}
		links.V = memory.Format
		return tx.PutItem(memory.KindLinks, source, links)
	}
}

// drawChapter draws a chapter of the memories that are there, with its agent.
func (c *chronicle) drawChapter() edit {
	title, gone := c.author.fill("{word}"), c.r.IntN(3) == 0
	id := fmt.Sprintf("chapter_%d", c.r.IntN(3))
	return func(_ context.Context, tx *repo.Tx) error {
		var cards []*memory.Card
		for card := range tx.Index().Memories().Newest() {
			cards = append(cards, card)
		}
		if gone || len(cards) == 0 {
			return tx.RemoveItem(memory.KindChapter, id)
		}
		chapter := memory.NewChapter(cards, title, nil, nil)
		chapter.Agent, chapter.Created = cards[0].Agent, tx.Now().UnixMilli()
		if err := tx.PutItem(memory.KindChapter, id, chapter); err != nil {
			return err
		}
		return tx.PutItem(memory.KindAgent, chapter.Agent, memory.Agent{
			V: memory.Format, Type: memory.AgentMain, Principal: "ann", Created: tx.Now().UnixMilli(),
		})
	}
}

// rememberings writes what a vault answers of the memories of a version: their values, what is found, and the history of
// some of them.
func (c *chronicle) rememberings(ctx context.Context, v *repo.Vault, version uint64, b *strings.Builder) {
	s, err := v.SearchableMemoriesAt(ctx, version)
	require.NoError(c.t, err)
	require.Equal(c.t, version, s.Index.Version())
	require.NoError(c.t, memoriesOf(ctx, v, s.Index.Memories(), b))
	for _, q := range queries {
		found, err := s.Search.Search(search.PlainQuery(q), search.Options{Snippet: -1})
		require.NoError(c.t, err)
		fmt.Fprintf(b, "memories of %s: %d\n", q, found.Total)
		for _, hit := range found.Items {
			fmt.Fprintf(b, "\t%s %v\n", hit.Doc, hit.Score)
		}
	}
	for _, id := range []string{"mem_1", "mem_2"} {
		at, changed, there := s.Index.Memories().Place(memory.KindMemory, id)
		if !there {
			var err error
			changed, err = v.LastOfItem(ctx, memory.KindMemory, id, version)
			require.NoError(c.t, err)
		}
		fmt.Fprintf(b, "%s %v was last changed by v%d\n", id, at, changed)
		for r, err := range v.ItemRevisions(ctx, memory.KindMemory, id, changed) {
			require.NoError(c.t, err)
			fmt.Fprintf(b, "\tv%d %v %d\n", r.Seq, r.Item.Gone, r.Item.Prev)
		}
	}
}
