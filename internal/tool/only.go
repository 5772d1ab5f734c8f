package tool

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// named returns the names in a list. An entry may contain several names separated by commas, as in
// a query string.
func named(list []string) []string {
	names := strings.Split(strings.Join(list, ","), ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// only returns the JSON of an answer's data with only the given fields of each item of its list or,
// if it has no list, of the data itself.
func (t *Tool) only(data json.RawMessage, fields []string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	var items []map[string]json.RawMessage
	list := t.listIn(members, fields)
	if list == "" || json.Unmarshal(members[list], &items) != nil {
		keep(members, fields)
		return Marshal(members)
	}
	for _, item := range items {
		keep(item, fields)
	}
	var err error
	if members[list], err = Marshal(items); err != nil {
		return nil, err
	}
	return Marshal(members)
}

// listIn returns the key of the list in the data of an answer: the one that the Spec names, else
// `items`, else the only list of objects. It returns "" if there is no such list, or if one of the
// fields is a member of the data itself.
func (t *Tool) listIn(data map[string]json.RawMessage, fields []string) string {
	if t.List != "" {
		return t.List
	}
	if _, ok := data[itemsKey]; ok {
		return itemsKey
	}
	var lists []string
	for name, s := range t.OutputSchema().Properties {
		if slices.Contains(fields, name) {
			return ""
		}
		if _, ok := data[name]; ok && s.Items != nil && s.Items.Type == "object" {
			lists = append(lists, name)
		}
	}
	if len(lists) != 1 {
		return ""
	}
	return lists[0]
}

// itemsKey is the key of a list in the data of an answer, unless the Spec names another (CONTRACT
// §1).
const itemsKey = "items"

// keep deletes all members of m except the given fields.
func keep(m map[string]json.RawMessage, fields []string) {
	maps.DeleteFunc(m, func(k string, _ json.RawMessage) bool { return !slices.Contains(fields, k) })
}
