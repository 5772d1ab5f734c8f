package tree

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Filter says which properties of nodes are shown, by their paths: names with dots between them, in which the case
// of letters does not count. A property is shown if Included is empty, or names it, something above it, or something
// below it; and if Excluded names neither it nor something above it.
type Filter struct {
	Included []string `json:"included,omitempty"`
	Excluded []string `json:"excluded,omitempty"`
}

// IsEmpty reports whether the filter shows everything.
func (f Filter) IsEmpty() bool { return len(f.Included)+len(f.Excluded) == 0 }

// structural are the names of what a node has beside its fields. A field of such a name is `payload.` and the name.
var structural = map[string]bool{
	"nodeid": true, "uid": true, "kind": true, "payloadtype": true, "name": true, "title": true, "path": true,
	"depth": true, "level": true, "childrencount": true, "isexpanded": true, "tags": true, "payload": true,
	"body": true, "content": true, "bodybytes": true, "version": true, "createdat": true, "updatedat": true,
	"reference": true, "ancestors": true, "children": true, "skeleton": true, "parent": true,
	"viareference": true,
}

// IsStructural reports whether a name is one of what every node has.
func IsStructural(name string) bool { return structural[strings.ToLower(name)] }

// fieldPrefix is in front of the names of fields, where they may be taken for something else.
const fieldPrefix = "payload."

// canonical is a path in the form in which equal ones are equal.
func canonical(path string) string {
	path = strings.ToLower(strings.TrimSpace(path))
	if rest, ok := strings.CutPrefix(path, fieldPrefix); ok {
		first, _, _ := strings.Cut(rest, ".")
		if !IsStructural(first) {
			return rest
		}
	}
	return path
}

// isUnder reports whether a path is another one or under it.
func isUnder(path, top string) bool {
	return path == top || strings.HasPrefix(path, top) && path[len(top)] == '.'
}

// stays are the properties that only an exclusion takes away.
var stays = []string{"payloadtype", "isexpanded", "childrencount", "version"}

// Shows reports whether the filter shows a property, by its path.
func (f Filter) Shows(path string) bool {
	if f.IsEmpty() {
		return true
	}
	path = canonical(path)
	if path == "nodeid" || path == "children" {
		return true
	}
	return f.includes(path) && !f.excludes(path)
}

func (f Filter) includes(path string) bool {
	if len(f.Included) == 0 || slices.Contains(stays, path) {
		return true
	}
	field := isField(path)
	return slices.ContainsFunc(f.Included, func(name string) bool {
		name = canonical(name)
		return isUnder(path, name) || isUnder(name, path) || name == "payload" && field ||
			path == "payload" && isField(name)
	})
}

func (f Filter) excludes(path string) bool {
	field := isField(path)
	return slices.ContainsFunc(f.Excluded, func(name string) bool {
		name = canonical(name)
		return isUnder(path, name) || name == "payload" && field
	})
}

// isField reports whether a canonical path is of a field.
func isField(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return !IsStructural(first) || strings.HasPrefix(path, fieldPrefix)
}

// Wants reports whether the filter names a property, or something under it: what is shown only if it is asked for.
func (f Filter) Wants(path string) bool {
	path = canonical(path)
	return slices.ContainsFunc(f.Included, func(name string) bool { return isUnder(canonical(name), path) }) &&
		!f.excludes(path)
}

// value is what the filter shows of a value with a path; ok is false if it shows nothing. Of a mapping it shows the
// members that it shows.
func (f Filter) value(path string, v any) (shown any, ok bool) {
	if !f.Shows(path) {
		return nil, false
	}
	nested, is := v.(markdown.Nested)
	if !is || f.IsEmpty() {
		return v, true
	}
	members, ok := membersOf(nested)
	if !ok {
		return v, true
	}
	all := Payload{}
	for name := range members {
		if f.Shows(path + "." + name) {
			all[name] = f.inner(path+"."+name, members[name])
		}
	}
	return all, true
}

// inner is what the filter shows inside a member of a mapping that it shows.
func (f Filter) inner(path string, raw json.RawMessage) any {
	v, _ := f.value(path, markdown.Nested(raw))
	return v
}

// membersOf are the members of a mapping; ok is false if the JSON is no object.
func membersOf(nested markdown.Nested) (members map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal([]byte(nested), &members)
	return members, err == nil && members != nil
}
