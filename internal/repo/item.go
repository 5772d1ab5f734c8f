package repo

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"rookery/internal/fault"
	"rookery/internal/index"
	"rookery/internal/memory"
)

// An Item is a thing of a vault that is no file: a memory, its links, an agent, a chapter or a piece of wisdom. In
// a run it is a part of its own, so that it can be erased alone.
type Item struct {
	Kind, ID string
	Value    json.RawMessage // nil if Gone
	Gone     bool
	Prev     uint64 // the commit that changed it before; 0: none
	Erased   bool   // nothing else is known of it
}

// itemHead is what an item's part holds before its value.
type itemHead struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Prev uint64 `json:"prev,omitempty"`
	Gone bool   `json:"gone,omitempty"`
}

// part is the item as a part of a run.
func (i *Item) part() (part, error) {
	head, err := json.Marshal(itemHead{i.Kind, i.ID, i.Prev, i.Gone})
	if err != nil {
		return part{}, fmt.Errorf("encode an item's head: %w", err)
	}
	size := binary.AppendUvarint(nil, uint64(len(head)))
	return newPart(partItem, size, head, i.Value), nil
}

// readItemPart reads what part wrote, but for the kind of part.
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

// item is what a commit made of an item.
func (c *Commit) item(kind, id string) (Item, bool) {
	for _, i := range c.Items {
		if i.Kind == kind && i.ID == id {
			return i, true
		}
	}
	return Item{}, false
}

// items are the items of a commit as the index takes them. The first part of the commit is at a place.
func (c *Commit) items(at Place) []memory.Change {
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

// erasedItems are the changes of a commit that erases the values at some places, of what is there still: who
// removed them is erased too.
func erasedItems(before *index.Index, c *Commit) []memory.Change {
	erased := c.erases()
	if len(erased) == 0 {
		return nil // most commits: only an erasure looks through all items
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

// ID is an id for something that the call makes: the same each time that its function runs.
func (d *Draft[S]) ID(prefix string) string {
	d.ids++
	return memory.UUID(prefix, d.commit.Call, fmt.Sprint(d.ids))
}

// putItem stages an item in place of what was staged for it before.
func (d *Draft[S]) putItem(i Item) {
	d.stale = true
	at := slices.IndexFunc(d.commit.Items, func(o Item) bool { return o.Kind == i.Kind && o.ID == i.ID })
	if at >= 0 {
		d.commit.Items[at] = i
		return
	}
	d.commit.Items = append(d.commit.Items, i)
}

// PutItem stages the value of an item, new or not. What is there already with the same value is staged all the
// same. A memory too many is QUOTA_EXCEEDED, and one that is too large INVALID_QUERY.
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

// RemoveItem stages that an item goes. One that is not there is left alone.
func (tx *Tx) RemoveItem(kind, id string) error {
	prev, exists := tx.versionOf(kind, id)
	if !exists {
		return nil
	}
	return tx.stageItem(Item{Kind: kind, ID: id, Gone: true, Prev: prev})
}

// versionOf is the commit that changed an item last, and whether it is there.
func (tx *Tx) versionOf(kind, id string) (uint64, bool) {
	_, version, ok := tx.Before().Memories().Place(kind, id)
	return version, ok
}

// stageItem stages an item, unless it changed after the version that the call builds on.
func (tx *Tx) stageItem(i Item) error {
	if err := tx.Touch(i.Prev); err != nil {
		return err
	}
	tx.putItem(i)
	return nil
}

// newMemories is how many memories the Tx adds.
func (tx *Tx) newMemories() (n int) {
	for _, i := range tx.commit.Items {
		if i.Kind == memory.KindMemory && !i.Gone && i.Prev == 0 {
			n++
		}
	}
	return n
}
