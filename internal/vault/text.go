package vault

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// A Text is an untyped value as written on a command line: `5` for a number, `a,b` for a list, ""
// for null. Field.Read converts it to the type of its field. A value that a caller gives as JSON
// has a type already and is not a Text: there, "5" is a text and not valid for a number.
type Text string

// link matches a text that consists of one reference (reference/raven.md §1.7).
var link = regexp.MustCompile(`^\[\[([^\[\]|\n]+)(?:\|[^\]\n]+)?\]\]$`)

// null matches the ways to write null in YAML.
var null = regexp.MustCompile(`^ *(~|null|Null|NULL)? *$`)

// parseLink parses `[[people/freya]]` and `[[people/freya|Freya]]`.
func parseLink(s string) (markdown.Ref, bool) {
	m := link.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || isBlank(m[1]) {
		return "", false
	}
	return markdown.Ref(strings.TrimSpace(m[1])), true
}

// ParseRef parses a reference in any of its forms: `people/freya`, `[[people/freya]]`, or
// `[[people/freya|Freya]]`. It returns false for a blank text.
func ParseRef(s string) (markdown.Ref, bool) {
	if ref, ok := parseLink(s); ok {
		return ref, true
	}
	return parseLink("[[" + strings.TrimSpace(s) + "]]")
}

// value converts the text to a value type. It returns false if it is not valid for a number or a
// bool. The text of any other type is returned as a string, which the caller validates. The empty
// text is null for every type.
func (t Text) value(valueType string) (any, bool) {
	switch {
	case t == "":
		return nil, true
	case isList(valueType):
		return t.list(), true
	case valueType == "number":
		n, err := strconv.ParseFloat(string(t), 64)
		if digits := json.Number(t); err == nil && !markdown.IsExact(digits) {
			return digits, true // readNumber refuses it with the reason
		}
		return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
	case valueType == "bool":
		return t == "true", t == "true" || t == "false"
	}
	return string(t), true
}

// list splits the text at its commas, with or without surrounding brackets, into trimmed Texts;
// empty elements are left out. If a bracketed list contains quotes, it is parsed as YAML, so that
// an element can contain a comma.
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

// inBrackets returns the text within the brackets of a list. The brackets of a reference do not
// count.
func inBrackets(s string) (string, bool) {
	list := strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") &&
		(!strings.HasPrefix(s, "[[") || strings.HasPrefix(s, "[[["))
	if !list || len(s) < 2 {
		return "", false
	}
	return s[1 : len(s)-1], true
}

// splitCommas splits a text at the commas that are not inside brackets, so that the alias of a
// reference can contain a comma. It never returns an empty slice.
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

// isNested reports whether a value is a mapping, or a list that contains one. No field has such
// values.
func isNested(value any) bool {
	switch v := value.(type) {
	case markdown.Nested:
		return true
	case []any:
		return slices.ContainsFunc(v, isNested)
	}
	return false
}

// yaml returns the value of the text as a scalar or a list in frontmatter, or the text itself if it
// is neither: `5` is a number, `[a, b]` a list, and `a: b` a text. A text that YAML would shorten,
// such as one with a comment, stays whole.
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
