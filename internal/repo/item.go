package repo

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/memory"
)

// An Item is a change of an entity of a vault that is not a file: a memory, its links, an agent, a
// chapter or a piece of wisdom. It is a part of its own in a run, so that it can be erased alone.
type Item struct {
	// Kind and ID identify the entity. The kinds are constants of package memory.
	Kind, ID string
	Value    json.RawMessage // in JSON; nil if Gone
	Gone     bool            // the commit removes the item
	Prev     uint64          // the commit that changed it before; 0: none
	Erased   bool            // its part was erased: nothing else is known of it
}

// An itemHead is the JSON at the beginning of an item's part.
type itemHead struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Prev uint64 `json:"prev,omitempty"`
	Gone bool   `json:"gone,omitempty"`
}

// part encodes the item as a part of a run.
func (i *Item) part() (part, error) {
	head, err := json.Marshal(itemHead{i.Kind, i.ID, i.Prev, i.Gone})
	if err != nil {
		return part{}, fmt.Errorf("encode an item's head: %w", err)
	}
	size := binary.AppendUvarint(nil, uint64(len(head)))
	return newPart(partItem, size, head, i.Value), nil
}

// readItemPart decodes an item from the data of its part, without the kind byte.
func readItemPart(body []byte) (Item, error) {
	head, value, err := splitNote(body)
	if err != nil {
		return Item{}, err
	}
	var h itemHead
	if err := json.Unmarshal(head, &h); err != nil {
		return Item{}, fmt.Errorf("decode an item's head: %w", err)
	}
	i := Item{Kind: h.Kind, ID: h.ID, Prev: h.Prev, Gone: h.Gone}
	if !h.Gone {
		i.Value = value
	}
	return i, nil
}

// item returns the change of an item by the commit; false if there is none.
func (c *Commit) item(kind, id string) (Item, bool) {
	for _, i := range c.Items {
		if i.Kind == kind && i.ID == id {
			return i, true
		}
	}
	return Item{}, false
}

// items returns the items of the commit as changes of the index. at is the place of the commit's
// first part.
func (c *Commit) items(at PartRef) []memory.Change {
	var all []memory.Change
	for j, i := range c.Items {
		if i.Erased {
			continue
		}
		all = append(all, memory.Change{
			Kind: i.Kind, ID: i.ID, Value: i.Value, Gone: i.Gone, Position: j,
			Place: memory.Place{Run: at.Run, Part: at.Part + len(c.Notes) + j},
		})
	}
	return all
}

// erasedItems returns the removal of the items of an index whose current values a commit erases.
// The commits that removed them may be erased too, so that a reader may still have them.
func erasedItems(before *index.Index, c *Commit) []memory.Change {
	erased := c.erases()
	if len(erased) == 0 {
		return nil // most commits: only an erasure searches all items
	}
	places := make(map[memory.Place]bool, len(erased))
	for _, p := range erased {
		places[memory.Place(p)] = true
	}
	var all []memory.Change
	for ref := range before.Memories().At(places) {
		if _, told := c.item(ref.Kind, ref.ID); !told {
			all = append(all, memory.Change{Kind: ref.Kind, ID: ref.ID, Gone: true})
		}
	}
	return all
}

// ID returns an id for an entity that the call creates. The function of an Update gets the same ids
// each time it runs. Ids of one commit are different from each other.
func (d *Draft[S]) ID(prefix string) string {
	d.ids++
	return memory.UUID(prefix, d.commit.Call, fmt.Sprint(d.ids))
}

// putItem stages an item. It replaces a change staged for the same item.
func (d *Draft[S]) putItem(i Item) {
	d.stale = true
	at := slices.IndexFunc(d.commit.Items, func(o Item) bool { return o.Kind == i.Kind && o.ID == i.ID })
	if at >= 0 {
		d.commit.Items[at] = i
		return
	}
	d.commit.Items = append(d.commit.Items, i)
}

// PutItem stages the value of an item, also if the item has that value already. It returns
// QUOTA_EXCEEDED if the vault has too many memories, INVALID_QUERY if the value is too large, and
// CONFLICT if the item changed after the version that the call is based on.
func (tx *Tx) PutItem(kind, id string, value any) error {
	data, err := encode(value)
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
	return tx.stageItem(Item{Kind: kind, ID: id, Value: data, Prev: prev})
}

// RemoveItem stages the removal of an item. It does nothing if the item does not exist. It returns
// CONFLICT if the item changed after the version that the call is based on.
func (tx *Tx) RemoveItem(kind, id string) error {
	prev, exists := tx.versionOf(kind, id)
	if !exists {
		return nil
	}
	return tx.stageItem(Item{Kind: kind, ID: id, Gone: true, Prev: prev})
}

// versionOf returns the commit that changed an item last, and whether the item exists.
func (tx *Tx) versionOf(kind, id string) (uint64, bool) {
	_, version, ok := tx.Before().Memories().Place(kind, id)
	return version, ok
}

// stageItem stages an item, unless it changed after the version that the call is based on: then it
// returns CONFLICT.
func (tx *Tx) stageItem(i Item) error {
	if err := tx.Touch(i.Prev); err != nil {
		return err
	}
	tx.putItem(i)
	return nil
}

// newMemories returns how many memories the Tx adds.
func (tx *Tx) newMemories() (n int) {
	for _, i := range tx.commit.Items {
		if i.Kind == memory.KindMemory && !i.Gone && i.Prev == 0 {
			n++
		}
	}
	return n
}
