package query

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Parse parses the text of a query. The error of the first mistake is INVALID_QUERY with its
// column and the tokens that are expected there. For the syntax of older versions of Raven, a fix
// contains the current form.
func Parse(text string) (Query, error) {
	if len(text) > MaxText {
		return Query{}, tooMuch("length", "a query has at most %d bytes", MaxText)
	}
	if !utf8.ValidString(text) {
		return Query{}, fault.New(fault.InvalidQuery, "a query must be UTF-8 text").With("reason", "syntax")
	}
	p := &parser{tokens: lex(text)}
	q := p.query()
	if p.failed != nil {
		return Query{}, p.failed
	}
	return q, nil
}

// tooMuch returns the fault of a query that exceeds a limit.
func tooMuch(reason, format string, bound int) *fault.Fault {
	return fault.New(fault.InvalidQuery, format, bound).With("reason", reason).With("limit", bound)
}

// A parser parses the tokens of a text by recursive descent. After the first error, peek returns
// atEnd, so that all loops end. The grammar, in which CAPITALS are tokens:
//
//	query  = union { clause }
//	clause = "sort:" key { "," key } | "limit:" NUMBER | "count"   (each at most once)
//	key    = [ "-" ] FIELD
//	union  = branch { "|" branch }
//	branch = root [ or ]
//	root   = "type:" ( NAME | "*" ) | "trait:" NAME | "section" | "link"
//	or     = and { "|" and }
//	and    = unary { unary }
//	unary  = [ "!" ] ( "(" or ")" | atom )
//	atom   = FIELD OPERATOR value | FUNCTION "(" arguments ")"
//
// A "|" before a root ends the tests of a branch. In a test of list elements, "_" stands for the
// element in place of a field.
type parser struct {
	tokens []token
	at     int // index in tokens
	depth  int
	tests  int
	failed *fault.Fault
}

// peek returns the current token, or the one ahead tokens after it.
func (p *parser) peek(ahead int) token {
	if p.failed != nil {
		return token{kind: atEnd}
	}
	return p.tokens[min(p.at+ahead, len(p.tokens)-1)]
}

// take returns the current token and advances.
func (p *parser) take() token {
	t := p.peek(0)
	p.at++
	return t
}

// fail records a syntax error, unless there is an error already.
//
// For an invalid token, the error is that of the lexer.
func (p *parser) fail(t token, message string, expected ...string) {
	if p.failed != nil {
		return
	}
	// The lexer has described the error already.
	if t.kind == invalid {
		p.failed = t.bad
		return
	}
	p.failed = syntaxFault(t, message, expected)
}

// failFix does the same as fail, with a fix.
func (p *parser) failFix(t token, message, fix string) {
	p.fail(t, message)
	if p.failed != nil && t.kind != invalid {
		p.failed = p.failed.Fix("%s", fix)
	}
}

// is reports whether a token is the sign s.
func (t token) is(s string) bool { return t.kind == sign && t.text == s }

// isWord reports whether a token is the word s, ignoring case.
func (t token) isWord(s string) bool { return t.kind == word && strings.EqualFold(t.text, s) }

// place returns the position of a token.
func (t token) place() Place { return Place{Column: t.column} }

// skip skips a sign and reports whether it was there.
func (p *parser) skip(s string) bool {
	if !p.peek(0).is(s) {
		return false
	}
	p.at++
	return true
}

// expect skips a sign and fails if it is not there.
func (p *parser) expect(s string) {
	if t := p.peek(0); !p.skip(s) {
		p.fail(t, "expected "+strconv.Quote(s), s)
	}
}

// enter begins a level of nesting. The caller decrements depth at its end.
func (p *parser) enter() {
	if p.depth++; p.depth > MaxDepth && p.failed == nil {
		p.failed = tooMuch("depth", "a query nests at most %d levels", MaxDepth).With("column", p.peek(0).column)
	}
}

// count counts a predicate against MaxTests.
func (p *parser) count() {
	if p.tests++; p.tests > MaxTests && p.failed == nil {
		p.failed = tooMuch("size", "a query has at most %d predicates", MaxTests).With("column", p.peek(0).column)
	}
}

// query parses a query with its clauses.
func (p *parser) query() Query {
	q := Query{Branches: p.union()}
	seen := map[string]bool{}
	for p.failed == nil && p.isClause() {
		p.clause(&q, seen)
	}
	if t := p.peek(0); t.kind != atEnd {
		p.unexpected(t)
	}
	return q
}

// isClause reports whether the next token begins a clause.
func (p *parser) isClause() bool {
	t := p.peek(0)
	return t.isWord("count") || (t.isWord("sort") || t.isWord("limit")) && p.peek(1).is(":")
}

// clause parses a clause: sort:, limit: or count. seen contains the clauses that were parsed
// before; a second one of a kind is an error.
func (p *parser) clause(q *Query, seen map[string]bool) {
	t := p.take()
	name := strings.ToLower(t.text)
	if seen[name] {
		p.fail(t, name+" is given twice")
		return
	}
	seen[name] = true
	switch name {
	case "count":
		q.Count = true
	case "sort":
		p.expect(":")
		q.Sort = p.keys()
	case "limit":
		p.expect(":")
		q.Limit = p.limit()
	}
}

// keys parses the fields of sort:, which are separated by commas. A minus sign before a field means
// descending order. It returns nil if the parser fails.
func (p *parser) keys() []Key {
	var keys []Key
	for {
		k := Key{at: p.peek(0).place()}
		if t := p.peek(0); t.kind == word && t.text == "-" {
			p.at++
			k.Descending = true
		}
		t := p.take()
		if t.kind != field {
			p.fail(t, "sort: needs fields", ".field", "-.field")
			return nil
		}
		k.Field = t.text
		if keys = append(keys, k); !p.skip(",") {
			return keys
		}
	}
}

// limit parses the number of limit:.
func (p *parser) limit() int {
	t := p.take()
	n, err := strconv.Atoi(t.text)
	if t.kind != word || !isDigits(t.text) || err != nil || n < 1 {
		p.fail(t, "limit: needs a number of at least 1", "a number")
		return 0
	}
	return n
}

// isRoot reports whether a root begins ahead tokens after the current one.
func (p *parser) isRoot(ahead int) bool {
	t := p.peek(ahead)
	if t.isWord("section") || t.isWord("link") {
		return true
	}
	return (t.isWord("type") || t.isWord("trait")) && p.peek(ahead+1).is(":")
}

// union parses branches with | between them.
func (p *parser) union() []Branch {
	var all []Branch
	for p.failed == nil {
		all = append(all, p.branch())
		if !p.peek(0).is("|") || !p.isRoot(1) {
			return all
		}
		p.at++
	}
	return all
}

// branch parses a root with its tests.
func (p *parser) branch() Branch {
	t := p.take()
	b := Branch{at: t.place()}
	switch {
	case t.isWord("section"), t.isWord("link"):
		b.Kind = Kind(strings.ToLower(t.text))
	case (t.isWord("type") || t.isWord("trait")) && p.peek(0).is(":"):
		b.Kind = Kind(strings.ToLower(t.text))
		p.at++
		b.Name = p.name(b.Kind)
	default:
		p.noRoot(t)
		return b
	}
	// Without a predicate, the branch finds all items of its root.
	if !p.peek(0).is("|") && !p.endsTests() {
		b.Where = p.or(p.unary)
	}
	return b
}

// name parses the name of a type or a trait.
func (p *parser) name(k Kind) string {
	t := p.take()
	switch {
	case t.is("*") && k == Objects:
		return Any
	case t.isWord("section") && k == Objects:
		p.failFix(t, "sections have their own root", "write section instead of type:section")
	case t.kind == word && k == Objects:
		return vault.TypeName(t.text)
	case t.kind == word, t.kind == argument:
		return t.text
	default:
		p.fail(t, "expected the name of a "+string(k), "a name")
	}
	return ""
}

// endsTests reports whether no predicate follows.
func (p *parser) endsTests() bool {
	t := p.peek(0)
	return t.kind == atEnd || t.is(")") || p.isClause()
}

// or parses tests with | between them; unary parses an operand.
func (p *parser) or(unary func() *Test) *Test {
	at, parts := p.peek(0).place(), []*Test{}
	for p.failed == nil {
		parts = append(parts, p.and(unary))
		// A | before a root separates branches, not tests.
		if t := p.peek(0); !t.is("|") || p.isRoot(1) {
			break
		}
		p.at++
	}
	return joined(Or, parts, at)
}

// and parses adjacent tests; unary parses an operand.
func (p *parser) and(unary func() *Test) *Test {
	at, parts := p.peek(0).place(), []*Test{unary()}
	for p.failed == nil && !p.endsTests() && !p.peek(0).is("|") {
		parts = append(parts, unary())
	}
	return joined(And, parts, at)
}

// unary parses a test of an item, with or without !.
func (p *parser) unary() *Test { return p.negated(p.unary, p.atom) }

// negated parses an optional !, followed by a test in parentheses or an atom. unary parses a part
// of the test in parentheses, and atom an atom; they differ for items and for elements of a list.
func (p *parser) negated(unary, atom func() *Test) *Test {
	at := p.peek(0).place()
	not := p.skip("!")
	var t *Test
	if p.peek(0).is("(") {
		p.enter()
		p.at++
		t = p.or(unary)
		p.expect(")")
		p.depth--
	} else {
		// Only atoms count as predicates.
		p.count()
		t = atom()
	}
	if not && p.failed == nil {
		return &Test{Op: Not, Parts: []*Test{t}, at: at}
	}
	return t
}
