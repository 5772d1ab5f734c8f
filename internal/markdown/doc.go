// Package markdown parses the text of a note and edits it.
//
// Parse returns the frontmatter of a note, its headings and sections, the declarations that make
// sections objects, traits, tasks, references, links and tags. The syntax is in reference/raven.md
// §1 and §3. Parse never fails: a frontmatter that does not parse is a Problem of the Doc, and the
// rest is parsed. Edits replace bytes in place: everything else stays the same, including comments,
// quotes, line breaks and the byte order mark. The package does no I/O and reads no clock. Its only
// state is the number of large notes that are being parsed.
//
// # Parsing
//
// A note is parsed in layers:
//
//   - The head (frontmatter.go) is the byte order mark and the frontmatter. The YAML module parses
//     it; extent.go and scan.go find the ends of its fields, which that module does not report.
//   - The blocks (block.go) are parsed by goldmark: headings, paragraphs, lists, quotes, code and
//     HTML. Its parsers of inline text are not used, because some take quadratic time.
//   - The inline text of a block (prose.go, atom.go, emphasis.go, wikilink.go, html.go) is parsed
//     by this package in linear time. Code and HTML take precedence, then wikilinks, then links and
//     emphasis.
//   - The body (body.go) is read block by block into the Doc: headings (heading.go), declarations
//     (declaration.go), traits (trait.go), tasks (task.go), references (reference.go), links
//     (link.go) and tags (tag.go).
//
// Traits and tags are found in the rendered line, as Raven does: the visible text of one line
// without markup (render.go). Each rendered byte has its offset in the block, so that an edit can
// change the source.
//
// Notes come from users, so every input must be parsed in bounded time and memory. A body that
// exceeds MaxOpen, maxBlocks, maxFound or maxInline is parsed up to that point, and the Doc is
// Crowded. Containers that are nested deeper than maxDepth are text, and a frontmatter that exceeds
// maxYAML is a Problem. The number of large notes that are parsed at once is limited.
//
// # Editing
//
// Edits of fields, declarations, annotations, tasks and sections follow the same steps: parse the
// note, compute patches of bytes, apply them, parse the result, and compare both. If anything
// differs except the intended change, the edit returns INVALID_VALUE and no text. An edit that
// computes a wrong position can therefore fail, but it cannot damage a note. Edits of fields are in
// edit.go, of declarations in declare.go, of annotations in annotate.go, of tasks in settask.go,
// and of sections in arrange.go (by slug) and reorder.go (by position). append.go adds text, and
// SetBody replaces it; they do not parse the result.
//
// A value is written so that it reads back as the same value. write.go writes YAML and spell.go the
// notation of declarations and annotations; value.go and argument.go parse them.
//
// # Other readings of a note
//
// Three groups of functions follow other rules than Parse, for compatibility with other programs:
// Head and StrictHead return the frontmatter as JavaScript programs read it (headmap.go,
// headread.go, headscalar.go, headtext.go), Outline returns headings by CommonMark (outline.go),
// and HTML renders a body (tohtml.go).
package markdown

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// bom is the UTF-8 byte order mark, which may be at the start of a note. It is part of the head:
// offsets and edits include it, and no edit removes it.
const bom = "\ufeff"

// notUTF8 is the message of the Problem of a note that is not valid UTF-8.
const notUTF8 = "the note is not valid UTF-8; save it as UTF-8"

// A Span is a range of bytes of a note, from Start up to, not including, End. A Span with Start ==
// End is empty; its Start can still be a position, such as the place of a missing value.
type Span struct{ Start, End int }

// A Problem is the reason why the frontmatter of a note cannot be used. The note is then
// quarantined: it is treated as a note without fields. Message never quotes the note.
type Problem struct {
	Line    int // of the file, from 1
	Message string
}

// A Doc is the result of Parse. Lines are lines of the file, counted from 1. Offsets are bytes of
// the given text, including a byte order mark.
type Doc struct {
	Frontmatter *Frontmatter // nil: the note has none; with a Problem: the fields that can be read, or nil
	Problem     *Problem     // nil: the frontmatter parsed
	Template    bool         // a field's whole value is a placeholder, such as `date: {{date}}`
	Body        int          // the offset of the text after the frontmatter
	BodyLine    int          // the line of Body
	LineCount   int          // a line break at the end of the text does not begin another line
	Headings    []Heading    // in text order
	Traits      []Trait      // likewise
	Tasks       []Task       // likewise
	References  []Reference  // in text order, including those of the frontmatter and of declarations
	Links       []Link       // in text order; links to notes are in References only
	Anchors     []Link       // in text order: links within the note (`[x](#part)`), which are not in References
	Blocks      []Block      // in text order
	Tags        []Tag        // in text order, as often as they occur
	Crowded     bool         // a bound was exceeded: the rest of the body is not in the Doc

	text []byte // the given one
	size int
	root *yaml.Node // of the frontmatter; see Head
}

// Parse parses a note. It takes linear time in the length of any text. The number of large notes
// that are parsed at once is limited, so a call with one may wait for others. It is safe for
// concurrent use.
//
// The Doc refers to the text, which must not be changed. Functions that take a Doc and a text, such
// as Bodies, need the text that the Doc was parsed from, because spans refer to it.
func Parse(text []byte) *Doc {
	defer acquire(len(text))()
	return parse(text, readHead(text))
}

// Reparse is Parse for a text that was made from the one of d. If the frontmatter is the same, it is
// not parsed again, and the result shares it with d.
func (d *Doc) Reparse(text []byte) *Doc {
	same := d.text[:d.Body]
	if d.Problem != nil || !bytes.HasSuffix(same, []byte{'\n'}) || !bytes.HasPrefix(text, same) {
		return Parse(text)
	}
	defer acquire(len(text))()
	return parse(text, head{fm: d.Frontmatter, root: d.root, end: d.Body, template: d.Template})
}

// parse parses a note with a frontmatter that was read.
func parse(text []byte, h head) *Doc {
	d := &Doc{
		Frontmatter: h.fm,
		Problem:     h.problem,
		Body:        h.end,
		BodyLine:    1 + bytes.Count(text[:h.end], []byte{'\n'}),
		LineCount:   countLines(text),
		text:        text,
		size:        len(text),
		root:        h.root,
		Template:    h.template,
	}
	// Fields that could be parsed separately are used in place of the invalid frontmatter: names
	// and tags of the note.
	if d.Problem != nil {
		d.Frontmatter = h.salvaged
	}
	// A note that is not valid UTF-8 has no usable fields, even if only its body is invalid.
	if line := invalidLine(text); line > 0 {
		d.Frontmatter, d.root = nil, nil
		d.Problem = &Problem{line, notUTF8}
	}
	d.readFrontmatter(text)
	d.readBody(text)
	return d
}

// countLines returns the number of lines of a text; 0 for an empty one. A line break at the end
// does not begin another line.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// invalidLine returns the line of the first byte that is not UTF-8, or 0 if the text is valid.
func invalidLine(text []byte) int {
	if utf8.Valid(text) {
		return 0
	}
	line := 1
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[n:]
	}
	return line
}

// lineBreak returns the line break of the first line of a text: "\r\n" or "\n". It returns "\n" for
// a text of one line.
func lineBreak(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart returns the offset of the first byte of the line that contains at.
func lineStart(text []byte, at int) int {
	return bytes.LastIndexByte(text[:at], '\n') + 1
}

// lineNext returns the offset of the line after the one that contains at, or the length of the text
// if that line is the last one.
func lineNext(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// lineEnd returns the offset of the line break that ends the line that contains at, or the length
// of the text. A carriage return before the newline is part of the line break.
func lineEnd(text []byte, at int) int {
	end := lineNext(text, at)
	if end > at && text[end-1] == '\n' {
		end--
		if end > at && text[end-1] == '\r' {
			end--
		}
	}
	return end
}

// Notes of more than mediumNote and of more than largeNote bytes are limited separately.
const (
	largeNote  = 128 << 10
	mediumNote = 16 << 10
)

// These channels limit how many notes of each size are parsed at once. In the worst case, parsing
// takes about three hundred times the length of a note in memory, so without a limit a few dozen
// calls would use all of it. Parsing is bound by the processors, so the limit does not slow it
// down.
var (
	largeNotes  = make(chan struct{}, 2)
	mediumNotes = make(chan struct{}, 16)
)

// acquire waits until a note of the length, in bytes, may be parsed. The caller must call leave
// afterwards. A short note never waits. A caller must not parse another note before it calls leave,
// because both could wait for the same place.
func acquire(length int) (leave func()) {
	var at chan struct{}
	switch {
	case length > largeNote:
		at = largeNotes
	case length > mediumNote:
		at = mediumNotes
	default:
		return func() {}
	}
	at <- struct{}{}
	return func() { <-at }
}
