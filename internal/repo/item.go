package repo

import (
	"fmt"

	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/memory"
)

// itemsOf returns the items of a commit as changes of the index. at is the place of the commit's
// first part.
func itemsOf(c *eventlog.Commit, at eventlog.PartRef) []memory.Change {
	var all []memory.Change
	for j, i := range c.Items {
		if i.Erased {
			continue
		}
		all = append(all, memory.Change{
			Kind: i.Kind, ID: i.ID, Value: i.Value, Deleted: i.Gone, Position: j,
			Place: memory.Place{Run: at.Run, Part: at.Part + len(c.Notes) + j},
		})
	}
	return all
}

// erasedItems returns the removal of the items of an index whose current values a commit erases.
// The commits that removed them may be erased too, so that a reader may still have them.
func erasedItems(before *index.Index, c *eventlog.Commit) []memory.Change {
	erased := c.ErasedParts()
	if len(erased) == 0 {
		return nil // most commits: only an erasure searches all items
	}
	places := make(map[memory.Place]bool, len(erased))
	for _, p := range erased {
		places[memory.Place(p)] = true
	}
	var all []memory.Change
	for ref := range before.Memories().At(places) {
		if _, told := c.ItemOf(ref.Kind, ref.ID); !told {
			all = append(all, memory.Change{Kind: ref.Kind, ID: ref.ID, Deleted: true})
		}
	}
	return all
}

// ID returns an id for an entity that the call creates. The function of an Update gets the same ids
// each time it runs. Ids of one commit are different from each other.
func (tx *Tx) ID(prefix string) string {
	tx.ids++
	return memory.UUID(prefix, tx.draft.Commit().Call, fmt.Sprint(tx.ids))
}

// PutItem stages the value of an item, also if the item has that value already. It returns
// QUOTA_EXCEEDED if the vault has too many memories, INVALID_QUERY if the value is too large, and
// CONFLICT if the item changed after the version that the call is based on.
func (tx *Tx) PutItem(kind, id string, value any) error {
	data, err := eventlog.Encode(value)
	if err != nil {
		return fmt.Errorf("encode an item: %w", err)
	}
	if len(data) > memory.MaxValue {
		return fault.New(fault.InvalidQuery, "the %s would have %d bytes; the limit is %d", kind, len(data),
			memory.MaxValue).With("limit", memory.MaxValue)
	}
	prev, existed := tx.versionOf(kind, id)
	if kind == memory.KindMemory && !existed {
		if most := tx.v.limits.Memories; tx.Before().Memories().Len()+tx.newMemories() >= most {
			return fault.New(fault.QuotaExceeded, "a vault has at most %d memories", most).With("limit", most)
		}
	}
	return tx.stageItem(eventlog.Item{Kind: kind, ID: id, Value: data, Prev: prev})
}

// RemoveItem stages the removal of an item. It does nothing if the item does not exist. It returns
// CONFLICT if the item changed after the version that the call is based on.
func (tx *Tx) RemoveItem(kind, id string) error {
	prev, exists := tx.versionOf(kind, id)
	if !exists {
		return nil
	}
	return tx.stageItem(eventlog.Item{Kind: kind, ID: id, Gone: true, Prev: prev})
}

// versionOf returns the commit that changed an item last, and whether the item exists, both before
// the changes of the Tx. For an item that does not exist the commit is 0.
func (tx *Tx) versionOf(kind, id string) (uint64, bool) {
	_, version, ok := tx.Before().Memories().Place(kind, id)
	return version, ok
}

// stageItem stages an item, unless it changed after the version that the call is based on: then it
// returns CONFLICT.
func (tx *Tx) stageItem(i eventlog.Item) error {
	if err := tx.Touch(i.Prev); err != nil {
		return err
	}
	tx.draft.StageItem(i)
	return nil
}

// newMemories returns how many memories the Tx adds. Memories that it removes make no room for
// them.
func (tx *Tx) newMemories() (n int) {
	for _, i := range tx.draft.Commit().Items {
		if i.Kind == memory.KindMemory && !i.Gone && i.Prev == 0 {
			n++
		}
	}
	return n
}
