package query

import (
	"strings"
)

// atom parses a test of a field, or a function.
func (p *parser) atom() *Test {
	t := p.peek(0)
	switch {
	case t.kind == field:
		return p.comparison()
	case t.kind == word && p.peek(1).is("("):
		return p.function()
	}
	p.unexpected(t)
	return nil
}

// comparison parses a field, an operator and a value.
func (p *parser) comparison() *Test {
	t := p.take()
	return p.compare(&Test{Field: t.text, at: t.place()})
}

// compare parses the operator and the value of a comparison.
func (p *parser) compare(t *Test) *Test {
	op := p.take()
	switch {
	case op.kind == sign && Op(op.text).compares():
		t.Op = Op(op.text)
	case op.is(":") || op.is("="):
		p.failFix(op, "a field must be compared with an operator", "write ."+t.Field+"==value")
		return nil
	default:
		p.fail(op, "expected an operator", "==", "!=", "<", "<=", ">", ">=")
		return nil
	}
	// A * for any value is a common mistake.
	if star := p.peek(0); star.is("*") {
		p.failFix(star, "* is not a value", "write exists(."+t.Field+")")
		return nil
	}
	t.Values = []Value{p.value()}
	return t
}

// value parses a value with which a field is compared.
func (p *parser) value() Value {
	t := p.take()
	switch t.kind {
	case word, number, quoted, argument:
		return valueOf(t.text, t.place())
	case reference:
		return Value{t.text, true, t.place()}
	}
	p.fail(t, "expected a value", "a word", "a number", `"text"`, "[[reference]]")
	return Value{}
}

// functions are the functions of the language, by name.
var functions = map[string]Op{
	"exists": Exists, "oneof": OneOf, "includes": Includes, "startswith": StartsWith,
	"endswith": EndsWith, "matches": Matches, "any": AnyOf, "all": AllOf, "none": NoneOf,
	"has": Has, "contains": Contains, "in": In, "within": Within, "at": At, "refs": Refs,
	"refd": Refd, "links": LinksTo, "content": Content,
}

// function parses a function with its arguments.
//
// Its arguments depend on the function: fields, values, tests, a target or a nested query.
func (p *parser) function() *Test {
	name := p.take()
	op, known := functions[strings.ToLower(name.text)]
	if !known {
		p.noFunction(name)
		return nil
	}
	p.enter()
	p.expect("(")
	t := &Test{Op: op, at: name.place()}
	switch {
	case op == Exists:
		t.Field = p.field()
	case op == OneOf:
		t.Field = p.field()
		p.expect(",")
		t.Values = p.list()
	case op.matchesText():
		t.Field = p.field()
		p.textArguments(t)
	case op.quantifies():
		t.Field = p.field()
		p.expect(",")
		t.Parts = []*Test{p.or(p.elementUnary)}
	case op == LinksTo:
		if !p.peek(0).is(")") {
			t.Parts = []*Test{p.or(p.unary)}
		}
	case op == Content:
		t.Text = p.quoted()
	// Anything but a root is an id or a name.
	case op.takesTarget() && !p.isRoot(0):
		t.Target = p.target()
	default:
		t.Query = p.union()
		p.noClause()
	}
	p.expect(")")
	p.depth--
	return t
}

// noClause fails for a clause in a nested query.
func (p *parser) noClause() {
	if t := p.peek(0); p.failed == nil && p.isClause() {
		p.failFix(t, "sort:, limit: and count apply to the whole query", "write it at the end of the query")
	}
}

// field parses the field of a function.
func (p *parser) field() string {
	t := p.take()
	if t.isWord("_") {
		p.failFix(t, "_ can only be used for the element of a list", "write any(.field, _==value)")
		return ""
	}
	if t.kind != field {
		p.fail(t, "expected a field", ".field")
		return ""
	}
	return t.text
}

// list parses values in brackets.
func (p *parser) list() []Value {
	p.expect("[")
	var all []Value
	for p.failed == nil {
		if all = append(all, p.value()); len(all) > MaxValues && p.failed == nil {
			p.failed = tooMuch("size", "a list has at most %d values", MaxValues)
		}
		if !p.skip(",") {
			break
		}
	}
	p.expect("]")
	return all
}

// textArguments parses the text of a function, and optionally whether it is case-sensitive.
func (p *parser) textArguments(t *Test) {
	p.expect(",")
	at := p.peek(0)
	// A regular expression can be written in quotes or between slashes.
	if t.Op == Matches && at.kind == pattern {
		t.Text = p.take().text
	} else {
		t.Text = p.quoted()
	}
	if t.Op == Matches && len(t.Text) > MaxPattern && p.failed == nil {
		p.failed = tooMuch("size", "a regular expression has at most %d bytes", MaxPattern).
			With("column", at.column)
	}
	if !p.skip(",") {
		return
	}
	switch b := p.take(); {
	case b.isWord("true"):
		t.Case = true
	case !b.isWord("false"):
		p.fail(b, "the third argument must be true or false: whether case matters", "true", "false")
	}
}

// quoted parses a text in quotes.
func (p *parser) quoted() string {
	t := p.take()
	if t.kind != quoted {
		p.fail(t, "expected a text in quotes", `"text"`)
	}
	return t.text
}

// target parses an id or a name.
func (p *parser) target() string {
	t := p.take()
	if t.kind != word && t.kind != reference && t.kind != argument {
		if t.is("{") {
			p.braces(t)
		}
		p.fail(t, "expected a query, an id or a name", "type:", "section", "[[reference]]")
	}
	return t.text
}

// elementUnary parses a test of an element of a list, with or without !.
func (p *parser) elementUnary() *Test { return p.negated(p.elementUnary, p.element) }

// element parses an atomic test of an element of a list.
//
// It is a comparison of _, or a function of text whose first argument is _.
func (p *parser) element() *Test {
	t := p.take()
	if t.isWord("_") {
		return p.compare(&Test{at: t.place()})
	}
	// An unknown function has the operation "", which does not match text.
	op := functions[strings.ToLower(t.text)]
	if t.kind != word || !op.matchesText() {
		p.fail(t, "expected a condition on the element", "_==value", "includes(_, \"text\")")
		return nil
	}
	p.expect("(")
	if u := p.take(); !u.isWord("_") {
		p.fail(u, "expected the element", "_")
	}
	e := &Test{Op: op, at: t.place()}
	p.textArguments(e)
	p.expect(")")
	return e
}
