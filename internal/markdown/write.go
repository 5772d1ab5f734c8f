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

// A writer spells fields as YAML. Every spelling but the last resort, double quotes, is taken only
// if it reads back as the value.
type writer struct {
	eol    string
	indent int // the columns before each key
}

// style is how a value may be spelled, given how its field is spelled now.
type style struct {
	yaml.Style
	inFlow  bool // between brackets
	oneLine bool // something stands behind the value
}

// entry is the lines of a new field.
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

// items are the lines of a list. Each begins with the margin and a dash.
func (w writer) items(list []any, margin string) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString(margin + "- " + w.inline(item, style{oneLine: true}) + w.eol)
	}
	return b.String()
}

// key is a key as YAML reads it.
func (w writer) key(key string) string {
	fm, problem := readLines(key + ": x")
	if problem == nil && len(fm.Entries) == 1 && fm.Entries[0].Key == key &&
		fm.Entries[0].Value == "x" && fm.Entries[0].colon > 0 {
		return key
	}
	return doubleQuoted(key)
}

// inline is a value that follows its key or its dash. A text of several lines may be written below
// it, indented.
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

// flow is a list in brackets, its texts quoted as one in a list of that kind must be.
func (w writer) flow(list []any, s style) string {
	items := make([]string, len(list))
	for i, item := range list {
		items[i] = w.inline(item, style{Style: s.Style &^ blocks, inFlow: true, oneLine: true})
	}
	return "[" + strings.Join(items, ", ") + "]"
}

const (
	blocks = yaml.LiteralStyle | yaml.FoldedStyle
	quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle
)

// text is a text: spelled as the old one was, if that can be, else in the plainest way.
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
	case plainEnough(v):
		return w.firstThatReads(v, s, v, double)
	}
	return double
}

// blankEnd is a line with blanks at its end, or a blank line at the end of a text.
var blankEnd = regexp.MustCompile(`(?m)[ \t]$|\n\n\z|\A\n?\z`)

// visible reports whether everything in a text shows where it is written without quotes.
func visible(v string) bool { return !blankEnd.MatchString(v) }

// firstThatReads is the first spelling that reads back as the value, or the last.
func (w writer) firstThatReads(value any, s style, spellings ...string) string {
	last := len(spellings) - 1
	for _, spelling := range spellings[:last] {
		if w.reads(spelling, value, s) {
			return spelling
		}
	}
	return spellings[last]
}

// reads reports whether the spelling reads as the value, in the place that it is meant for.
func (w writer) reads(spelling string, value any, s style) bool {
	key := strings.Repeat(" ", w.indent) + "k: "
	if s.inFlow {
		value, spelling = []any{value}, "["+spelling+"]"
	}
	fm, problem := readLines(key + spelling)
	if problem != nil || len(fm.Entries) != 1 || !same(value, fm.Entries[0].node) {
		return false
	}
	n := fm.Entries[0].node
	if s.inFlow {
		n = n.Content[0]
	}
	tag := n.ShortTag()
	return tag == "!!str" || tag == "!!timestamp"
}

// readLines reads lines as those of a frontmatter.
func readLines(lines string) (*Frontmatter, *Problem) {
	text := []byte("---\n" + lines + "\n---\n")
	h := readHead(text)
	if h.problem == nil && (h.fm == nil || h.end != len(text)) {
		return nil, &Problem{1, "the lines end the frontmatter"}
	}
	return h.fm, h.problem
}

// otherWords are texts that older readers of YAML take for true or false.
var otherWords = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)

// plainEnough reports whether a text looks like one that needs no quotes.
func plainEnough(v string) bool {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	return v != "" && strings.TrimSpace(v) == v && !strings.ContainsFunc(v, odd) &&
		!otherWords.MatchString(v)
}

// number spells a number so that it reads as one.
func number(v float64) string {
	if v == float64(int64(v)) && v > -1e15 && v < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func singleQuoted(v string) string {
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}

// doubleQuoted spells any text on one line.
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

// block spells a text in indented lines below its key, whose breaks are kept (|) or folded (>). It
// may have one line break at its end, not more: the form for more would take blank lines that follow.
// The last line of the spelling has no break behind it.
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
