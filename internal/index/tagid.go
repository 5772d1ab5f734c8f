package index

import (
	"strings"
	"sync"
)

// A TagID is the number of the slug of a tag, in the rows of an index and of those that were made
// from it. 0 is no number.
type TagID uint16

const (
	maxTagID = 1<<16 - 1
	rowTags  = 4 // tags of a note that its row contains
)

// A tagNumbers numbers the tags of rows, in the order in which they are seen first, as long as
// there are numbers. A slug thus has its number in all rows or in none. It is safe for concurrent
// use.
type tagNumbers struct {
	mu  sync.RWMutex
	ids map[string]TagID
}

// known returns the number of a slug; 0 if it has none.
func (t *tagNumbers) known(slug string) TagID {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.ids[slug]
}

// of returns the number of a slug; 0 if it gets none. A slug without a number gets the next one.
func (t *tagNumbers) of(slug string) TagID {
	if id := t.known(slug); id > 0 {
		return id
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.ids[slug]
	if !ok && len(t.ids) < maxTagID {
		if t.ids == nil {
			t.ids = map[string]TagID{}
		}
		id = TagID(len(t.ids) + 1)
		t.ids[strings.Clone(slug)] = id // the slug can be a part of a large text
	}
	return id
}

// TagID returns the number of the slug of a tag for Row.HasTag; 0 if it has none.
func (x *Index) TagID(slug string) TagID { return x.tags.known(slug) }

// HasTag reports whether the note has the tag with a number, and whether the row knows it. It does
// not read the card, which lists of many notes would have to fetch from memory for each of them.
func (r *Row) HasTag(id TagID) (has, known bool) {
	if id == 0 {
		return false, false
	}
	for _, tag := range r.tags {
		if tag == id {
			return true, true
		}
	}
	return false, !r.day.moreTags
}
