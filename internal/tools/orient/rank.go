package orient

import (
	"fmt"
	"iter"
	"slices"

	"github.com/rookeryhq/rookery/internal/tool"
)

// A count is a name, with the number of notes that have it.
type count struct {
	name  string
	notes int
}

// topCounts returns the first limit counts of all, sorted by descending number of notes and then by
// name, and the total number of names. all must yield the names in order. It keeps only limit
// counts in memory. A name with as many notes as the last kept one is after it in the order, so it
// is dropped.
//
// The list stays sorted by binary insertion. That is cheap because limit is at most some hundreds,
// and most names of a long list are rejected by the first comparison.
func topCounts(all iter.Seq2[string, int], limit int) (first []count, total int) {
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

// A truncation describes a list or tree that may be truncated. It is not if total is at most shown.
type truncation struct {
	code         string // of the warning
	what         string // the plural noun of the entries, such as "tags"
	shown, total int
	field        string // the field whose values are listed; empty for other lists
	more         string // advice that shows more entries; empty: none
}

// warn adds a warning, with the total number of entries, if the list is truncated. The message ends
// with the advice in more, if there is any.
func (c truncation) warn(a *tool.Aside) {
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

// limitAdvice returns the advice to use a higher limit, or "" if the limit is the maximum already.
func limitAdvice(limit, most int) string {
	if limit < most {
		return "use a higher limit"
	}
	return ""
}

// A TagCount is a tag, with the number of notes that have it.
type TagCount struct {
	// without a leading #
	Tag string `json:"tag"`
	// notes with the tag in their frontmatter
	Notes int `json:"noteCount" title:"notes"`
}

// tagCounts converts counts of tags. The result is never nil, so that it is a JSON array.
func tagCounts(all []count) []TagCount {
	list := make([]TagCount, len(all))
	for i, c := range all {
		list[i] = TagCount{c.name, c.notes}
	}
	return list
}
