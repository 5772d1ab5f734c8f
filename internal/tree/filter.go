package tree

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Filter selects the properties of nodes that are shown, by their paths: names with dots between
// them, ignoring case. A property is shown if Included is empty, or contains it, a path above it or
// a path below it; and if Excluded contains neither it nor a path above it.
//
// For example, an Included of payload shows all fields, and one of address.city shows this member
// of the field address and no other.
type Filter struct {
	Included []string `json:"included,omitempty"`
	Excluded []string `json:"excluded,omitempty"`
}

// IsEmpty reports whether the filter shows everything.
func (f Filter) IsEmpty() bool { return len(f.Included)+len(f.Excluded) == 0 }

// structural has the names of the properties of a node besides its fields, in lower case. The path
// of a field with such a name begins with `payload.`.
var structural = map[string]bool{
	"nodeid": true, "uid": true, "kind": true, "payloadtype": true, "name": true, "title": true, "path": true,
	"depth": true, "level": true, "childrencount": true, "isexpanded": true, "tags": true, "payload": true,
	"body": true, "content": true, "bodybytes": true, "version": true, "createdat": true, "updatedat": true,
	"reference": true, "ancestors": true, "children": true, "skeleton": true, "parent": true,
	"viareference": true,
}

// IsStructural reports whether a name is that of a property which is not a field, ignoring case.
func IsStructural(name string) bool { return structural[strings.ToLower(name)] }

// fieldPrefix is the prefix of the path of a field whose name is structural.
const fieldPrefix = "payload."

// canonical returns a path in the form in which equal paths are equal texts: in lower case, without
// blanks around it, and with the prefix payload only before a structural name.
func canonical(path string) string {
	path = strings.ToLower(strings.TrimSpace(path))
	if rest, ok := strings.CutPrefix(path, fieldPrefix); ok {
		first, _, _ := strings.Cut(rest, ".")
		// The prefix is needed only before a structural name, so payload.status and status are the
		// same path.
		if !IsStructural(first) {
			return rest
		}
	}
	return path
}

// isUnder reports whether a path is top or below it.
func isUnder(path, top string) bool {
	return path == top || strings.HasPrefix(path, top) && path[len(top)] == '.'
}

// alwaysShown lists the properties that are shown even if they are not included. They can be
// excluded.
var alwaysShown = []string{"payloadtype", "isexpanded", "childrencount", "version"}

// Shows reports whether the filter shows the property at a path. It always shows nodeId and
// children.
func (f Filter) Shows(path string) bool {
	if f.IsEmpty() {
		return true
	}
	path = canonical(path)
	// Without these, an answer would have no tree and no addresses.
	if path == "nodeid" || path == "children" {
		return true
	}
	return f.includes(path) && !f.excludes(path)
}

// includes reports whether Included selects a canonical path.
func (f Filter) includes(path string) bool {
	if len(f.Included) == 0 || slices.Contains(alwaysShown, path) {
		return true
	}
	field := isField(path)
	return slices.ContainsFunc(f.Included, func(name string) bool {
		name = canonical(name)
		return isUnder(path, name) || isUnder(name, path) || name == "payload" && field ||
			path == "payload" && isField(name)
	})
}

// excludes reports whether Excluded contains a canonical path, or one above it.
func (f Filter) excludes(path string) bool {
	field := isField(path)
	return slices.ContainsFunc(f.Excluded, func(name string) bool {
		name = canonical(name)
		return isUnder(path, name) || name == "payload" && field
	})
}

// isField reports whether a canonical path is that of a field.
func isField(path string) bool {
	first, _, _ := strings.Cut(path, ".")
	return !IsStructural(first) || strings.HasPrefix(path, fieldPrefix)
}

// Wants reports whether the filter includes a property, or one below it, by name. It is for
// properties that are shown only on request.
func (f Filter) Wants(path string) bool {
	path = canonical(path)
	return slices.ContainsFunc(f.Included, func(name string) bool { return isUnder(canonical(name), path) }) &&
		!f.excludes(path)
}

// value returns the part of the value at a path that the filter shows: for a mapping, the members
// that it shows, at any depth. It returns ok false if it shows nothing.
func (f Filter) value(path string, v any) (shown any, ok bool) {
	if !f.Shows(path) {
		return nil, false
	}
	nested, is := v.(markdown.Nested)
	if !is || f.IsEmpty() {
		return v, true
	}
	// A list in JSON has no members to select, and is shown as a whole.
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

// inner returns the part of a member of a mapping that the filter shows.
func (f Filter) inner(path string, raw json.RawMessage) any {
	v, _ := f.value(path, markdown.Nested(raw))
	return v
}

// membersOf returns the members of a mapping; ok is false if the JSON is not an object.
func membersOf(nested markdown.Nested) (members map[string]json.RawMessage, ok bool) {
	err := json.Unmarshal([]byte(nested), &members)
	return members, err == nil && members != nil
}
