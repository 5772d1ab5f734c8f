package index

import (
	"iter"
	"slices"
	"strings"
)

// A Tag is a tag of a note. Two tags that differ by case, composition or width only are one.
type Tag struct {
	Name  string // as it is written first in the note
	Line  int
	Scope int // position of the section that it stands in; -1: the note
}

// A TaggedIn is a note that has a tag, and where it first stands.
type TaggedIn struct {
	Note *Note
	Tag  Tag
}

// Tagged yields the notes behind a path that have a tag, or one below it (`a/b` is below `a`), by path.
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

// Tags yields all tags with the number of notes that have them, those below not counted, by name: each
// in the way in which most notes write it.
func (x *Index) Tags() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		var key, name string
		most, sum := 0, 0
		prefix := spelledTag.name("")
		for entry, n := range x.summed(prefix, prefix) {
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

// TagCount is the number of notes that Tagged yields.
func (x *Index) TagCount(tag string) int { return x.count(byTag, TagKey(tag)) }

// TagKey is the form in which two tags are equal.
func TagKey(tag string) string { return clean(fold(strings.Trim(tag, "/"))) }

// isBelow reports whether the tag is another, in the form of TagKey, or below it.
func (t Tag) isBelow(other string) bool {
	rest, ok := strings.CutPrefix(TagKey(t.Name), other)
	return ok && (rest == "" || rest[0] == '/')
}

// tagKeys returns the tags of a note and all that they are below, in the form of TagKey, each once.
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

// spelling is a tag for the sums of what notes write.
func (t Tag) spelling() string { return key(TagKey(t.Name), t.Name) }
