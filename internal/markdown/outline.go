package markdown

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/text/unicode/norm"
)

// The bounds of an outline.
const (
	MaxOutlineHeadings = 500       // number of headings
	MaxOutline         = 1_000_000 // UTF-16 units of a body
)

// ErrOutline is the error of a body that is too long for an outline.
var ErrOutline = errors.New("the body is too long for an outline")

// ErrCrowded is the error of a body that exceeds MaxOpen, or has more than 100,000 blocks.
var ErrCrowded = errors.New("the body has too many blocks, or they nest too much")

// An OutlineHeading is a heading of an outline.
type OutlineHeading struct {
	Level int    // 1 to 6
	Text  string // plain text, may be empty
	ID    string // h2-plan-0003: the level, the PlainSlug of the text or "heading", the number of the heading
}

// Outline returns the headings of a body in text order by CommonMark without extensions, including
// those in quotes and lists and those without text. They differ from those of Parse, which follow
// Obsidian. truncated reports that there are more than MaxOutlineHeadings. Outline returns ErrOutline for
// a body longer than MaxOutline, and ErrCrowded. It takes linear time in the length of the body.
func Outline(body []byte) (all []OutlineHeading, truncated bool, err error) {
	return outlineBounds{MaxOutlineHeadings, MaxOutline}.outline(body)
}

// outlineBounds are the bounds of an outline.
type outlineBounds struct {
	headings int // largest number; more are dropped
	units    int // the longest body in UTF-16 units; a longer one is ErrOutline
}

// outline returns the headings of a body, within the bounds; see Outline. It is a method so that
// tests can use small bounds.
func (b outlineBounds) outline(body []byte) (all []OutlineHeading, truncated bool, err error) {
	if longer(body, b.units) {
		return nil, false, ErrOutline
	}
	body = unixBreaks(strings.TrimPrefix(string(body), bom))
	root, crowded := parseOutline(text.NewReader(body))
	if crowded {
		return nil, false, ErrCrowded
	}
	err = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		h, ok := n.(*ast.Heading)
		switch {
		case !ok && n.Type() == ast.TypeInline:
			return ast.WalkSkipChildren, nil
		case !ok || !entering:
			return ast.WalkContinue, nil
		case len(all) == b.headings:
			truncated = true
			return ast.WalkStop, nil
		}
		all = append(all, outlineHeading(h, body, len(all)+1))
		return ast.WalkSkipChildren, nil
	})
	return all, truncated, err
}

// parseOutline parses the blocks of a body, and the inline text of headings; see parseBlocks.
func parseOutline(r text.Reader) (root ast.Node, crowded bool) {
	root, _, crowded = parseWith(outlineParser, r)
	return root, crowded
}

// longer reports whether a body has more than most UTF-16 units.
func longer(body []byte, most int) bool {
	if len(body) <= most {
		return false
	}
	units := 0
	for _, r := range string(body) {
		units += utf16.RuneLen(r)
	}
	return units > most
}

// unixBreaks returns a text with "\n" in place of every line break.
func unixBreaks(s string) []byte {
	if !strings.Contains(s, "\r") {
		return []byte(s)
	}
	return []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s))
}

// outlineHeading returns the nth heading of an outline, counted from 1. The number in its ID is that of
// all headings, so IDs are unique even if headings have the same text.
func outlineHeading(h *ast.Heading, body []byte, nth int) OutlineHeading {
	shown := normalizeSpace(siblings(h, body))
	slug := cmp.Or(PlainSlug(shown), "heading")
	return OutlineHeading{h.Level, shown, fmt.Sprintf("h%d-%s-%04d", h.Level, slug, nth)}
}

// outlineParser parses blocks, and the inline text of headings.
var outlineParser = newParser(
	definitionTransformer{plain: true},
	util.Prioritized(proseSkipper{}, 50),
	util.Prioritized(parser.NewCodeSpanParser(), 100),
	util.Prioritized(parser.NewLinkParser(), 200),
	util.Prioritized(parser.NewAutoLinkParser(), 300),
	util.Prioritized(parser.NewRawHTMLParser(), 400),
	util.Prioritized(parser.NewEmphasisParser(), 500),
)

// maxMarks is the largest number of brackets, stars, underscores, backticks and angle brackets in a
// heading that is parsed as Markdown. Parsing takes quadratic time in that number. A heading with
// more is plain text, and so are all headings after the first MaxOutlineHeadings.
const maxMarks = 100

// A proseSkipper is an inline parser that skips the text of every block except that of headings.
type proseSkipper struct{ textSkipper }

// headingsKey is the key of the number of headings that were parsed.
var headingsKey = parser.NewContextKey()

// lastHeadingKey is the key of the heading that is being parsed.
var lastHeadingKey = parser.NewContextKey()

// Parse returns nil for headings, so that the other parsers parse them. The text of a heading with
// too many marks becomes one raw node. goldmark calls Parse for each byte that can begin markup;
// lastHeadingKey prevents a heading from being counted more than once.
func (u proseSkipper) Parse(block ast.Node, r text.Reader, pc parser.Context) ast.Node {
	h, ok := block.(*ast.Heading)
	if !ok {
		return u.textSkipper.Parse(block, r, pc)
	}
	if pc.Get(lastHeadingKey) == h {
		return nil
	}
	pc.Set(lastHeadingKey, h)
	read, _ := pc.Get(headingsKey).(int)
	pc.Set(headingsKey, read+1)
	written := h.Lines().Value(r.Source())
	if read < MaxOutlineHeadings && marksIn(written) <= maxMarks {
		return nil
	}
	_, at := r.Position()
	r.SetPosition(math.MaxInt, at)
	node := ast.NewString(written)
	node.SetRaw(true)
	return node
}

// marksIn returns the number of bytes that can begin or end inline markup.
func marksIn(text []byte) int {
	n := 0
	for _, c := range text {
		switch c {
		case '[', ']', '*', '_', '`', '<', '>':
			n++
		}
	}
	return n
}

// siblings returns the plain text of the children of a node, with spaces between them. Adjacent
// texts are joined first.
func siblings(n ast.Node, body []byte) string {
	return strings.Join(childTexts(n, body, inlineText), " ")
}

// childTexts returns the plain texts of the children of a node. other returns that of a child that
// is not a text. A hard line break is a space. Adjacent texts are one result: goldmark divides a
// text at characters that could be markup but are not.
func childTexts(n ast.Node, body []byte, other func(ast.Node, []byte) string) []string {
	var parts []string
	var run []byte // adjacent texts, as they are written
	flush := func() {
		if run != nil {
			parts, run = append(parts, unescape(run)), nil
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		t, ok := c.(*ast.Text)
		if !ok {
			flush()
			parts = append(parts, other(c, body))
			continue
		}
		run = append(run, t.Segment.Value(body)...)
		switch {
		case t.HardLineBreak():
			flush()
			parts = append(parts, " ")
		case t.SoftLineBreak():
			run = append(run, '\n')
		}
	}
	flush()
	return parts
}

// inlineText returns the plain text of a node in a heading, other than a text.
func inlineText(n ast.Node, body []byte) string {
	switch n := n.(type) {
	case *ast.String:
		return string(n.Value)
	case *ast.CodeSpan:
		return strings.ReplaceAll(raw(n, body), "\n", " ")
	case *ast.RawHTML:
		return string(n.Segments.Value(body))
	case *ast.AutoLink:
		return string(n.Label(body))
	case *ast.Image:
		return alt(n, body)
	}
	return siblings(n, body)
}

// raw returns the text in a node as it is written.
func raw(n ast.Node, body []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(body))
		}
	}
	return b.String()
}

// alt returns the alternative text of an image: the texts in it, including those of links and
// emphasis, without spaces between the parts.
func alt(n ast.Node, body []byte) string {
	return strings.Join(childTexts(n, body, func(c ast.Node, body []byte) string {
		if _, isLink := c.(*ast.Link); isLink || c.Kind() == ast.KindEmphasis {
			return alt(c, body)
		}
		return inlineText(c, body)
	}), "")
}

// unescape returns a text with escaped punctuation and entities resolved.
func unescape(s []byte) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]) {
			b.WriteByte(s[i+1])
			i += 2
			continue
		}
		if n := entityLen(s[i:]); n > 0 {
			b.Write(resolveEntity(s[i : i+n]))
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// resolveEntity returns the characters of an entity, or the entity itself if it is unknown.
func resolveEntity(entity []byte) []byte {
	if known, ok := util.LookUpHTML5EntityByName(string(entity[1 : len(entity)-1])); ok {
		return known.Characters
	}
	return util.ResolveNumericReferences(entity)
}

// maxEntity is the longest entity in bytes, including & and ;.
const maxEntity = 40

// entityLen returns the length of the possible entity at the beginning of a text, or 0. s must not
// be empty.
func entityLen(s []byte) int {
	if s[0] != '&' {
		return 0
	}
	for i := 1; i < min(len(s), maxEntity); i++ {
		switch c := s[i]; {
		case c == ';':
			return i + 1
		case c != '#' && !util.IsAlphaNumeric(c):
			return 0
		}
	}
	return 0
}

// normalizeSpace returns a text composed (NFC), with one space in place of each run of blanks, and without
// blanks around it. Blanks are those of JavaScript.
func normalizeSpace(s string) string {
	return strings.Join(strings.FieldsFunc(norm.NFC.String(s), IsSpace), " ")
}

// IsSpace reports whether JavaScript treats a character as a blank or a line break: U+FEFF is one,
// U+0085 is not.
func IsSpace(r rune) bool {
	return r == '\ufeff' || r != '\u0085' && unicode.IsSpace(r)
}

// PlainSlug returns a text in lower case, with a dash in place of each run of characters other than
// ASCII letters and digits, and no dash at either end. It returns "" for a text without ASCII
// letters and digits. A letter with an accent is replaced by a dash, unlike in Slug.
func PlainSlug(s string) string {
	if isPlainSlug(s) {
		return s
	}
	var b strings.Builder
	dash := false
	put := func(r rune) {
		if r > unicode.MaxASCII || !util.IsAlphaNumeric(byte(r)) {
			dash = true
			return
		}
		if dash && b.Len() > 0 {
			b.WriteByte('-')
		}
		dash = false
		b.WriteRune(r)
	}
	for _, r := range s {
		if r == 'İ' { // its lower case is two characters
			put('i')
			r = '\u0307'
		}
		put(unicode.ToLower(r))
	}
	return b.String()
}

// isPlainSlug reports whether PlainSlug would return the text unchanged.
func isPlainSlug(s string) bool {
	dash := true // a dash here would be first, or would follow another
	for i := range len(s) {
		c := s[i]
		if c == '-' && dash || c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
		dash = c == '-'
	}
	return s == "" || !dash
}
