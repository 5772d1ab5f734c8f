package query

import (
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// ofField checks a test of a field: that the field exists, that the test is valid for its class,
// and that the field can have the values.
//
// If types define the field differently, the test must be valid for at least one of them, and the
// problems of the first one are reported otherwise.
func (c *checker) ofField(b Branch, t *Test) {
	d, ok := c.fields.field(b, t.Field)
	if !ok {
		what := subjectOf(b)
		if b.Name == Any {
			what += " has a field"
		}
		c.report(noField(t.Field, c.fields.names(b), "%s %q", what, t.Field), t.at)
		return
	}
	defs := c.fields.defs(b, t.Field)
	// The field type can only have the names of types.
	if t.Field == "type" && b.Kind == Objects && d.get != nil {
		defs = []fieldDef{{class: choice, values: c.Schema.TypeNames(), get: d.get}}
	}
	var first []*fault.Fault
	for _, d := range defs { // the test must be valid for one of them
		// Problems are collected separately, because they count only if the test is valid for
		// none.
		try := &checker{Env: c.Env, fields: c.fields}
		try.values(t, d)
		if len(try.problems) == 0 {
			return
		}
		if first == nil {
			first = try.problems
		}
	}
	c.problems = append(c.problems, first...)
}

// values checks a test of a field against one of its definitions. exists() is valid for all
// fields. any(), all() and none() are valid for lists and undeclared fields. Functions of text
// are not valid for lists, numbers, Booleans and times.
func (c *checker) values(t *Test, d fieldDef) {
	switch {
	case t.Op == Exists:
	case t.Op.quantifies():
		if !d.list && !d.open {
			c.illegal(t.at, "compare it, as in ."+t.Field+"==value", "field %q is not a list", t.Field)
			return
		}
		c.element(t.Parts[0], d)
	case t.Op.matchesText():
		c.inText(t, d)
	default:
		for _, v := range t.Values {
			c.value(t, v, d)
		}
	}
}

// element checks a test of an element of a list.
func (c *checker) element(t *Test, d fieldDef) {
	one := d
	// An element is compared like a field that is not a list.
	one.list = false
	if t.Op == And || t.Op == Or || t.Op == Not {
		for _, part := range t.Parts {
			c.element(part, d)
		}
		return
	}
	c.values(t, one)
}

// inText checks a function that searches a text.
func (c *checker) inText(t *Test, d fieldDef) {
	switch {
	case d.list:
		c.illegal(t.at, "write any(."+t.Field+", "+string(t.Op)+"(_, \"text\"))", "field %q is a list", t.Field)
	case d.class == numeric || d.class == truth || d.class == moment:
		c.illegal(t.at, "compare it with an operator", "field %q is not text", t.Field)
	case t.Op == Matches && !hasArgument(t.Text):
		if _, err := compilePattern(t); err != nil {
			c.report(fault.New(fault.InvalidValue, "the regular expression is invalid; use the RE2 syntax"), t.at)
		}
	}
}

// value checks a value with which a field is compared. Booleans and references have no order. A
// number, a Boolean, a choice or a time must be a valid value of its class; a reference must
// resolve. Any value is valid for a text.
func (c *checker) value(t *Test, v Value, d fieldDef) {
	ordering := t.Op != Equal && t.Op != Differs && t.Op != OneOf
	isRef := v.Ref || d.class == refClass
	switch {
	case ordering && (d.class == truth || isRef):
		c.illegal(t.at, "use == or !=", "%s has no order", c.subject(t))
	// The value is checked after Bind.
	case hasArgument(v.Text):
	case isRef:
		c.reference(v.Text, v.at)
	case d.class == numeric:
		if _, err := strconv.ParseFloat(v.Text, 64); err != nil {
			c.wrongValue(t, v, "a number")
		}
	case d.class == truth:
		if !strings.EqualFold(v.Text, "true") && !strings.EqualFold(v.Text, "false") {
			c.wrongValue(t, v, "true or false", "true", "false")
		}
	case d.class == choice:
		if rankOf(vault.TypeName(v.Text), d.values) < 0 && rankOf(v.Text, d.values) < 0 {
			c.wrongValue(t, v, "one of "+strings.Join(vault.Offered(d.values), ", "), d.values...)
		}
	case d.class == moment:
		c.moment(t, v)
	}
}

// subject returns the subject of a test, for a message.
func (c *checker) subject(t *Test) string {
	if t.Field == "" {
		return "the element"
	}
	return "field " + strconv.Quote(t.Field)
}

// wrongValue reports a value that a field cannot have.
func (c *checker) wrongValue(t *Test, v Value, wants string, allowed ...string) {
	f := fault.New(fault.InvalidValue, "%s can only be compared with %s", c.subject(t), wants)
	if t.Field != "" {
		f = f.With("field", t.Field)
	}
	if len(allowed) > 0 {
		f = f.With("allowed", vault.Offered(allowed)).Suggest(v.Text, allowed)
	}
	c.report(f, v.at)
}

// openTimeFixes lists the comparisons with an unbounded time that are always or never true, with the
// comparison that was meant.
var openTimeFixes = map[string]string{
	"<past": "==past", ">=past": "!=past", ">future": "==future", "<=future": "!=future",
}

// moment checks a value of a field with class moment.
//
// Any form that vault.ParseTime accepts is valid, such as a date, an instant or a relative time.
func (c *checker) moment(t *Test, v Value) {
	if _, err := vault.ParseTime(v.Text, c.Clock); err != nil {
		c.wrongValue(t, v, "a time", vault.TimeForms()...)
		return
	}
	if form, ok := openTimeFixes[string(t.Op)+v.Text]; ok {
		c.illegal(v.at, "write "+subject(t)+form, "%s%s has no end there: the result does not depend on the time",
			t.Op, v.Text)
	}
}
