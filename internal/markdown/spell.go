package markdown

import (
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A spelling writes values in the notation of declarations and annotations, so that readValue
// returns the same value. Its fields describe the place of the value, which determines when quotes
// are needed.
type spelling struct {
	typed bool // true, false and numbers have types, so a text that looks like one needs quotes
	alone bool // no comma separates the value from others
	block bool // references separated by commas are a list
}

// spell returns a value as text that reads back as the same value. why is the reason if the value
// cannot be written on a line, and otherwise empty.
func (s spelling) spell(value any) (text string, why string) {
	switch v := value.(type) {
	case nil:
		return "", ""
	case bool:
		return strconv.FormatBool(v), ""
	case float64:
		return number(v), ""
	case Ref:
		return v.link(), ""
	case string:
		return s.text(v)
	}
	return s.list(value.([]any))
}

// text returns a text without quotes if it reads back as itself, and otherwise in quotes. A whole
// wikilink reads back as a reference.
func (s spelling) text(v string) (string, string) {
	if strings.ContainsAny(v, "\r\n") {
		return "", "has a line break, which cannot be on a line"
	}
	if _, ok := refOf(v); ok {
		return v, ""
	}
	if v != "" && v[0] != '"' && equal(readValue(v, s.typed), v) && (s.alone || plainArgument(v)) {
		return v, ""
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`, ""
}

// plainArgument reports whether a text is one part between commas.
func plainArgument(v string) bool {
	parts, ok := splitArguments([]byte(v))
	return ok && len(parts) == 1 && !strings.ContainsRune(v, ',')
}

// list returns a list in brackets; references on a line of their own are only separated by commas.
// An item that cannot be written, or is nil, is an error, because an empty item would be dropped
// when the list is parsed.
func (s spelling) list(list []any) (string, string) {
	items := make([]string, len(list))
	links := s.block && len(list) > 1
	for i, item := range list {
		text, why := spelling{typed: s.typed}.spell(item)
		if why != "" {
			return "", why
		}
		if item == nil {
			return "", "has an item that is null, which a list on a line cannot contain"
		}
		items[i] = text
		_, isRef := item.(Ref)
		links = links && isRef
	}
	joined := strings.Join(items, ", ")
	if !links {
		joined = "[" + joined + "]"
	}
	return joined, ""
}

// readLink returns the reference of a string that is a whole wikilink, and any other value
// unchanged.
func readLink(value any) any {
	if s, ok := value.(string); ok {
		if ref, ok := refOf(s); ok {
			return ref
		}
	}
	return value
}

// equal reports whether two values are the same. Lists are compared item by item.
func equal(a, b any) bool {
	x, ok := a.([]any)
	if !ok {
		_, isList := b.([]any)
		return !isList && a == b
	}
	y, ok := b.([]any)
	if !ok || len(x) != len(y) {
		return false
	}
	for i := range x {
		if !equal(x[i], y[i]) {
			return false
		}
	}
	return true
}

// invalid returns the error for a value that cannot be written.
func invalid(key, why string) error {
	return fault.New(fault.InvalidValue, "the value of %q %s", key, why).With("field", key)
}
