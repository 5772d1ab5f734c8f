package markdown

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// A writer writes fields as YAML. It uses double quotes, or the first other notation that reads
// back as the same value.
//
// Whether a text needs quotes depends on many rules of YAML, on the tags of plain values and on the
// place of the text. The writer does not know these rules: it parses each candidate with the same
// parser as Parse (reads), and writes double quotes if none is read back. Double quotes can express
// every text.
type writer struct {
	eol    string
	indent int // the columns before each key
}

// A style contains the notations that are possible for a value, and the present one of its field.
type style struct {
	yaml.Style
	inFlow  bool // between brackets
	oneLine bool // text follows the value on its line
}

// entry returns the lines of a new field.
func (w writer) entry(key string, value any) string {
	margin := strings.Repeat(" ", w.indent)
	head := margin + w.key(key) + ":"
	if list, ok := value.([]any); ok && len(list) > 0 {
		return head + w.eol + w.items(list, margin+"  ")
	}
	if value == nil {
		return head + w.eol
	}
	return head + " " + w.inline(value, style{}) + w.eol
}

// items returns the lines of a list. Each begins with the margin and a dash.
func (w writer) items(list []any, margin string) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(margin + "- " + w.inline(item, style{oneLine: true}) + w.eol)
	}
	return b.String()
}

// key returns a key in YAML, in quotes if it needs them.
func (w writer) key(key string) string {
	fm, problem := readLines(key + ": x")
	if problem == nil && len(fm.Entries) == 1 && fm.Entries[0].Key == key &&
		fm.Entries[0].Value == "x" && fm.Entries[0].colon > 0 {
		return key
	}
	return doubleQuoted(key)
}

// inline returns a value that follows its key or its dash. A text of several lines may continue
// below it, indented. The value must be normal. A reference is always quoted, because YAML would
// parse its brackets as lists.
func (w writer) inline(value any, s style) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return number(v)
	case []any:
		return w.flow(v, s)
	case Ref:
		if s.Style&yaml.SingleQuotedStyle != 0 {
			return w.firstThatReads(v, s, singleQuoted(v.link()), doubleQuoted(v.link()))
		}
		return doubleQuoted(v.link())
	}
	return w.text(value.(string), s)
}

// flow returns a list in brackets. The texts in it have the quotes that they need there.
func (w writer) flow(list []any, s style) string {
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = w.inline(item, style{Style: s.Style &^ blocks, inFlow: true, oneLine: true})
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// These are sets of YAML styles: those of block texts, and those of quotes.
const (
	blocks = yaml.LiteralStyle | yaml.FoldedStyle
	quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
)

// text returns a text in the notation of the old one if that is possible, and otherwise in the
// plainest one. A text with several lines becomes a block text if nothing follows it on its line
// and its blanks would be visible; else it is in double quotes.
func (w writer) text(v string, s style) string {
	double := doubleQuoted(v)
	switch {
	case s.Style&yaml.DoubleQuotedStyle != 0:
		return double
	case s.Style&yaml.SingleQuotedStyle != 0:
		return w.firstThatReads(v, s, singleQuoted(v), double)
	case s.Style&yaml.FoldedStyle != 0 && !s.oneLine && visible(v):
		return w.firstThatReads(v, s, w.block('>', v), w.block('|', v), double)
	case (s.Style&yaml.LiteralStyle != 0 || strings.Contains(v, "\n")) && !s.oneLine && visible(v):
		return w.firstThatReads(v, s, w.block('|', v), double)
	case looksPlain(v):
		return w.firstThatReads(v, s, v, double)
	}
	return double
}

// blankEnd matches a line with blanks at its end, and a text that ends in a blank line or is one.
var blankEnd = regexp.MustCompile(`(?m)[ \t]$|\n\n\z|\A\n?\z`)

// visible reports whether an unquoted text would show all of its characters.
func visible(v string) bool { return !blankEnd.MatchString(v) }

// firstThatReads returns the first spelling that reads back as the value, or the last one.
func (w writer) firstThatReads(value any, s style, spellings ...string) string {
	last := len(spellings) - 1
	for _, spelling := range spellings[:last] {
		if w.reads(spelling, value, s) {
			return spelling
		}
	}
	return spellings[last]
}

// reads reports whether a spelling reads back as the value in its place: as the only field of a
// frontmatter, with the indentation of the writer, and in brackets if the style says so. A plain
// text must be a string or a date there, so that it is not written like a number.
func (w writer) reads(spelling string, value any, s style) bool {
	key := strings.Repeat(" ", w.indent) + "k: "
	if s.inFlow {
		value, spelling = []any{value}, "["+spelling+"]"
	}
	fm, problem := readLines(key + spelling)
	if problem != nil || len(fm.Entries) != 1 || !sameValue(value, fm.Entries[0].node) {
		return false
	}
	n := fm.Entries[0].node
	if s.inFlow {
		n = n.Content[0]
	}
	tag := n.ShortTag()
	return tag == "!!str" || tag == "!!timestamp"
}

// readLines parses lines as those of a frontmatter.
func readLines(lines string) (*Frontmatter, *Problem) {
	text := []byte("---\n" + lines + "\n---\n")
	h := readHead(text)
	if h.problem == nil && (h.fm == nil || h.end != len(text)) {
		return nil, &Problem{1, "the lines end the frontmatter"}
	}
	return h.fm, h.problem
}

// otherWords matches texts that older YAML parsers read as true or false.
var otherWords = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

// looksPlain reports whether a text probably needs no quotes. The caller must check it with reads.
func looksPlain(v string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	return v != "" && strings.TrimSpace(v) == v && !strings.ContainsFunc(v, odd) &&
		!otherWords.MatchString(v)
}

// number returns a number as text that reads back as a number: without an exponent below 1e15 if it
// is an integer, and otherwise in the shortest form that is exact.
func number(v float64) string {
	if v == float64(int64(v)) && v > -1e15 && v < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// singleQuoted returns a text in single quotes. The notation has no escapes except for the quote
// itself, so not every text reads back; see firstThatReads.
func singleQuoted(v string) string {
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}

// doubleQuoted returns any text on one line, in double quotes. Characters that are not printable
// are escaped by their code.
func doubleQuoted(v string) string {
	var b bytes.Buffer
	b.WriteByte('"')
	for _, r := range v {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02X`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// block returns a text as indented lines below its key, whose line breaks are kept (|) or folded
// (>). The text may have one line break at its end, but not more: the notation for more would
// include blank lines that follow. The last line of the result has no line break.
func (w writer) block(kind byte, v string) string {
	body, broken := strings.CutSuffix(v, "\n")
	header := string(kind)
	if !broken {
		header += "-"
	}
	if kind == '>' {
		body = strings.ReplaceAll(body, "\n", "\n\n")
	}
	margin := strings.Repeat(" ", w.indent+2)
	var b strings.Builder
	b.WriteString(header)
	for _, line := range strings.Split(body, "\n") {
		b.WriteString(w.eol)
		if line != "" {
			b.WriteString(margin + line)
		}
	}
	return b.String()
}
