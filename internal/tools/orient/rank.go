package orient

import (
	"iter"
	"slices"
)

// A count is a name, and how many notes have it.
type count struct {
	name  string
	notes int
}

// ranked returns the first so many of some counts, which come by name: those with the most notes first, and of as
// many notes by name. total is how many there are in all.
func ranked(all iter.Seq2[string, int], limit int) (first []count, total int) {
	for name, notes := range all {
		total++
		if len(first) == limit && first[limit-1].notes >= notes {
			continue
		}
		if len(first) == limit {
			first = first[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(first, notes, func(c count, notes int) int {
			if c.notes >= notes {
				return -1
			}
			return 1
		})
		first = slices.Insert(first, at, count{name, notes})
	}
	return first, total
}

// A TagCount is a tag, and how many notes have it.
type TagCount struct {
	Tag   string `json:"tag" jsonschema:"without a leading #"`
	Notes int    `json:"noteCount" title:"notes" jsonschema:"notes with the tag in their frontmatter"`
}

func tagCounts(all []count) []TagCount {
	list := make([]TagCount, len(all))
	for i, c := range all {
		list[i] = TagCount{c.name, c.notes}
	}
	return list
}
