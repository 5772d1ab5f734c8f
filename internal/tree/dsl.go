package tree

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a query.
const (
	MaxQuery  = 4 << 10 // length in bytes
	MaxTerms  = 64      // see Expr.Terms
	maxNested = 32      // depth of nested groups
)

// A SyntaxError is the reason why a query cannot be parsed.
//
// Callers show both to the author of the query.
type SyntaxError struct {
	Position int    // offset of the error in bytes
	Expected string // the input that is valid there
}

// Error returns the position and the expected input.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("at byte %d: expected %s", e.Position, e.Expected)
}

// Parse parses a query of select_nodes (reference/tree.md, C8.1). If the query is invalid, the
// error is a *SyntaxError. For each Expr x that Parse returns, Parse(x.String()) returns an equal
// one.
//
// The grammar is:
//
//   - or = and { "OR" and }
//   - and = not { ( "AND" | "BUT-NOT-IF" ) not }
//   - not = [ "NOT" ] primary
//   - primary = "(" or ")" | ( "under" | "childof" ) value | [ "ancestor." ] path operator values
//
// Keywords ignore case. A name or value that could be taken for something else must be in quotes.
func Parse(text string) (*Expr, error) {
	p := &parser{text: text}
	if len(text) > MaxQuery {
		return nil, &SyntaxError{MaxQuery, fmt.Sprintf("at most %d bytes", MaxQuery)}
	}
	if !utf8.ValidString(text) {
		return nil, &SyntaxError{0, "valid UTF-8"}
	}
	x := p.or(0)
	if p.err == nil && !p.atEnd() {
		p.fail("AND, OR, BUT-NOT-IF or the end")
	}
	if p.err == nil && x.Terms() > MaxTerms {
		p.fail(fmt.Sprintf("at most %d terms", MaxTerms))
	}
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// A parser is a recursive descent parser of queries. After an error its methods return
// placeholders.
type parser struct {
	text string
	at   int          // offset of the rest of the text
	err  *SyntaxError // the first error
}

// fail records an error at the current offset, unless there is an earlier one.
func (p *parser) fail(expected string) {
	if p.err == nil {
		p.err = &SyntaxError{p.at, expected}
	}
}

// space skips white space.
func (p *parser) space() {
	for p.at < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += size
	}
}

// atEnd skips white space and reports whether the text ends there.
func (p *parser) atEnd() bool {
	p.space()
	return p.at == len(p.text)
}

// word skips white space and returns the next word, without consuming it, and its end. A word ends
// at white space or at one of the characters ( ) = ! < > " ' , and the dot.
func (p *parser) word() (word string, end int) {
	p.space()
	end = p.at
	for end < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[end:])
		if unicode.IsSpace(r) || strings.ContainsRune(`()=!<>"',.`, r) {
			break
		}
		end += size
	}
	return p.text[p.at:end], end
}

// keyword consumes the next word if it is one of words, ignoring case. It returns the keyword, or
// "" if there is none.
func (p *parser) keyword(words ...string) (taken string) {
	word, end := p.word()
	for _, k := range words {
		if strings.EqualFold(word, k) {
			p.at = end
			return k
		}
	}
	return ""
}

// sign consumes the text c if it comes next, and reports whether it did.
func (p *parser) sign(c string) bool {
	p.space()
	if !strings.HasPrefix(p.text[p.at:], c) {
		return false
	}
	p.at += len(c)
	return true
}

// group returns an Expr with an operator, or its only part.
func group(op Op, subs []*Expr) *Expr {
	if len(subs) == 1 {
		return subs[0]
	}
	return &Expr{Op: op, Subs: subs}
}

// or parses operands of OR. depth is the number of open parentheses.
func (p *parser) or(depth int) *Expr {
	subs := []*Expr{p.and(depth)}
	for p.err == nil && p.keyword("OR") != "" {
		subs = append(subs, p.and(depth))
	}
	return group(OpOr, subs)
}

// and parses operands of AND and BUT-NOT-IF, which bind more strongly than OR.
func (p *parser) and(depth int) *Expr {
	subs := []*Expr{p.not(depth)}
	for p.err == nil {
		switch p.keyword("AND", "BUT-NOT-IF") {
		case "AND":
			subs = append(subs, p.not(depth))
		case "BUT-NOT-IF":
			subs = append(subs, &Expr{Op: OpNot, Subs: []*Expr{p.not(depth)}})
		default:
			return group(OpAnd, subs)
		}
	}
	return group(OpAnd, subs)
}

// not parses an optional NOT and its operand.
func (p *parser) not(depth int) *Expr {
	// NOT applies to one primary. A second NOT needs parentheses.
	if p.keyword("NOT") != "" {
		return &Expr{Op: OpNot, Subs: []*Expr{p.primary(depth)}}
	}
	return p.primary(depth)
}

// primary parses a group in parentheses, under or childof with a value, or a comparison.
//
// A comparison after `ancestor.` allows only operators with one value.
func (p *parser) primary(depth int) *Expr {
	if p.sign("(") {
		if depth++; depth > maxNested {
			p.fail(fmt.Sprintf("at most %d nested groups", maxNested))
		}
		if p.err != nil {
			return &Expr{}
		}
		x := p.or(depth)
		if p.err == nil && !p.sign(")") {
			p.fail(`AND, OR, BUT-NOT-IF or ")"`)
		}
		return x
	}
	if op := p.keyword("under", "childof"); op != "" {
		return &Expr{Op: Op(op), Values: []string{p.value()}}
	}
	p.space()
	// A quoted "ancestor" is the name of a property.
	quoted := p.at < len(p.text) && isQuote(p.text[p.at])
	path := p.path()
	if !quoted && len(path) > 1 && strings.EqualFold(path[0], string(OpAncestor)) {
		x := p.comparison(path[1:], false)
		return &Expr{Op: OpAncestor, Subs: []*Expr{x}}
	}
	return p.comparison(path, true)
}

// keywords lists the words that are names of properties only in quotes.
var keywords = []string{"and", "or", "not", "but-not-if", "under", "childof"}

// path consumes the names of a property, with dots between them.
func (p *parser) path() []string {
	var path []string
	for {
		name := p.name()
		if p.err != nil {
			return []string{""}
		}
		path = append(path, name)
		if !strings.HasPrefix(p.text[p.at:], ".") {
			return path
		}
		p.at++
	}
}

// name consumes one name of a path.
func (p *parser) name() string {
	p.space()
	if p.at < len(p.text) && isQuote(p.text[p.at]) {
		return p.quoted()
	}
	word, end := p.word()
	if word == "" || slices.Contains(keywords, strings.ToLower(word)) {
		p.fail("the name of a property")
		return ""
	}
	p.at = end
	return word
}

// isQuote reports whether a byte is a quotation mark.
func isQuote(c byte) bool { return c == '"' || c == '\'' }

// signs lists the operators that are signs, the longer ones first.
var signs = []Op{OpNotEqual, OpAtLeast, OpAtMost, OpEqual, OpGreater, OpLess}

// comparison consumes the operator and the values after a path. If all is false, only operators
// with one value are allowed, as after `ancestor.`. Signs are tried before words, the longer ones
// first, so that >= is not read as > and a value.
func (p *parser) comparison(path []string, all bool) *Expr {
	x := &Expr{Path: path}
	if p.err != nil {
		return x
	}
	for _, op := range signs {
		if p.sign(string(op)) {
			x.Op, x.Values = op, []string{p.value()}
			return x
		}
	}
	words := []string{string(OpContains), string(OpStartsWith)}
	if all {
		words = append(words, string(OpBetween), string(OpIn), string(OpExists), string(OpMissing))
	}
	switch x.Op = Op(p.keyword(words...)); x.Op {
	case OpContains, OpStartsWith:
		x.Values = []string{p.value()}
	case OpBetween:
		x.Values = p.between()
	case OpIn:
		x.Values = p.in()
	case OpExists, OpMissing:
	default:
		p.fail("an operator: = != > >= < <= " + strings.Join(words, " "))
	}
	return x
}

// between consumes `low AND high`.
func (p *parser) between() []string {
	low := p.value()
	if p.err == nil && p.keyword("AND") == "" {
		p.fail("AND and the upper value")
	}
	return []string{low, p.value()}
}

// in consumes `(value, value)`.
func (p *parser) in() []string {
	if !p.sign("(") {
		p.fail(`"("`)
	}
	var values []string
	for p.err == nil {
		values = append(values, p.valueIn(true))
		if p.sign(",") {
			continue
		}
		if !p.sign(")") {
			p.fail(`"," or ")"`)
		}
		break
	}
	return values
}

// value consumes a value: a text in quotes, or the words up to a keyword, a closing parenthesis or
// the end.
func (p *parser) value() string { return p.valueIn(false) }

// valueIn is value; in a list, a comma ends an unquoted value too. An unquoted value can have
// several words, and keeps the white space between them as written. The words AND, OR and
// BUT-NOT-IF end it, ignoring case; other keywords do not.
func (p *parser) valueIn(list bool) string {
	if p.err != nil {
		return ""
	}
	p.space()
	if p.at < len(p.text) && isQuote(p.text[p.at]) {
		return p.quoted()
	}
	start, end := p.at, p.at
	for {
		p.space()
		from := p.at
		for p.at < len(p.text) {
			r, size := utf8.DecodeRuneInString(p.text[p.at:])
			if unicode.IsSpace(r) || r == ')' || list && r == ',' {
				break
			}
			p.at += size
		}
		// Each round adds a word, so that a value such as in progress needs no quotes.
		word := p.text[from:p.at]
		if word == "" || endsValue(word) {
			p.at = end
			break
		}
		end = p.at
	}
	if start == end {
		p.fail("a value")
	}
	return p.text[start:end]
}

// endsValue reports whether a word ends an unquoted value.
func endsValue(word string) bool {
	return strings.EqualFold(word, "AND") || strings.EqualFold(word, "OR") || strings.EqualFold(word, "BUT-NOT-IF")
}

// quoted consumes a text in quotes and returns it without them. A backslash makes the next byte
// literal. The quote at the start decides which quote ends the text. If none does, the parser fails
// at the start.
func (p *parser) quoted() string {
	quote := p.text[p.at]
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			return b.String()
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			b.WriteByte(p.text[p.at])
		default:
			b.WriteByte(c)
		}
	}
	p.at = start
	p.fail("a closing quote")
	return ""
}

// String returns the Expr as a query that Parse accepts. Values are always in quotes, and names
// only if they need them.
func (x *Expr) String() string {
	switch x.Op {
	case OpAnd, OpOr:
		parts := make([]string, len(x.Subs))
		for i, sub := range x.Subs {
			parts[i] = sub.operandText(x.Op)
		}
		return strings.Join(parts, " "+strings.ToUpper(string(x.Op))+" ")
	case OpNot:
		return "NOT " + x.Subs[0].operandText(OpNot)
	case OpUnder, OpChildOf:
		return string(x.Op) + " " + quote(x.Values[0])
	case OpAncestor:
		return "ancestor." + x.Subs[0].String()
	}
	return x.comparisonText()
}

// operandText returns the Expr as an operand of op, in parentheses if it needs them. It adds more
// parentheses than the grammar requires, so that the groups of the parsed Expr are those of x.
func (x *Expr) operandText(op Op) string {
	// AND in OR needs no parentheses. The others get them, so that Parse returns the same groups.
	isGroup := x.Op == OpAnd || x.Op == OpOr
	if isGroup && (x.Op != OpAnd || op != OpOr) || op == OpNot && x.Op == OpNot {
		return "(" + x.String() + ")"
	}
	return x.String()
}

// comparisonText returns a comparison as a query. The first of several names is quoted if it is
// ancestor, which would otherwise be an operator.
func (x *Expr) comparisonText() string {
	names := make([]string, len(x.Path))
	for i, name := range x.Path {
		names[i] = writtenName(name, i == 0 && len(x.Path) > 1)
	}
	path := strings.Join(names, ".")
	values := make([]string, len(x.Values))
	for i, v := range x.Values {
		values[i] = quote(v)
	}
	switch x.Op {
	case OpExists, OpMissing:
		return path + " " + string(x.Op)
	case OpBetween:
		return path + " between " + strings.Join(values, " AND ")
	case OpIn:
		return path + " in (" + strings.Join(values, ", ") + ")"
	}
	return path + " " + string(x.Op) + " " + values[0]
}

// writtenName returns one name of a path, in quotes if the parser would not read it as a name
// otherwise.
func writtenName(name string, first bool) string {
	p := &parser{text: name}
	word, end := p.word()
	// The test uses the parser itself, so that it cannot differ from Parse.
	plain := word != "" && end == len(name) && p.at == 0 && !slices.Contains(keywords, strings.ToLower(name)) &&
		(!first || !strings.EqualFold(name, string(OpAncestor)))
	if plain {
		return name
	}
	return quote(name)
}

// quote returns a text in quotes.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
