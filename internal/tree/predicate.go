package tree

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// MaxGroups is the largest depth of nested groups.
const MaxGroups = 8

// A predicate is the JSON form of a comparison, or of a group of them: one with a member
// `predicates` or `groups`.
//
// Both members can occur in one group; the predicates come first.
type predicate struct {
	Path   string          `json:"path"`
	Op     string          `json:"op"`
	Value  json.RawMessage `json:"value"`
	Value2 json.RawMessage `json:"value2"`

	Predicates []predicate `json:"predicates"`
	Groups     []predicate `json:"groups"`
}

// isGroup reports whether the predicate is a group.
func (p predicate) isGroup() bool { return p.Predicates != nil || p.Groups != nil }

// operators maps the names of operators in JSON to operators.
var operators = map[string]Op{
	"eq": OpEqual, "ne": OpNotEqual, "gt": OpGreater, "gte": OpAtLeast, "lt": OpLess, "lte": OpAtMost,
	"contains": OpContains, "startswith": OpStartsWith, "between": OpBetween, "in": OpIn, "exists": OpExists,
}

// Predicates parses a group of predicates, or a list of them that must all be true
// (reference/tree.md, C8.2). If only is not empty, it lists the allowed operators. Predicates
// returns nil for an empty group. Invalid input is an INVALID_PARAMETER fault.
//
// A comparison outside of a list or a group is accepted too.
func Predicates(raw json.RawMessage, only ...string) (*Expr, error) {
	var root predicate
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		root.Op = string(OpAnd)
		if err := strict(raw, &root.Predicates); err != nil {
			return nil, err
		}
		if root.Predicates == nil {
			return nil, nil
		}
	} else if err := strict(raw, &root); err != nil {
		return nil, err
	}
	if !root.isGroup() && root.Path == "" {
		return nil, nil // an empty group is true for all nodes
	}
	x, err := root.expr(1, only)
	if err == nil && x.Terms() > MaxTerms {
		err = malformed("predicates", "a query has at most %d predicates", MaxTerms)
	}
	return x, err
}

// strict decodes JSON and rejects members that v does not have.
func strict(raw json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(v) != nil {
		return malformed("predicates", "a predicate must be {path, op, value}, a group {op, predicates, groups}")
	}
	return nil
}

// malformed returns an INVALID_PARAMETER fault for an invalid query. reason is a detail of the
// fault.
func malformed(reason, format string, args ...any) *fault.Fault {
	return fault.New(fault.InvalidParameter, format, args...).With("reason", reason)
}

// expr returns the predicate as an Expr; nil for an empty group. depth is the number of groups
// around it, plus one. only lists the allowed operators; empty means all. Errors are those of
// Predicates.
func (p predicate) expr(depth int, only []string) (*Expr, error) {
	if depth > MaxGroups {
		return nil, malformed("predicates", "groups can be nested at most %d levels deep", MaxGroups)
	}
	if !p.isGroup() {
		return p.comparison(only)
	}
	var subs []*Expr
	for _, part := range append(slices.Clone(p.Predicates), p.Groups...) {
		sub, err := part.expr(depth+1, only)
		if err != nil {
			return nil, err
		}
		if sub != nil {
			subs = append(subs, sub)
		}
	}
	return p.joined(subs)
}

// joined returns the parts of a group joined by its operator; nil if there are none. The operator
// not is true if not all parts are true. The error is an INVALID_PARAMETER fault for an unknown
// operator.
func (p predicate) joined(subs []*Expr) (*Expr, error) {
	var op Op
	switch strings.ToLower(p.Op) {
	case "and", "":
		op = OpAnd
	case "or":
		op = OpOr
	case "not":
		op = OpNot
	case "but-not-if":
		op = OpAnd
		// The first part must be true, and the others must not be.
		for i := 1; i < len(subs); i++ {
			subs[i] = &Expr{Op: OpNot, Subs: []*Expr{subs[i]}}
		}
	default:
		return nil, malformed("group_op", "the operator of a group must be one of and, or, not, but-not-if").
			With("allowed", []string{"and", "or", "not", "but-not-if"})
	}
	switch {
	case len(subs) == 0:
		return nil, nil
	case op == OpNot:
		return &Expr{Op: OpNot, Subs: []*Expr{group(OpAnd, subs)}}, nil
	}
	return group(op, subs), nil
}

// comparison returns a predicate that is not a group as an Expr. only lists the allowed operators;
// empty means all.
func (p predicate) comparison(only []string) (*Expr, error) {
	word := strings.ToLower(p.Op)
	op, known := operators[word]
	allowed := only
	if len(allowed) == 0 {
		allowed = []string{"eq", "ne", "gt", "gte", "lt", "lte", "contains", "startswith", "between", "in", "exists"}
	}
	path := strings.Split(p.Path, ".")
	switch {
	case !known || !slices.Contains(allowed, word):
		return nil, malformed("op", "the operator of a predicate must be one of %s", strings.Join(allowed, ", ")).
			With("allowed", allowed)
	case slices.Contains(path, ""):
		return nil, malformed("path", "a predicate needs a path: the name of a property, such as status")
	}
	x := &Expr{Op: op, Path: path}
	return x, p.values(x)
}

// values sets the values of a comparison, as texts. A between without value2 has the same value
// twice. An exists with the value false becomes OpMissing, without values.
func (p predicate) values(x *Expr) error {
	if x.Op == OpExists {
		if string(p.Value) == "false" {
			x.Op = OpMissing
		} else if len(p.Value) > 0 && string(p.Value) != "true" {
			return malformed("value", "the value of exists must be true or false")
		}
		return nil
	}
	raws := []json.RawMessage{p.Value}
	if x.Op == OpIn {
		if raws = nil; json.Unmarshal(p.Value, &raws) != nil || len(raws) == 0 {
			return malformed("value", "the value of in must be a list")
		}
	}
	if x.Op == OpBetween {
		if len(p.Value2) == 0 {
			p.Value2 = p.Value
		}
		raws = append(raws, p.Value2)
	}
	for _, raw := range raws {
		text, ok := literal(raw)
		if !ok {
			return malformed("value", "a value must be a string, a number, true or false")
		}
		x.Values = append(x.Values, text)
	}
	return nil
}

// literal returns a JSON scalar as a text; ok is false for null, a list or an object.
//
// Numbers and booleans are returned as written.
func literal(raw json.RawMessage) (text string, ok bool) {
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text, true
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.ContainsAny(raw[:1], `{["n`) {
		return "", false
	}
	return string(raw), true
}
