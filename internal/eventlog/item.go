package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// An Item is a change of an entity of a vault that is not a file: a memory, its links, an agent, a
// chapter or a piece of wisdom. It is a part of its own in a run, so that it can be erased alone.
type Item struct {
	// Kind and ID identify the entity. The log does not interpret them.
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
func (i *Item) part() (Part, error) {
	head, err := json.Marshal(itemHead{i.Kind, i.ID, i.Prev, i.Gone})
	if err != nil {
		return Part{}, fmt.Errorf("encode an item's head: %w", err)
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
