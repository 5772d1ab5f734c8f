package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"rookery/internal/index"
	"rookery/internal/memory"
)

// Memory is the whole value of a memory that the index has. It is one read of the log, if it is not cached.
func (v *Vault) Memory(ctx context.Context, c *memory.Card) (*memory.Memory, error) {
	value, err := v.Text(ctx, index.Body(c.Place))
	if err != nil {
		return nil, err
	}
	return readMemory(value)
}

// Memory is the whole value of a memory, as it is before what the Tx holds.
func (tx *Tx) Memory(ctx context.Context, c *memory.Card) (*memory.Memory, error) {
	value, err := tx.text(ctx, index.Body(c.Place))
	if err != nil {
		return nil, err
	}
	return readMemory(value)
}

func readMemory(value []byte) (*memory.Memory, error) {
	m := &memory.Memory{}
	if err := json.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("read a memory: %w", err)
	}
	return m, nil
}

// PrefetchMemories puts the values of memories at hand that are about to be asked for; see Prefetch.
func (v *Vault) PrefetchMemories(ctx context.Context, cards []*memory.Card) {
	bodies := make([]index.Body, 0, len(cards))
	for _, c := range cards {
		bodies = append(bodies, index.Body(c.Place))
	}
	v.Prefetch(ctx, bodies)
}

// An ItemRevision is one change of an item: the commit, and what became of the item.
type ItemRevision struct {
	*Commit
	Item Item
}

// ItemRevisions yields the changes of an item, newest first, from a commit that changed it on. It costs one read for
// each. It ends where the item was made, or with the first change that is erased.
func (v *Vault) ItemRevisions(
	ctx context.Context, kind, id string, from uint64,
) iter.Seq2[ItemRevision, error] {
	return func(yield func(ItemRevision, error) bool) {
		for seq := from; seq > 0; {
			c, err := v.log.commit(ctx, seq)
			if err != nil {
				yield(ItemRevision{}, v.orNone(err))
				return
			}
			i, ok := c.item(kind, id)
			if !ok {
				return
			}
			if !yield(ItemRevision{c, i}, nil) || i.Prev >= seq {
				return
			}
			seq = i.Prev
		}
	}
}

// LastOfItem is the last commit that changed an item, of those up to a version; 0: none did. It reads what Trace does.
func (v *Vault) LastOfItem(ctx context.Context, kind, id string, upTo uint64) (last uint64, err error) {
	words := [][]byte{inJSON(id)}
	for r, err := range v.naming(ctx, upTo, func() [][]byte { return words }) {
		if err != nil {
			return 0, v.orNone(err)
		}
		commits, err := r.commits()
		if err != nil {
			return 0, damaged(r.First, err)
		}
		for _, c := range commits {
			if _, ok := c.item(kind, id); ok && c.Seq <= upTo {
				last = c.Seq
			}
		}
	}
	return last, nil
}
