package raven

import (
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
)

const (
	// maxListed is the maximum size in bytes of a field's value, or of another text, in a list
	// item.
	maxListed = 4 << 10

	// maxListedAll is the maximum size in bytes of the JSON of all fields of a list item.
	maxListedAll = 64 << 10
)

// maxWhole is the maximum size in bytes of the JSON of the fields in an answer about a single
// object.
const maxWhole = 3 << 19

// listedFields returns the fields of a list item, shortened if they are too large, and the names of
// the shortened or omitted fields. Fields that are small enough are returned as they are.
//
// The result must not be modified: it can be the map of the index. Fields are taken in the order of
// their names until maxListedAll bytes are used; each value has at most maxListed. A list item then
// has a bounded size, and a page of them fits into an answer.
func listedFields(fields map[string]any) (shown map[string]any, cut []string) {
	left := maxListedAll
	if small(fields, &left) {
		return fields, nil
	}
	shown, left = make(map[string]any, len(fields)), maxListedAll
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := cutValue(fields[name], max(min(maxListed, left), 0))
		if left > 0 {
			shown[name] = value
		}
		left -= tool.SizeOf(shown[name]) + len(name)
		if left <= 0 || tool.SizeOf(fields[name]) > tool.SizeOf(value) {
			cut = append(cut, name)
		}
	}
	return shown, firstOf(cut, maxCutNames)
}

// maxCutNames is the maximum number of names of shortened fields in an answer.
const maxCutNames = 20

// small reports whether each field has at most maxListed bytes and all together have at most *left,
// which it decreases.
func small(fields map[string]any, left *int) bool {
	for name, value := range fields {
		n := tool.SizeOf(value)
		*left -= n + len(name)
		if n > maxListed || *left < 0 {
			return false
		}
	}
	return true
}

// cutValue returns a value, shortened to about `most` bytes: the beginning of a text, or the first
// elements of a list.
//
// A map of values shares the limit evenly among its members. Numbers, dates and bools are small and
// never shortened. The value itself is not modified.
func cutValue(value any, most int) any {
	switch v := value.(type) {
	case string:
		return tool.Beginning(v, most)
	case markdown.Nested:
		if len(v) > most {
			return tool.Beginning(string(v), most)
		}
	case map[string]any:
		shown := make(map[string]any, len(v))
		for name, e := range v {
			shown[name] = cutValue(e, most/max(len(v), 1))
		}
		return shown
	case []any:
		if tool.SizeOf(v) <= most {
			return v
		}
		shown := []any{}
		for _, e := range v {
			e = cutValue(e, most)
			if most -= tool.SizeOf(e) + 1; most < 0 {
				break
			}
			shown = append(shown, e)
		}
		return shown
	}
	return value
}
