package markdown

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
)

// checkKey returns INVALID_FIELD for a key that frontmatter cannot contain.
func checkKey(key string) error {
	if key == "" || !utf8.ValidString(key) || control.Has(key) {
		return fault.New(fault.InvalidField, "a field has a key that frontmatter cannot contain; "+
			"a key must be one line of text without control characters, and not empty")
	}
	return nil
}

// normal returns the value of the field as one of the types that decode returns, or INVALID_VALUE
// with the key. Equal values thus have the same type, as same and equal require.
func normal(f Field) (any, error) {
	v, why := normalise(f.Value)
	if why != "" {
		return nil, fault.New(fault.InvalidValue, "the value of the field %q %s", f.Key, why).
			With("field", f.Key)
	}
	return v, nil
}

// maxNesting is the deepest nesting of lists in a value. Parsers refuse much deeper lists.
const maxNesting = 16

// normalise returns the value, or the reason why frontmatter cannot contain it.
func normalise(value any) (any, string) { return normaliseAt(value, 0) }

// normaliseAt normalises a value that is nested in depth lists.
func normaliseAt(value any, depth int) (any, string) {
	switch v := value.(type) {
	case nil, bool:
		return v, ""
	case string:
		return v, checkString(v)
	case Ref:
		if read, ok := refOf(v.link()); !ok || read != v || !utf8.ValidString(string(v)) {
			return nil, "is a reference with characters that a reference cannot have: [ ] | or a " +
				"line break"
		}
		return v, ""
	case float64:
		return v, checkFloat(v)
	case int:
		return normaliseDigits(strconv.Itoa(v))
	case int64:
		return normaliseDigits(strconv.FormatInt(v, 10))
	case json.Number:
		return normaliseNumber(v)
	case []any:
		return normaliseList(v, depth+1)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return normaliseList(list, depth+1)
	}
	return nil, "has a type that a field cannot have; it can be text, a number, true or false, " +
		"null, a reference, or a list of these"
}

// checkString returns why a string cannot be stored, or "" if it can.
func checkString(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	return ""
}

// checkFloat returns why a number cannot be stored, or "" if it can. JSON cannot represent NaN and
// infinities, although YAML can.
func checkFloat(f float64) string {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "is not a finite number"
	}
	return ""
}

// normaliseNumber returns the value of a JSON number, or why it cannot be stored. An integer that
// float64 cannot represent exactly is a string of its digits; see normaliseDigits.
func normaliseNumber(n json.Number) (any, string) {
	if whole.MatchString(n.String()) {
		return normaliseDigits(n.String())
	}
	f, err := n.Float64()
	if err != nil {
		return nil, "is a number that cannot be stored exactly"
	}
	return f, checkFloat(f)
}

// IsExact reports whether a field holds a JSON number as a number. It does not hold one that is too
// large, or an integer that float64 cannot represent.
func IsExact(n json.Number) bool {
	v, why := normaliseNumber(n)
	_, isNumber := v.(float64)
	return isNumber && why == ""
}

// whole matches a JSON number that is written as an integer, of any length.
var whole = regexp.MustCompile(`^-?\d+$`)

// normaliseDigits returns the number of some digits, or the digits as a string if float64 cannot
// represent the number exactly. decode does the same.
func normaliseDigits(digits string) (any, string) {
	return decode(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: digits}), ""
}

// normaliseList returns the values of a list, or why one of them cannot be stored. depth is the
// number of lists around its items.
func normaliseList(list []any, depth int) (any, string) {
	if depth > maxNesting {
		return nil, fmt.Sprintf("has lists in lists, deeper than %d", maxNesting)
	}
	out := make([]any, len(list))
	for i, item := range list {
		v, why := normaliseAt(item, depth)
		if why != "" {
			return nil, why
		}
		out[i] = v
	}
	return out, ""
}

// link returns the reference as a wikilink.
func (r Ref) link() string { return "[[" + string(r) + "]]" }

// sameValue reports whether the value of a node is value, which must be normal. A string that is a
// wikilink must be equal to the text that is written, so that another display text is a change.
// Mappings are equal to no value.
func sameValue(value any, n *yaml.Node) bool {
	switch v := value.(type) {
	case []any:
		if n.Kind != yaml.SequenceNode || len(n.Content) != len(v) {
			return false
		}
		for i, item := range v {
			if !sameValue(item, n.Content[i]) {
				return false
			}
		}
		return true
	case string:
		if ref, ok := decode(n).(Ref); ok && ref != "" {
			return n.Value == v
		}
	}
	return n.Kind == yaml.ScalarNode && decode(n) == value
}
