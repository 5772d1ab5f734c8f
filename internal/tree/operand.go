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

// A Clock is the time of a call in the zone of the vault.
type Clock = vault.Clock

// An operand is what a property of a node is.
type operand struct {
	value any
	there bool
	field *vault.Field // nil: the type of the node does not declare it
}

// A property is what the path of a property means, which is the same for all nodes.
type property struct {
	field []string // the path of a field; nil: it is one that every node has
	name  string   // the first name of the path, in lower case
	deep  bool     // the path has more names
}

// propertyOf reads the path of a property.
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

// A comparison is an Expr that compares a property, with what is the same for all nodes.
type comparison struct {
	*Expr
	property
	values []constant

	needsText, content bool                         // only the text of a node tells, or its content does
	plain              func(t *Tree, n Node) string // what the property is if it is a text that every node has; else nil
}

// A constant is a value of an Expr.
type constant struct {
	text   string // as it is written
	bare   string // without the brackets of a reference
	folded string
	number bool // it may be a number
	date   bool // likewise
}

// plains are the properties that are texts, by their names in lower case.
var plains = map[string]func(t *Tree, n Node) string{
	"nodeid": func(_ *Tree, n Node) string { return n.ID() },
	"uid":    (*Tree).UID, "payloadtype": (*Tree).Type, "type": (*Tree).Type, "name": (*Tree).Name, "title": (*Tree).Name,
	"kind": func(_ *Tree, n Node) string { return string(n.Kind()) },
	"path": func(_ *Tree, n Node) string { return pathOf(n) },
}

// comparison reads an Expr. It does so once for each.
func (e *Evaluator) comparison(x *Expr) *comparison {
	for _, c := range e.read {
		if c.Expr == x {
			return c
		}
	}
	c := &comparison{Expr: x, property: propertyOf(x.Path)}
	c.content, c.needsText = needsText(x.Path)
	if c.field == nil && !c.deep {
		c.plain = plains[c.name]
	}
	for _, v := range x.Values {
		c.values = append(c.values, constant{v, unbracketed(v), fold(v), maybeNumber(strings.TrimSpace(v)), isDate(v)})
	}
	e.read = append(e.read, c)
	return c
}

// operand is a property of a node.
func (e *Evaluator) operand(n Node, p property) operand {
	switch {
	case p.field != nil:
		return e.field(n, p.field)
	case p.deep:
		return operand{}
	}
	v := e.structural(n, p.name)
	return operand{value: v, there: v != nil && v != ""}
}

// structural is a property that every node has; nil: this one does not.
func (e *Evaluator) structural(n Node, name string) any {
	t := e.tree
	switch name {
	case "nodeid":
		return n.ID()
	case "uid":
		return t.UID(n)
	case "kind":
		return string(n.Kind())
	case "payloadtype", "type":
		return t.Type(n)
	case "name", "title":
		return t.Name(n)
	case "path":
		return pathOf(n)
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

// texts are texts as the value of a list; nil: there are none.
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

// moment is a time as a value; nil: it is not known.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// field is a field of a node, or what is in it.
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
	found := operand{value: fields[i].Value, there: fields[i].Value != nil}
	if t, ok := e.tree.Index.Schema().Type(e.tree.Type(n)); ok && len(path) == 1 {
		found.field, _ = t.Field(fields[i].Name)
	}
	for _, name := range path[1:] {
		found.value, found.there = memberOf(found.value, name)
	}
	return found
}

// memberOf is a member of a value that is a mapping.
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

// valueOf is a value as fields have them.
func valueOf(raw json.RawMessage) (v any, there bool) {
	if raw[0] == '{' {
		return markdown.Nested(raw), true
	}
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return nil, false
	}
	return v, true
}

// test reports whether a property compares with the values of an Expr. A list does if one of its entries does, and
// what is missing only where the operator is about that.
func (e *Evaluator) test(c *comparison, o operand) bool {
	switch c.Op {
	case OpExists:
		return o.there
	case OpMissing:
		return !o.there
	case OpNotEqual:
		return !o.there || !e.any(c, o, OpEqual)
	}
	return o.there && e.any(c, o, c.Op)
}

// testText is test of a text. One that is empty is missing.
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

// any reports whether a value, or an entry of it if it is a list, compares.
func (e *Evaluator) any(c *comparison, o operand, op Op) bool {
	list, is := o.value.([]any)
	if !is {
		return e.one(c, op, op.textOf(o.value), o.field)
	}
	return slices.ContainsFunc(list, func(v any) bool { return e.one(c, op, op.textOf(v), o.field) })
}

// textOf is a value as an operator compares it: a reference has its brackets where a part of it is looked for.
func (op Op) textOf(v any) string {
	if op == OpContains || op == OpStartsWith {
		return Text(v)
	}
	return bareText(v)
}

// one reports whether one value compares. It is given as a text; see Op.textOf.
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

// holds reports whether an operator holds of how two values compare.
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

// compare compares a value with one that a query gives: as the schema types the field; else as numbers if both are, as
// times if both are, and as texts in which the case does not count. ok is false if they do not compare.
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
	return compareFolded(text, with.bare), true
}

// bareText is a value as a text; of a reference, what it refers to.
func bareText(v any) string {
	if ref, ok := v.(markdown.Ref); ok {
		return string(ref)
	}
	return Text(v)
}

// unbracketed is a text without the brackets of a reference.
func unbracketed(s string) string {
	if inner, ok := strings.CutPrefix(s, "[["); ok && strings.HasSuffix(inner, "]]") {
		return strings.TrimSuffix(inner, "]]")
	}
	return s
}

func compareNumbers(a, b string) (c int, ok bool) {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if !maybeNumber(b) || !maybeNumber(a) {
		return 0, false
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil || x != x || y != y {
		return 0, false
	}
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

// maybeNumber reports whether a text can be a number. Most texts cannot, and an error of ParseFloat is an allocation.
func maybeNumber(s string) bool {
	switch {
	case s == "":
		return false
	case s[0] >= '0' && s[0] <= '9', s[0] == '-', s[0] == '+', s[0] == '.':
		return true
	}
	return strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity")
}

// isDate reports whether a text begins as a date of ISO 8601 does.
func isDate(s string) bool {
	return len(s) >= 10 && s[4] == '-' && s[7] == '-' && s[0] >= '0' && s[0] <= '9'
}

// compareTimes compares two times: a day with a moment by the beginning of the day.
func (e *Evaluator) compareTimes(a, b string) (c int, ok bool) {
	x, err1 := vault.ParseTime(a, e.clock)
	y, err2 := vault.ParseTime(b, e.clock)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return x.From.Compare(y.From), true
}

// fold is a text in which the case of letters does not count.
func fold(s string) string { return strings.ToLower(s) }

// compareFolded compares two texts in which the case of letters does not count. It makes no copy of those in ASCII.
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

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lower is a byte of ASCII in lower case.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
