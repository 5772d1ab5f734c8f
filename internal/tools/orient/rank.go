package orient

import (
	"fmt"
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/tool"
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

// A cutting is a list, or a tree, that shows less than there is.
type cutting struct {
	code         string
	what         string // tags
	shown, total int
	field        string // whose values are listed; empty for other lists
	more         string // how to see more; empty: there is no way
}

// warn warns of a list that is cut, with the number of all that there are. A whole list has no warning.
func (c cutting) warn(a *tool.Aside) {
	if c.total <= c.shown {
		return
	}
	message := fmt.Sprintf("%d of %d %s are shown", c.shown, c.total, c.what)
	fields := map[string]any{"total": c.total}
	if c.field != "" {
		message = fmt.Sprintf("%d of %d %s of %q are shown", c.shown, c.total, c.what, c.field)
		fields["field"] = c.field
	}
	if c.more != "" {
		message += "; " + c.more
	}
	a.Warn(c.code, message, fields)
}

// higher is the advice to ask for more, where a limit may be higher.
func higher(limit, most int) string {
	if limit < most {
		return "use a higher limit"
	}
	return ""
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
