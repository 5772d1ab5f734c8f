package query

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A token is a word of the language, or a sign.
type token struct {
	kind   tokenKind
	text   string // of a string without its quotes and escapes
	column int    // in characters, from 1
	start  int    // in bytes
	bad    *fault.Fault
}

// A tokenKind is a kind of token.
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

// A lexer cuts a text into tokens.
type lexer struct {
	text   string
	at     int // in bytes
	column int
	tokens []token
}

// signs are what stands for itself, the longer ones first.
var signs = []string{"|>", "==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", ",", "|", "!", ":", "*", "{", "}", "="}

// lex cuts a text into tokens. The last one is atEnd, or invalid.
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

// blank passes over white space.
func (l *lexer) blank() {
	for l.at < len(l.text) {
		r, n := utf8.DecodeRuneInString(l.text[l.at:])
		if !unicode.IsSpace(r) {
			return
		}
		l.pass(n)
	}
}

// pass goes on by some bytes, and returns them.
func (l *lexer) pass(n int) string {
	passed := l.text[l.at : l.at+n]
	l.at += n
	l.column += utf8.RuneCountInString(passed)
	return passed
}

func (l *lexer) next() token {
	t := token{kind: atEnd, column: l.column, start: l.at}
	rest := l.text[l.at:]
	switch {
	case rest == "":
	case rest[0] == '"':
		l.quoted(&t)
	case strings.HasPrefix(rest, `r"`):
		l.raw(&t)
	case strings.HasPrefix(rest, "[[") && !strings.HasPrefix(rest, "[[["): // a reference is in a list
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

// begins reports whether a word can begin with a character.
func begins(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

// wordLength is how many bytes of a text are a word that it begins with.
func wordLength(text string) int {
	for i, r := range text {
		if !begins(r) && (i == 0 || r != '/' && r != '#') {
			return i
		}
	}
	return len(text)
}

// isWord reports whether a text is a word as a whole.
func isWord(text string) bool { return text != "" && wordLength(text) == len(text) }

func (l *lexer) word(t *token) {
	t.kind, t.text = word, l.pass(wordLength(l.text[l.at:]))
	rest := l.text[l.at:]
	if !isDigits(strings.TrimPrefix(t.text, "-")) || rest == "" || rest[0] != '.' {
		return
	}
	digits := 0
	for digits < len(rest)-1 && rest[1+digits] >= '0' && rest[1+digits] <= '9' {
		digits++
	}
	if digits > 0 {
		t.kind = number
		t.text += l.pass(1 + digits)
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func (l *lexer) field(t *token) {
	n := wordLength(l.text[l.at+1:])
	if n == 0 {
		l.fail(t, "a field must be a dot and a name", "a field such as .status")
		return
	}
	t.kind, t.text = field, l.pass(1 + n)[1:]
}

// quoted reads a text in quotes, in which \" is a quote and \\ a backslash.
func (l *lexer) quoted(t *token) {
	var b strings.Builder
	for i := l.at + 1; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c == '"':
			t.kind, t.text = quoted, b.String()
			l.pass(i + 1 - l.at)
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

func (l *lexer) raw(t *token) {
	end := strings.IndexByte(l.text[l.at+2:], '"')
	if end < 0 {
		l.fail(t, "the quotes are not closed", `"`)
		return
	}
	t.kind, t.text = quoted, l.text[l.at+2:l.at+2+end]
	l.pass(end + 3)
}

// reference reads a reference in brackets; what is displayed in its place is dropped.
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
	l.pass(end + 2)
}

func (l *lexer) argument(t *token) {
	rest := l.text[l.at:]
	end := strings.Index(rest, "}}")
	if end < 0 || !argumentForm.MatchString(rest[:end+2]) {
		l.fail(t, "an argument must be written {{args.name}}", "{{args.name}}")
		return
	}
	t.kind, t.text = argument, l.pass(end+2)
}

// pattern reads a regular expression between slashes, in which \/ is a slash.
func (l *lexer) pattern(t *token) {
	rest := l.text[l.at:]
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '/':
			t.kind, t.text = pattern, strings.ReplaceAll(rest[1:i], `\/`, "/")
			l.pass(i + 1)
			return
		}
	}
	l.fail(t, "the regular expression is not closed", "/")
}

func (l *lexer) sign(t *token) {
	for _, s := range signs {
		if strings.HasPrefix(l.text[l.at:], s) {
			t.kind, t.text = sign, l.pass(len(s))
			return
		}
	}
	l.fail(t, "unexpected character; text with special characters must be quoted", "a predicate")
}

// fail makes the token one that cannot be read.
func (l *lexer) fail(t *token, message string, expected ...string) {
	t.kind = invalid
	t.bad = unreadable(*t, message, expected)
}

// unreadable is the fault of a text that cannot be read from a token on.
func unreadable(t token, message string, expected []string) *fault.Fault {
	f := fault.New(fault.InvalidQuery, "column %d: %s", t.column, message).
		With("reason", "syntax").With("column", t.column).With("near", t.near())
	if len(expected) > 0 {
		f = f.With("expected", expected)
	}
	return f
}

// nouns are what tokens are, for those whose text may be a value, which no fault repeats.
var nouns = map[tokenKind]string{
	atEnd: "the end", word: "a word", number: "a number", quoted: "a text in quotes", reference: "a reference",
	pattern: "a regular expression", argument: "an argument", field: "a field", invalid: "an unexpected character",
}

// rootsAndClauses are the words of the language that are no functions.
var rootsAndClauses = []string{"type", "trait", "section", "link", "sort", "limit", "count"}

// near says what a token is: a sign or a word of the language as it is written, else its kind.
func (t token) near() string {
	text := strings.ToLower(t.text)
	if _, isFunction := functions[text]; t.kind == sign || t.kind == word && (isFunction || slices.Contains(rootsAndClauses, text)) {
		return text
	}
	return nouns[t.kind]
}
