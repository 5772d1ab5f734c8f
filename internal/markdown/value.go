package markdown

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// A Ref is the value of a field that is a whole reference: the target of `[[target]]` or
// `[[target|shown]]`, as it is written.
type Ref string

// refOf returns the reference of a text that is a whole wikilink, ignoring blanks around it and
// around the target. ok is false for other texts, including a list of two wikilinks.
func refOf(s string) (Ref, bool) {
	inner, opens := strings.CutPrefix(strings.TrimSpace(s), "[[")
	inner, closes := strings.CutSuffix(inner, "]]")
	target, shown, named := strings.Cut(inner, "|")
	if !opens || !closes || strings.ContainsAny(target, "[]\n") ||
		named && (shown == "" || strings.ContainsAny(shown, "]\n")) {
		return "", false
	}
	target = strings.TrimSpace(target)
	return Ref(target), target != ""
}

// A Nested is the value of a field, or of an element of one, that is a mapping: a JSON object with
// the keys in text order. It is shown unchanged, and no type of a schema includes it. It is a
// string, so that values of fields can be compared with ==.
type Nested string

// MarshalJSON returns the JSON object.
func (n Nested) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// nestedValue returns the mapping of a YAML node as JSON. ok is false if it cannot be read.
func nestedValue(n *yaml.Node) (Nested, bool) {
	r := headReader{left: maxHeadValues}
	v, ok := r.value(n, 0)
	if !ok {
		return "", false
	}
	text, err := json.Marshal(v)
	return Nested(text), err == nil
}

// decode returns the value of a YAML node: a string, float64, bool, nil, Ref, Nested, or a list of
// these. A date is a string `YYYY-MM-DD`, followed by `THH:MM` or `THH:MM:SS` unless it is
// midnight. A number that float64 cannot represent exactly is a string with the text that is
// written.
func decode(n *yaml.Node) any {
	switch n.Kind {
	case yaml.AliasNode:
		return decode(n.Alias)
	case yaml.MappingNode:
		m, _ := nestedValue(n)
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			list = append(list, decode(c))
		}
		return list
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return decodeBool(n)
	case "!!int", "!!float":
		return decodeNumber(n)
	case "!!timestamp":
		return decodeTime(n)
	}
	if ref, ok := refOf(n.Value); ok {
		return ref
	}
	return n.Value
}

// decodeBool returns the value of a boolean, or its text if that is not valid.
func decodeBool(n *yaml.Node) any {
	var b bool
	if n.Decode(&b) != nil {
		return n.Value
	}
	return b
}

// decodeNumber returns the value of a number as a float64. If float64 cannot represent an integer
// exactly, or the number is not finite, it returns the text of the number.
func decodeNumber(n *yaml.Node) any {
	if i, ok := new(big.Int).SetString(n.Value, 10); ok && n.ShortTag() == "!!float" {
		return decodeBig(n, i)
	}
	var v any
	if n.Decode(&v) != nil {
		return n.Value
	}
	switch v := v.(type) {
	case int:
		return decodeBig(n, big.NewInt(int64(v)))
	case int64:
		return decodeBig(n, big.NewInt(v))
	case uint64:
		return decodeBig(n, new(big.Int).SetUint64(v))
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return n.Value
}

// decodeBig returns i as a float64 if that is exact, and otherwise the text of n.
func decodeBig(n *yaml.Node, i *big.Int) any {
	if f, exact := new(big.Float).SetInt(i).Float64(); exact == big.Exact {
		return f
	}
	return n.Value
}

// decodeTime returns a timestamp as the text of a date, with the time if it is not midnight, and with
// seconds if they are not 0. It drops the time zone and fractions of a second. If the timestamp is
// not valid, it returns its text.
func decodeTime(n *yaml.Node) any {
	var t time.Time
	if n.Decode(&t) != nil {
		return n.Value
	}
	switch {
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return t.Format("2006-01-02")
	case t.Second() == 0:
		return t.Format("2006-01-02T15:04")
	}
	return t.Format("2006-01-02T15:04:05")
}
