package query

import (
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// ofField checks a test of a field: that there is the field, that its values can be tested so, and that
// it can have the values.
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
	if t.Field == "type" && b.Kind == Objects && d.get != nil {
		defs = []fieldDef{{class: choice, values: c.Schema.TypeNames(), get: d.get}}
	}
	var first []*fault.Fault
	for _, d := range defs { // of several definitions one must take it
		try := &checker{World: c.World, fields: c.fields}
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

// values checks a test of a field against one of its definitions.
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

// element checks a test of an element.
func (c *checker) element(t *Test, d fieldDef) {
	one := d
	one.list = false
	if t.Op == And || t.Op == Or || t.Op == Not {
		for _, part := range t.Parts {
			c.element(part, d)
		}
		return
	}
	c.values(t, one)
}

// inText checks a function that looks into a text.
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

// value checks a value that a field is compared with.
func (c *checker) value(t *Test, v Value, d fieldDef) {
	ordering := t.Op != Equal && t.Op != Differs && t.Op != OneOf
	isRef := v.Ref || d.class == leads
	switch {
	case ordering && (d.class == truth || isRef):
		c.illegal(t.at, "use == or !=", "%s has no order", c.named(t))
	case hasArgument(v.Text):
	case isRef:
		c.reference(v.Text, v.at)
	case d.class == numeric:
		if _, err := strconv.ParseFloat(v.Text, 64); err != nil {
			c.wrong(t, v, "a number")
		}
	case d.class == truth:
		if !strings.EqualFold(v.Text, "true") && !strings.EqualFold(v.Text, "false") {
			c.wrong(t, v, "true or false", "true", "false")
		}
	case d.class == choice:
		if rankOf(vault.TypeName(v.Text), d.values) < 0 && rankOf(v.Text, d.values) < 0 {
			c.wrong(t, v, "one of "+strings.Join(vault.Offered(d.values), ", "), d.values...)
		}
	case d.class == moment:
		c.moment(t, v)
	}
}

// named is what a message calls the subject of a test.
func (c *checker) named(t *Test) string {
	if t.Field == "" {
		return "the element"
	}
	return "field " + strconv.Quote(t.Field)
}

// wrong reports a value that a field can never have.
func (c *checker) wrong(t *Test, v Value, wants string, allowed ...string) {
	f := fault.New(fault.InvalidValue, "%s can only be compared with %s", c.named(t), wants)
	if t.Field != "" {
		f = f.With("field", t.Field)
	}
	if len(allowed) > 0 {
		f = f.With("allowed", vault.Offered(allowed)).Suggest(v.Text, allowed)
	}
	c.report(f, v.at)
}

// open are the comparisons with a time without an end that are always or never true, and what is meant.
var open = map[string]string{"<past": "==past", ">=past": "!=past", ">future": "==future", "<=future": "!=future"}

// moment checks a time.
func (c *checker) moment(t *Test, v Value) {
	if _, err := vault.ParseTime(v.Text, c.Clock); err != nil {
		c.wrong(t, v, "a time", vault.TimeForms()...)
		return
	}
	if form, ok := open[string(t.Op)+v.Text]; ok {
		c.illegal(v.at, "write "+subject(t)+form, "%s%s has no end there: the result does not depend on the time", t.Op, v.Text)
	}
}
