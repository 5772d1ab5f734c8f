package markdown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// scalar returns the value of a scalar by the rules of YAML 1.2, as JavaScript programs read it
// (js-yaml 4). The tags of the YAML module follow other rules, by which `017` is octal and
// `2025-3-1` a date. The value is nil, a bool, a string, a Number or a Date. ok is false for a text
// that its explicit tag does not allow.
func scalar(n *yaml.Node) (v any, ok bool) {
	if n.Style&yaml.TaggedStyle != 0 {
		return tagged(n)
	}
	const text = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&text != 0 {
		return n.Value, true
	}
	return plainScalar(n.Value), true
}

// keyText returns the name of a key as JavaScript converts it to a property: `null` for nil, the
// digits of a number, and the text of a date. ok is false for a list or a mapping.
func keyText(key *yaml.Node) (name string, ok bool) {
	if key.Kind != yaml.ScalarNode {
		return "", false
	}
	v, ok := scalar(key)
	switch v := v.(type) {
	case nil:
		return "null", ok
	case string:
		return v, ok
	case Date:
		return v.Text, ok
	}
	return fmt.Sprint(v), ok
}

// tagged returns the value of a scalar with an explicit tag. ok is false if the text is not a value
// of the tag's type. The text of an unknown tag is read as a plain scalar.
func tagged(n *yaml.Node) (v any, ok bool) {
	tag := n.ShortTag()
	if tag == "!!str" || tag == "!" {
		return n.Value, true
	}
	v = plainScalar(n.Value)
	switch tag {
	case "!!null":
		return v, v == nil
	case "!!bool":
		_, ok = v.(bool)
	case "!!int", "!!float":
		_, ok = v.(Number)
	case "!!timestamp":
		_, ok = v.(Date)
	}
	return v, ok
}

// plainScalar returns the value of an unquoted text: the first of null, bool, integer, float and
// timestamp whose form matches, and otherwise the text.
func plainScalar(text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	if n, ok := integer(text); ok {
		return n
	}
	if v, ok := float(text); ok {
		return v
	}
	if t, ok := timestamp(text); ok {
		return Date{text, t}
	}
	return text
}

// The forms of unquoted values, as in js-yaml. Underscores between digits have no meaning. A
// timestamp may have one digit for the month, the day and the hour; a date alone may not.
var (
	decimalForm = regexp.MustCompile(`^[-+]?[0-9][0-9_]*$`)
	basedForm   = regexp.MustCompile(`^[-+]?0(b[01_]+|x[0-9a-fA-F_]+|o[0-7_]+)$`)
	floatForm   = regexp.MustCompile(
		`^([-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?)$`)
	infForm  = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
	dateForm = regexp.MustCompile(`^(\d{4})-(\d\d)-(\d\d)$`)
	timeForm = regexp.MustCompile(`^(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?` +
		`(?:[ \t]*(Z|([-+])(\d\d?)(?::(\d\d))?))?$`)
)

// integer parses an integer in any base of YAML. A decimal one may begin with zeros. The result is
// decimal and keeps all digits, however many there are.
func integer(text string) (Number, bool) {
	decimal := decimalForm.MatchString(text)
	if !decimal && !basedForm.MatchString(text) || strings.HasSuffix(text, "_") {
		return "", false
	}
	digits, base := strings.TrimLeft(text, "-+"), 10
	if !decimal {
		base = map[byte]int{'b': 2, 'x': 16, 'o': 8}[digits[1]]
		digits = digits[2:]
	}
	i, ok := new(big.Int).SetString(strings.ReplaceAll(digits, "_", ""), base)
	if !ok {
		return "", false
	}
	if text[0] == '-' {
		i.Neg(i)
	}
	return Number(i.String()), true
}

// float parses a number with a fraction or an exponent. It returns nil for values that JSON cannot
// express: infinities and NaN.
func float(text string) (v any, ok bool) {
	if infForm.MatchString(text) {
		return nil, true
	}
	if !floatForm.MatchString(text) || strings.HasSuffix(text, "_") {
		return nil, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if math.IsInf(f, 0) {
		return nil, true
	}
	if err != nil {
		return nil, false
	}
	data, err := json.Marshal(f)
	if f == 0 {
		data = []byte("0") // also of -0
	}
	return Number(data), err == nil
}

// timestamp parses a date, or a date with a time, and returns it in UTC.
func timestamp(text string) (time.Time, bool) {
	if m := dateForm.FindStringSubmatch(text); m != nil {
		return moment(m[1:4], []string{"0", "0", "0"}, ""), true
	}
	m := timeForm.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, false
	}
	t := moment(m[1:4], m[4:7], m[7])
	if m[9] == "" {
		return t, true
	}
	behind := time.Duration(digitsOf(m[10]))*time.Hour + time.Duration(digitsOf(m[11]))*time.Minute
	if m[9] == "+" {
		behind = -behind
	}
	return t.Add(behind), true
}

// moment returns the UTC time of the parts of a timestamp. Days and hours that are too large
// overflow into the next month or day.
func moment(date, clock []string, fraction string) time.Time {
	millis := digitsOf(fmt.Sprintf("%.3s", fraction+"000"))
	return time.Date(digitsOf(date[0]), time.Month(digitsOf(date[1])), digitsOf(date[2]),
		digitsOf(clock[0]), digitsOf(clock[1]), digitsOf(clock[2]), millis*int(time.Millisecond), time.UTC)
}

// digitsOf returns the value of a few digits; 0 for none.
func digitsOf(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// A lineList is a list with one item per line or lines, each after the margin and a dash. margin is
// the text before the dash of the last item; new items get the same.
type lineList struct {
	margin string
	items  []item
}

// An item is one item of a lineList, with its whole lines.
type item struct {
	node  *yaml.Node
	lines Span
}

// lines returns the items of the old value. ok is false if an item does not begin directly after
// its dash. The caller then writes the whole list again.
func (c change) lines() (lineList, bool) {
	x := newExtent(c.text, c.inner)
	nodes := c.entry.node.Content
	list := lineList{items: make([]item, len(nodes))}
	for i, n := range nodes {
		at := x.offset(n)
		start := lineStart(c.text, at)
		before := c.text[start:at]
		dash := bytes.TrimLeft(before, " ")
		if len(dash) == 0 || dash[0] != '-' || len(bytes.Trim(dash[1:], " ")) > 0 {
			return list, false
		}
		list.margin = string(before[:len(before)-len(dash)])
		list.items[i] = item{n, Span{Start: start}}
	}
	for i := range list.items {
		limit := c.entry.Lines.End
		if i+1 < len(list.items) {
			limit = list.items[i+1].lines.Start
		}
		end := x.end(nodes[i], bound{len(list.margin), limit})
		list.items[i].lines.End = lineNext(c.text, end)
	}
	return list, true
}

// replaceItems returns the patch that replaces the items that differ. Equal items at the beginning
// and at the end keep their lines, with their quotes and comments. Both lists must have at least
// one item.
func (w writer) replaceItems(old lineList, list []any) patch {
	items := old.items
	first := 0
	for first < min(len(items), len(list)) && sameValue(list[first], items[first].node) {
		first++
	}
	last := 0 // number of equal items at the end
	for last < min(len(items), len(list))-first &&
		sameValue(list[len(list)-1-last], items[len(items)-1-last].node) {
		last++
	}
	at := Span{items[0].lines.Start, items[0].lines.Start}
	if first > 0 {
		at = Span{items[first-1].lines.End, items[first-1].lines.End}
	}
	if gone := items[first : len(items)-last]; len(gone) > 0 {
		at = Span{gone[0].lines.Start, gone[len(gone)-1].lines.End}
	}
	return patch{at, []byte(w.items(list[first:len(list)-last], old.margin))}
}
