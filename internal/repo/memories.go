package repo

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/memory"
)

// Memory returns the whole value of a memory in the index. It costs one read of the log if the
// value is not cached. It returns NOT_FOUND if the vault was erased.
func (v *Vault) Memory(ctx context.Context, c *memory.Card) (*memory.Memory, error) {
	value, err := v.Text(ctx, index.Body(c.Place))
	if err != nil {
		return nil, err
	}
	return readMemory(value)
}

// Memory returns the whole value of a memory as it was before the changes of the Tx.
func (tx *Tx) Memory(ctx context.Context, c *memory.Card) (*memory.Memory, error) {
	value, err := tx.text(ctx, index.Body(c.Place))
	if err != nil {
		return nil, err
	}
	return readMemory(value)
}

// readMemory decodes the value of a memory.
func readMemory(value []byte) (*memory.Memory, error) {
	m := &memory.Memory{}
	if err := json.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("read a memory: %w", err)
	}
	return m, nil
}

// PrefetchMemories loads values of memories into the cache; see Prefetch.
func (v *Vault) PrefetchMemories(ctx context.Context, cards []*memory.Card) {
	bodies := make([]index.Body, 0, len(cards))
	for _, c := range cards {
		bodies = append(bodies, index.Body(c.Place))
	}
	v.Prefetch(ctx, bodies)
}

// An ItemRevision is one change of an item: the commit, and the item after it.
type ItemRevision struct {
	*eventlog.Commit
	Item eventlog.Item
}

// ItemRevisions yields the changes of an item, newest first, beginning with commit from, which must
// have changed it. It costs one read for each change. It ends with the change that created the
// item, or before the first change that is erased.
func (v *Vault) ItemRevisions(
	ctx context.Context, kind, id string, from uint64,
) iter.Seq2[ItemRevision, error] {
	return func(yield func(ItemRevision, error) bool) {
		for seq := from; seq > 0; {
			c, err := v.log.Commit(ctx, seq)
			if err != nil {
				yield(ItemRevision{}, v.orNone(err))
				return
			}
			i, ok := c.ItemOf(kind, id)
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

// LastOfItem returns the last commit up to upTo that changed an item; 0 if there is none. It costs
// as much as Trace. It also counts commits that removed the item, but not erased parts.
func (v *Vault) LastOfItem(ctx context.Context, kind, id string, upTo uint64) (last uint64, err error) {
	words := [][]byte{inJSON(id)}
	for r, err := range v.naming(ctx, upTo, func() [][]byte { return words }) {
		if err != nil {
			return 0, v.orNone(err)
		}
		commits, err := r.Decode()
		if err != nil {
			return 0, eventlog.Damaged(r.First, err)
		}
		for _, c := range commits {
			if _, ok := c.ItemOf(kind, id); ok && c.Seq <= upTo {
				last = c.Seq
			}
		}
	}
	return last, nil
}
