package markdown

import "strings"

// TextOf returns a value of a Map as one text, as JavaScript does with String, but for a Date, which is as ISO
// has it: a number as JSON writes it, the items of a list with commas between them, a mapping without what is in
// it. Null is the text null.
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

// TextsOf returns the values of a field that is a list, or a text with commas between the values: each as
// TextOf has it, without blanks around it. There are none in null.
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

func trimText(s string) string { return strings.TrimFunc(s, IsSpace) }
