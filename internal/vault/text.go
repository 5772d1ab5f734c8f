package vault

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rookery/internal/markdown"
)

// A Text is a value as a person writes it on a command line: `5` for a number, `a,b` for a list,
// nothing for null. Field.Read and Read give it the type that its field has.
type Text string

// link is a text that is nothing but a reference (reference/raven.md §1.7).
var link = regexp.MustCompile(`^\[\[([^\[\]|\n]+)(?:\|[^\]\n]+)?\]\]$`)

// null is how YAML spells that there is no value.
var null = regexp.MustCompile(`^ *(~|null|Null|NULL)? *$`)

// parseLink reads `[[people/freya]]` and `[[people/freya|Freya]]`.
func parseLink(s string) (markdown.Ref, bool) {
	m := link.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || isBlank(m[1]) {
		return "", false
	}
	return markdown.Ref(strings.TrimSpace(m[1])), true
}

// ParseRef reads a reference as people and agents write it: `people/freya`, `[[people/freya]]`, or
// `[[people/freya|Freya]]`.
func ParseRef(s string) (markdown.Ref, bool) {
	if ref, ok := parseLink(s); ok {
		return ref, true
	}
	return parseLink("[[" + strings.TrimSpace(s) + "]]")
}

// value is the text as a value of the type.
func (t Text) value(valueType string) (any, bool) {
	switch {
	case t == "":
		return nil, true
	case isList(valueType):
		return t.list(), true
	case valueType == "number":
		n, err := strconv.ParseFloat(string(t), 64)
		return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
	case valueType == "bool":
		return t == "true", t == "true" || t == "false"
	}
	return string(t), true
}

// list is the text as a list: its parts between commas, with or without brackets around them all.
// Where there are quotes in the brackets, YAML says what the parts are.
func (t Text) list() []any {
	s := string(t)
	if inner, ok := inBrackets(s); ok {
		if list, ok := t.yaml().([]any); ok && strings.ContainsAny(s, `"'`) {
			return list
		}
		s = inner
	}
	var list []any
	for _, part := range splitCommas(s) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, Text(part))
		}
	}
	return list
}

// inBrackets is what stands in the brackets around a list. Those of a reference are none.
func inBrackets(s string) (string, bool) {
	list := strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") &&
		(!strings.HasPrefix(s, "[[") || strings.HasPrefix(s, "[[["))
	if !list || len(s) < 2 {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// splitCommas parts a text at its commas, but not inside references.
func splitCommas(s string) []string {
	var parts []string
	begin, depth := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth = max(0, depth-1)
		case ',':
			if depth == 0 {
				parts = append(parts, s[begin:i])
				begin = i + 1
			}
		}
	}
	return append(parts, s[begin:])
}

// isNested reports whether a value is a mapping, or a list with one: no field of a type has such a value.
func isNested(value any) bool {
	switch v := value.(type) {
	case markdown.Nested:
		return true
	case []any:
		return slices.ContainsFunc(v, isNested)
	}
	return false
}

// yaml is the text as frontmatter reads it, if it is one of its scalars or lists; else the text.
func (t Text) yaml() any {
	s := string(t)
	if ref, ok := parseLink(s); ok {
		return ref
	}
	doc := markdown.Parse([]byte("---\nk: " + s + "\n---\n"))
	e, ok := doc.Frontmatter.Get("k")
	if !ok || doc.Problem != nil || strings.ContainsAny(s, "\r\n") {
		return s
	}
	switch v := e.Value.(type) {
	case nil:
		if !null.MatchString(s) {
			return s
		}
	case string:
		if !strings.ContainsAny(s[:1], `"'`) {
			return s
		}
		return v
	case markdown.Nested:
		return s
	case []any:
		if slices.ContainsFunc(v, isNested) {
			return s
		}
	}
	return e.Value
}
