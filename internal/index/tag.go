package index

import (
	"iter"
	"slices"
	"strings"
	"sync"
)

// A Tag is a tag of a note. Tags that differ only in case, composition or width are equal.
type Tag struct {
	Name  string // the first spelling in the note
	Line  int    // of its first occurrence
	Scope int    // position of the section that contains it; -1 for the note
}

// A TaggedIn is a note with a tag, and the first occurrence of the tag in it.
type TaggedIn struct {
	Note *Note
	Tag  Tag
}

// Tagged yields the notes after a path that have a tag, or one below it (`a/b` is below `a`), by
// path.
func (x *Index) Tagged(tag, after string) iter.Seq[TaggedIn] {
	tag = TagKey(tag)
	return func(yield func(TaggedIn) bool) {
		for n := range x.notesBy(byTag.name(tag), after) {
			i := slices.IndexFunc(n.Tags, func(t Tag) bool { return t.isBelow(tag) })
			if n.Path != after && !yield(TaggedIn{n, n.Tags[i]}) {
				return
			}
		}
	}
}

// Tags yields all tags, by name, with the number of notes that have each; tags below it are not
// counted. Each is spelled as in most of the notes; of equally frequent spellings, the first in
// sorted order. It reads one count for each spelling, and no notes.
func (x *Index) Tags() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		var key, name string
		most, sum := 0, 0
		prefix := spelledTag.name("")
		for entry, n := range x.countedNames(prefix, prefix) {
			folded, spelled, _ := strings.Cut(entry[1:], "\x00")
			if folded != key {
				if sum > 0 && !yield(name, sum) {
					return
				}
				key, most, sum = folded, 0, 0
			}
			if sum += n; n > most {
				most, name = n, spelled
			}
		}
		if sum > 0 {
			yield(name, sum)
		}
	}
}

// TagCount returns the number of notes that Tagged yields.
func (x *Index) TagCount(tag string) int { return x.count(byTag, TagKey(tag)) }

// TagKey returns the form in which equal tags are equal texts.
func TagKey(tag string) string { return clean(fold(strings.Trim(tag, "/"))) }

// isBelow reports whether the tag equals other, in the form of TagKey, or is below it.
func (t Tag) isBelow(other string) bool {
	rest, ok := strings.CutPrefix(TagKey(t.Name), other)
	return ok && (rest == "" || rest[0] == '/')
}

// tagKeys returns the tags of a note and all their parent tags, in the form of TagKey, sorted and
// distinct. A note with the tag a/b thus has entries for a/b and a, and a search for a finds it
// with one range.
func (n *Note) tagKeys() []string {
	var all []string
	for _, t := range n.Tags {
		for key := TagKey(t.Name); key != ""; {
			all = append(all, key)
			key = key[:max(0, strings.LastIndexByte(key, '/'))]
		}
	}
	return distinct(all)
}

// spelling returns the name under which spellings of the tag are counted, without its kind.
func (t Tag) spelling() string { return key(TagKey(t.Name), t.Name) }

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
