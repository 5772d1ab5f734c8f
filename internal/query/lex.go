package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A token is a word, a value or an operator of the language.
type token struct {
	kind   tokenKind
	text   string       // without the quotes and escapes of a string
	column int          // in characters, from 1
	start  int          // offset in bytes
	bad    *fault.Fault // the error of an invalid token
}

// A tokenKind is the kind of a token.
//
// Words and numbers are separate kinds only where a dot is part of the token: 1.5 is a number, and
// 15 and 2026-03-02 are words.
type tokenKind int

// The kinds of tokens.
const (
	atEnd tokenKind = iota
	word
	number
	quoted
	reference
	pattern
	argument // {{args.name}}
	field    // .name
	sign     // ( ) [ ] , | ! : * and the operators
	invalid
)

// A lexer splits a text into tokens.
//
// Tokens have columns in characters, as people count them, and offsets in bytes.
type lexer struct {
	text   string
	at     int // offset in bytes
	column int // in characters, from 1
	tokens []token
}

// signs are the operators and the punctuation, longer ones before their prefixes.
var signs = []string{"|>", "==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", "|", "!", ":", "*", "{", "}", "="}

// lex splits a text into tokens. The last token has kind atEnd or invalid; there is none after an
// invalid one. It never fails: the parser reports the error of an invalid token when it reaches it.
func lex(text string) []token {
	l := &lexer{text: text, column: 1}
	for {
		l.blank()
		t := l.next()
		l.tokens = append(l.tokens, t)
		if t.kind == atEnd || t.kind == invalid {
			return l.tokens
		}
	}
}

// blank skips white space.
func (l *lexer) blank() {
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		if !unicode.IsSpace(r) {
			return
		}
		l.advance(n)
	}
}

// advance advances by n bytes and returns them.
func (l *lexer) advance(n int) string {
	passed := l.text[l.at : l.at+n]
	l.at += n
	l.column += utf8.RuneCountInString(passed)
	return passed
}

// next reads the next token. The first characters determine its kind; the order of the cases
// matters, because r can also begin a word, and [[[ begins a list whose first element is a
// reference.
func (l *lexer) next() token {
	t := token{kind: atEnd, column: l.column, start: l.at}
	rest := l.text[l.at:]
	switch {
	case rest == "":
	case rest[0] == '"':
		l.quoted(&t)
	case strings.HasPrefix(rest, `r"`):
		l.raw(&t)
	case strings.HasPrefix(rest, "[[") && !strings.HasPrefix(rest, "[[["): // not a list
		l.reference(&t)
	case strings.HasPrefix(rest, "{{"):
		l.argument(&t)
	case rest[0] == '/':
		l.pattern(&t)
	case rest[0] == '.':
		l.field(&t)
	case wordLength(rest) > 0:
		l.word(&t)
	default:
		l.sign(&t)
	}
	return t
}

// startsWord reports whether a character can begin a word.
func startsWord(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// wordLength returns the length in bytes of the word that a text begins with; 0 if there is none.
//
// A word consists of letters, marks, digits, _ and -; after the first character also / and #.
func wordLength(text string) int {
	for i, r := range text {
		if !startsWord(r) && (i == 0 || r != '/' && r != '#') {
			return i
		}
	}
	return len(text)
}

// isWord reports whether a text is a single word.
func isWord(text string) bool { return text != "" && wordLength(text) == len(text) }

// word reads a word, or a number with decimal places.
func (l *lexer) word(t *token) {
	t.kind, t.text = word, l.advance(wordLength(l.text[l.at:]))
	rest := l.text[l.at:]
	// A word can begin with digits, such as a date. Only digits followed by a dot and digits are
	// a number token; an integer is a word.
	if !isDigits(strings.TrimPrefix(t.text, "-")) || rest == "" || rest[0] != '.' {
		return
	}
	digits := 0
	for digits < len(rest)-1 && rest[1+digits] >= '0' && rest[1+digits] <= '9' {
		digits++
	}
	if digits > 0 {
		t.kind = number
		t.text += l.advance(1 + digits)
	}
}

// isDigits reports whether a text consists of ASCII digits.
func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// field reads a field.
func (l *lexer) field(t *token) {
	n := wordLength(l.text[l.at+1:])
	if n == 0 {
		l.fail(t, "a field must be a dot and a name", "a field such as .status")
		return
	}
	t.kind, t.text = field, l.advance(1 + n)[1:]
}

// quoted reads a text in quotes, in which \" and \\ are escapes.
func (l *lexer) quoted(t *token) {
	var b strings.Builder
	for i := l.at + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == '"':
			t.kind, t.text = quoted, b.String()
			l.advance(i + 1 - l.at)
			return
		case c == '\\' && i+1 < len(l.text) && (l.text[i+1] == '"' || l.text[i+1] == '\\'):
			i++
			b.WriteByte(l.text[i])
		default:
			b.WriteByte(c)
		}
	}
	l.fail(t, "the quotes are not closed", `"`)
}

// raw reads a text after r in quotes, without escapes.
func (l *lexer) raw(t *token) {
	end := strings.IndexByte(l.text[l.at+2:], '"')
	if end < 0 {
		l.fail(t, "the quotes are not closed", `"`)
		return
	}
	t.kind, t.text = quoted, l.text[l.at+2:l.at+2+end]
	l.advance(end + 3)
}

// reference reads a reference in brackets. Its display text is dropped.
func (l *lexer) reference(t *token) {
	rest := l.text[l.at:]
	end := strings.Index(rest, "]]")
	if end < 0 {
		l.fail(t, "the brackets of the reference are not closed", "]]")
		return
	}
	ref, ok := vault.ParseRef(rest[:end+2])
	if !ok {
		l.fail(t, "this is not a reference", "a reference such as [[people/freya]]")
		return
	}
	t.kind, t.text = reference, string(ref)
	l.advance(end + 2)
}

// argument reads an argument.
func (l *lexer) argument(t *token) {
	rest := l.text[l.at:]
	end := strings.Index(rest, "}}")
	if end < 0 || !argumentForm.MatchString(rest[:end+2]) {
		l.fail(t, "an argument must be written {{args.name}}", "{{args.name}}")
		return
	}
	t.kind, t.text = argument, l.advance(end+2)
}

// pattern reads a regular expression between slashes, in which \/ is an escaped slash.
func (l *lexer) pattern(t *token) {
	rest := l.text[l.at:]
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		// Skip the escaped character, which can be a slash.
		case '\\':
			i++
		case '/':
			t.kind, t.text = pattern, strings.ReplaceAll(rest[1:i], `\/`, "/")
			l.advance(i + 1)
			return
		}
	}
	l.fail(t, "the regular expression is not closed", "/")
}

// sign reads an operator or punctuation.
func (l *lexer) sign(t *token) {
	for _, s := range signs {
		if strings.HasPrefix(l.text[l.at:], s) {
			t.kind, t.text = sign, l.advance(len(s))
			return
		}
	}
	l.fail(t, "unexpected character; text with special characters must be quoted", "a predicate")
}

// fail makes a token invalid.
func (l *lexer) fail(t *token, message string, expected ...string) {
	t.kind = invalid
	t.bad = syntaxFault(*t, message, expected)
}

// syntaxFault returns the fault of a syntax error at a token.
func syntaxFault(t token, message string, expected []string) *fault.Fault {
	f := fault.New(fault.InvalidQuery, "column %d: %s", t.column, message).
		With("reason", "syntax").With("column", t.column).With("near", t.describe())
	if len(expected) > 0 {
		f = f.With("expected", expected)
	}
	return f
}

// kindNames are the descriptions of tokens that can contain values. Faults do not repeat values.
var kindNames = map[tokenKind]string{
	atEnd: "the end", word: "a word", number: "a number", quoted: "a text in quotes", reference: "a reference",
	pattern: "a regular expression", argument: "an argument", field: "a field", invalid: "an unexpected character",
}

// rootsAndClauses are the keywords of the language, besides the functions.
var rootsAndClauses = []string{"type", "trait", "section", "link", "sort", "limit", "count"}

// describe describes a token in a fault: the text of an operator or keyword, else the kind.
//
// So a fault never repeats a value of the query.
func (t token) describe() string {
	text := strings.ToLower(t.text)
	if _, isFunction := functions[text]; t.kind == sign ||
		t.kind == word && (isFunction || slices.Contains(rootsAndClauses, text)) {
		return text
	}
	return kindNames[t.kind]
}
