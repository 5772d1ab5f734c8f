package tooltest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Missing says what of one JSON value is not in another: empty if all of it is. An object may have
// more keys than it should, and a list more entries between those that it should have, which must
// come in the same order. A null must be a null.
func Missing(want, has json.RawMessage) string {
	var w, h any
	if err := json.Unmarshal(want, &w); err != nil {
		return fmt.Sprintf("what is wanted is no JSON: %v", err)
	}
	if err := json.Unmarshal(has, &h); err != nil {
		return fmt.Sprintf("the answer is no JSON: %v", err)
	}
	return missing(w, h, "")
}

func missing(want, has any, at string) string {
	switch w := want.(type) {
	case map[string]any:
		h, ok := has.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is no object: %v", at, has)
		}
		for name, value := range w {
			inner, ok := h[name]
			if !ok {
				return fmt.Sprintf("%s.%s is not there", at, name)
			}
			if problem := missing(value, inner, at+"."+name); problem != "" {
				return problem
			}
		}
	case []any:
		h, ok := has.([]any)
		if !ok {
			return fmt.Sprintf("%s is no list: %v", at, has)
		}
		return missingEntry(w, h, at)
	default:
		if want != has {
			return fmt.Sprintf("%s is %v, not %v", at, has, want)
		}
	}
	return ""
}

// missingEntry finds the entries of a list in another, one behind the other.
func missingEntry(want, has []any, at string) string {
	for i, w := range want {
		found := slices.IndexFunc(has, func(h any) bool { return missing(w, h, "") == "" })
		if found < 0 {
			where := fmt.Sprintf("%s[%d]", at, i)
			if len(has) == 1 {
				return missing(w, has[0], where)
			}
			return where + " is not there, or not in its place"
		}
		has = has[found+1:]
	}
	return ""
}
