package tree

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Property is a field of a node.
//
// A list of properties keeps the order of the text, which a map would not.
type Property struct {
	Name  string
	Value any // a type of index.Field.Value
}

// isOutsidePayload reports whether a field of the node is not in its payload: the title and tags,
// which are shown separately, the id of a section, and the order of a folder.
func (n Node) isOutsidePayload(name string) bool {
	switch strings.ToLower(name) {
	case "title", "tags":
		return true
	case "id":
		return n.Section > 0
	case "order":
		return n.Note == nil
	}
	return false
}

// Fields returns all fields of the node, as written.
func (t *Tree) Fields(n Node) []index.Field {
	switch {
	case n.Section > 0:
		return n.section().Fields()
	case n.Note != nil:
		return n.Note.Fields
	}
	return t.folderInfo(n.Folder).Fields
}

// Payload returns the payload of the node's Source.
func (t *Tree) Payload(n Node) []Property {
	n, _ = t.Source(n)
	return t.OwnPayload(n)
}

// OwnPayload returns the fields of the node itself in text order, without those that are shown
// separately, such as the title and the tags.
func (t *Tree) OwnPayload(n Node) []Property {
	fields := t.Fields(n)
	all := make([]Property, 0, len(fields))
	for _, f := range fields {
		if !n.isOutsidePayload(f.Name) {
			all = append(all, Property{f.Name, f.Value})
		}
	}
	return all
}

// Tags returns the distinct tags in the field `tags` of the node, in text order. It returns an
// empty list, and never nil, if there are none.
func (t *Tree) Tags(n Node) []string {
	for _, f := range t.Fields(n) {
		if f.Name == "tags" {
			return tagsOf(f.Value)
		}
	}
	return []string{}
}

// tagsOf parses the field `tags`: a list, or a text with commas or spaces between the tags. A
// leading # is dropped. Of tags that differ only in case, the first counts.
func tagsOf(v any) []string {
	all := []string{}
	add := func(tag string) {
		tag = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(tag), "#"))
		key := index.TagKey(tag)
		if tag != "" && !slices.ContainsFunc(all, func(o string) bool { return index.TagKey(o) == key }) {
			all = append(all, tag)
		}
	}
	switch v := v.(type) {
	case string:
		for _, tag := range strings.FieldsFunc(v, func(r rune) bool { return r == ',' || markdown.IsSpace(r) }) {
			add(tag)
		}
	case []any:
		for _, tag := range v {
			add(Text(tag))
		}
	case nil:
	default:
		add(Text(v))
	}
	return all
}

// Text returns a value as one text: a reference with its brackets, a list with commas, anything
// else as JSON has it.
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		// FormatInt is faster than Marshal. Negative zero and large numbers are left to Marshal,
		// which writes them differently.
		if i := int64(v); float64(i) == v && -maxWhole < v && v < maxWhole && (i != 0 || !math.Signbit(v)) {
			return strconv.FormatInt(i, 10) // in the form of JSON
		}
	case markdown.Ref:
		return "[[" + string(v) + "]]"
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = Text(v[i])
		}
		return strings.Join(texts, ", ")
	}
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

// maxWhole limits the whole numbers that JSON writes without an exponent and float64 represents
// exactly.
const maxWhole = 1 << 53

// AnswerValue returns a value in the form of answers: with references as texts with brackets, also
// in lists. Mappings stay JSON.
func AnswerValue(v any) any {
	switch v := v.(type) {
	case markdown.Ref:
		return Text(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = AnswerValue(v[i])
		}
		return list
	}
	return v
}
