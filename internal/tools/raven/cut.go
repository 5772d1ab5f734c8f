package raven

import (
	"maps"
	"slices"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
)

const (
	// maxListed is how many bytes of a value of a field an item of a list shows, and of other texts of it.
	maxListed = 4 << 10

	// maxListedAll is how many bytes of JSON the fields of an item have in all.
	maxListedAll = 64 << 10
)

// maxWhole is how many bytes of JSON the fields of one object have that an answer shows whole.
const maxWhole = 3 << 19

// listedFields are fields as an item of a list shows them, and the names of those of which it shows only the
// beginning. Fields that are small enough stay as they are.
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

// maxCutNames is how many names of cut fields are told.
const maxCutNames = 20

// small reports whether no field is too large for an item, nor all together, of which left bytes may be.
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

// cutValue is a value, or the beginning of one that has more bytes: of a text its first, of a list its first
// elements.
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
