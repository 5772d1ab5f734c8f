package markdown

import "strings"

// TextOf returns a value of a Map as text. It is the text of JavaScript's String, except that a
// Date is in the format of ISO: a number in JSON notation, the items of a list with commas between
// them, "[object Object]" for a mapping, and "null" for nil. A nil item of a list is empty.
func TextOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case bool:
		if v {
			return "true"
		}
		return "false"
	case Number:
		return string(v)
	case Date:
		return v.ISO()
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			if item != nil {
				items[i] = TextOf(item)
			}
		}
		return strings.Join(items, ",")
	}
	return "[object Object]"
}

// TextsOf returns the values of a field that is a list, or a text of values separated by commas.
// Each is the TextOf a value, without blanks around it. It returns nil for nil.
func TextsOf(v any) []string {
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		parts := strings.Split(TextOf(v), ",")
		for i, part := range parts {
			parts[i] = trimText(part)
		}
		return parts
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = trimText(TextOf(item))
	}
	return texts
}

// trimText returns a text without blanks around it, as JavaScript's trim does.
func trimText(s string) string { return strings.TrimFunc(s, IsSpace) }
