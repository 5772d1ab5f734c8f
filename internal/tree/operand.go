package tree

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Clock is the time of a call in the time zone of the vault.
type Clock = vault.Clock

// An operand is the value of a property of a node.
//
// The values null and "" of structural properties count as missing; fields are missing if they are
// null or the node does not have them.
type operand struct {
	value any
	found bool         // the node has the property
	field *vault.Field // its declaration; nil if the type of the node does not declare it
}

// A property is a parsed path of a property. It does not depend on the node. A path whose first
// name is structural is not a field, unless payload precedes it: status is a field, kind is not,
// and payload.kind is a field again.
type property struct {
	field []string // path of a field; nil for a property that every node has
	name  string   // the first name of the path, in lower case
	deep  bool     // the path has more than one name
}

// propertyOf parses the path of a property.
func propertyOf(path []string) property {
	p := property{name: strings.ToLower(path[0]), deep: len(path) > 1}
	switch {
	case p.name == "payload" && p.deep:
		p.field = path[1:]
	case !IsStructural(p.name) && p.name != "type":
		p.field = path
	}
	return p
}

// A comparison is an Expr that compares a property, with the parts that are the same for all nodes.
// An evaluation tests one Expr on many nodes, so they are computed once; see Evaluator.comparison.
type comparison struct {
	*Expr
	property
	values []constant

	needsText, content bool // the property is in the text of the node; it is the content
	// plain returns the property if it is a text that every node has; nil for other properties
	plain func(t *Tree, n Node) string
}

// A constant is a value in an Expr, parsed once.
type constant struct {
	text        string // as written
	unbracketed string // without the brackets of a reference
	folded      string // in lower case
	number      bool   // it can be a number
	date        bool   // it can be a date
}

// textProperties has the properties that are texts, by their names in lower case.
var textProperties = map[string]func(t *Tree, n Node) string{
	"nodeid": func(_ *Tree, n Node) string { return n.ID() },
	"uid":    (*Tree).UID, "payloadtype": (*Tree).Type, "type": (*Tree).Type,
	"name": (*Tree).Name, "title": (*Tree).Name,
	"kind": func(_ *Tree, n Node) string { return string(n.Kind()) },
	"path": func(_ *Tree, n Node) string { return pathOf(n) },
}

// comparison returns the parsed form of an Expr. It parses each Expr once.
func (e *Evaluator) comparison(x *Expr) *comparison {
	for _, c := range e.read {
		if c.Expr == x {
			return c
		}
	}
	c := &comparison{Expr: x, property: propertyOf(x.Path)}
	c.content, c.needsText = needsText(x.Path)
	if c.field == nil && !c.deep {
		c.plain = textProperties[c.name]
	}
	for _, v := range x.Values {
		c.values = append(c.values, constant{v, unbracketed(v), fold(v), maybeNumber(strings.TrimSpace(v)), isDate(v)})
	}
	e.read = append(e.read, c)
	return c
}

// operand returns a property of a node.
func (e *Evaluator) operand(n Node, p property) operand {
	switch {
	case p.field != nil:
		return e.field(n, p.field)
	case p.deep:
		return operand{}
	}
	v := e.structural(n, p.name)
	return operand{value: v, found: v != nil && v != ""}
}

// structural returns a property that is not a field; nil if the node does not have it. name is in
// lower case. Numbers are float64 and times RFC 3339 texts, as in fields, so that they are compared
// in the same way.
func (e *Evaluator) structural(n Node, name string) any {
	t := e.tree
	if plain := textProperties[name]; plain != nil {
		return plain(t, n)
	}
	switch name {
	case "depth":
		return float64(t.Depth(n))
	case "level":
		if n.Section > 0 {
			return float64(n.Level())
		}
	case "childrencount":
		return float64(t.ChildrenCount(n))
	case "tags":
		return texts(t.Tags(n))
	case "version":
		return version(t.Version(n))
	case "parent":
		if above, ok := t.Parent(n); ok {
			return above.ID()
		}
	case "createdat":
		return moment(n.Times().Created)
	case "updatedat":
		return moment(n.Times().Modified)
	}
	return nil
}

// texts returns texts as a list value; nil if there are none.
func texts(all []string) any {
	if len(all) == 0 {
		return nil
	}
	list := make([]any, len(all))
	for i, s := range all {
		list[i] = s
	}
	return list
}

// moment returns a time as an RFC 3339 text; nil for the zero time.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// field returns a field of a node, or a member in it. Names ignore case, but an exact match of the
// first one is preferred. Fields of the node itself are used, not those of its Source.
func (e *Evaluator) field(n Node, path []string) operand {
	fields := e.tree.Fields(n)
	name := path[0]
	i := slices.IndexFunc(fields, func(f index.Field) bool { return f.Name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f index.Field) bool { return strings.EqualFold(f.Name, name) })
	}
	if i < 0 {
		return operand{}
	}
	found := operand{value: fields[i].Value, found: fields[i].Value != nil}
	// The schema declares fields, but not the members of their values.
	if t, ok := e.tree.Index.Schema().Type(e.tree.Type(n)); ok && len(path) == 1 {
		found.field, _ = t.Field(fields[i].Name)
	}
	for _, name := range path[1:] {
		found.value, found.found = memberOf(found.value, name)
	}
	return found
}

// memberOf returns a member of a value, if that is a mapping with such a member. Names ignore case.
func memberOf(v any, name string) (member any, there bool) {
	nested, is := v.(markdown.Nested)
	if !is {
		return nil, false
	}
	members, _ := membersOf(nested)
	for key, raw := range members {
		if strings.EqualFold(key, name) {
			return valueOf(raw)
		}
	}
	return nil, false
}

// valueOf returns a JSON value in the form that fields have; there is false for null.
func valueOf(raw json.RawMessage) (v any, there bool) {
	if raw[0] == '{' {
		return markdown.Nested(raw), true
	}
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return nil, false
	}
	return v, true
}

// test reports whether the comparison is true for a property. It is true for a list if it is true
// for one of its elements. For a missing property, only OpMissing and OpNotEqual are true.
// OpNotEqual is the negation of OpEqual, so for a list no element may be equal.
func (e *Evaluator) test(c *comparison, o operand) bool {
	switch c.Op {
	case OpExists:
		return o.found
	case OpMissing:
		return !o.found
	case OpNotEqual:
		return !o.found || !e.any(c, o, OpEqual)
	}
	return o.found && e.any(c, o, c.Op)
}

// testText is test for a text. An empty text is missing.
func (e *Evaluator) testText(c *comparison, text string) bool {
	switch c.Op {
	case OpExists:
		return text != ""
	case OpMissing:
		return text == ""
	case OpNotEqual:
		return text == "" || !e.one(c, OpEqual, text, nil)
	}
	return text != "" && e.one(c, c.Op, text, nil)
}

// any reports whether the comparison with op is true for a value or, for a list, for one of its
// elements.
func (e *Evaluator) any(c *comparison, o operand, op Op) bool {
	list, is := o.value.([]any)
	if !is {
		return e.one(c, op, op.textOf(o.value), o.field)
	}
	return slices.ContainsFunc(list, func(v any) bool { return e.one(c, op, op.textOf(v), o.field) })
}

// textOf returns a value as the text that an operator compares. References have their brackets only
// for contains and startswith.
func (op Op) textOf(v any) string {
	if op == OpContains || op == OpStartsWith {
		return Text(v)
	}
	return bareText(v)
}

// one reports whether the comparison is true for one value, given as a text; see Op.textOf. f is
// the declaration of the field, nil if there is none. Two values that cannot be compared make every
// operator false.
func (e *Evaluator) one(c *comparison, op Op, text string, f *vault.Field) bool {
	switch op {
	case OpContains:
		return strings.Contains(fold(text), c.values[0].folded)
	case OpStartsWith:
		return strings.HasPrefix(fold(text), c.values[0].folded)
	case OpIn:
		return slices.ContainsFunc(c.values, func(with constant) bool {
			order, ok := e.compare(text, with, f)
			return ok && order == 0
		})
	case OpBetween:
		low, ok1 := e.compare(text, c.values[0], f)
		high, ok2 := e.compare(text, c.values[1], f)
		return ok1 && ok2 && low >= 0 && high <= 0
	}
	order, ok := e.compare(text, c.values[0], f)
	return ok && holds(op, order)
}

// holds reports whether an operator is true for the result c of comparing two values.
func holds(op Op, c int) bool {
	switch op {
	case OpEqual:
		return c == 0
	case OpGreater:
		return c > 0
	case OpAtLeast:
		return c >= 0
	case OpLess:
		return c < 0
	case OpAtMost:
		return c <= 0
	}
	return false
}

// compare compares a value with a constant: by the type of the field, if the schema declares it as
// a number or a time; else as numbers or as times, if both are; else as texts, ignoring case. It
// returns ok false if the two cannot be compared.
//
// The field types have precedence because a text such as 007 or 2026 can be a number, a time or
// neither.
func (e *Evaluator) compare(text string, with constant, f *vault.Field) (c int, ok bool) {
	if f != nil {
		switch {
		case strings.HasPrefix(f.Type, "number"):
			return compareNumbers(text, with.text)
		case f.IsTime():
			return e.compareTimes(text, with.text)
		}
	}
	if with.number {
		if c, ok := compareNumbers(text, with.text); ok {
			return c, true
		}
	}
	if with.date && isDate(text) {
		return e.compareTimes(text, with.text)
	}
	return compareFolded(text, with.unbracketed), true
}

// bareText returns a value as a text; for a reference, its target without brackets.
func bareText(v any) string {
	if ref, ok := v.(markdown.Ref); ok {
		return string(ref)
	}
	return Text(v)
}

// unbracketed returns a text without the brackets of a reference.
func unbracketed(s string) string {
	if inner, ok := strings.CutPrefix(s, "[["); ok && strings.HasSuffix(inner, "]]") {
		return strings.TrimSuffix(inner, "]]")
	}
	return s
}

// compareNumbers compares two texts as numbers; ok is false if one of them is not a number.
func compareNumbers(a, b string) (c int, ok bool) {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if !maybeNumber(b) || !maybeNumber(a) {
		return 0, false
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	// NaN is not comparable.
	if err1 != nil || err2 != nil || x != x || y != y {
		return 0, false
	}
	return cmp.Compare(x, y), true
}

// maybeNumber reports whether a text can be a number. It exists because most texts are not, and an
// error of ParseFloat allocates memory.
func maybeNumber(s string) bool {
	switch {
	case s == "":
		return false
	case s[0] >= '0' && s[0] <= '9', s[0] == '-', s[0] == '+', s[0] == '.':
		return true
	}
	return strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity")
}

// isDate reports whether a text begins like an ISO 8601 date. It looks at the positions of the
// dashes and the first digit only; compareTimes parses the text.
func isDate(s string) bool {
	return len(s) >= 10 && s[4] == '-' && s[7] == '-' && s[0] >= '0' && s[0] <= '9'
}

// compareTimes compares two times. A day counts as its beginning.
func (e *Evaluator) compareTimes(a, b string) (c int, ok bool) {
	x, err1 := vault.ParseTime(a, e.clock)
	y, err2 := vault.ParseTime(b, e.clock)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return x.From.Compare(y.From), true
}

// fold returns a text in lower case.
func fold(s string) string { return strings.ToLower(s) }

// compareFolded compares two texts, ignoring case. It does not copy ASCII texts.
func compareFolded(a, b string) int {
	if !isASCII(a) || !isASCII(b) {
		return strings.Compare(fold(a), fold(b))
	}
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(lower(a[i]), lower(b[i])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// isASCII reports whether s contains only ASCII characters.
func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lower returns an ASCII byte in lower case.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
