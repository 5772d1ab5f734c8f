// Package markdown reads the text of a note and edits it.
//
// Parse finds the frontmatter of a note, its headings and sections, the declarations that make
// objects of sections, traits, references, links and tags; the syntax is reference/raven.md §1 and
// §3. It never fails: what does not parse is a Problem of the Doc, and the rest is read. The edits are
// splices of bytes: what an edit does not touch stays as it was, comments, quotes, line breaks and
// byte order mark included. The package is pure: no I/O, no clock, no state but how many large notes are
// parsed at once.
package markdown

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// bom is the UTF-8 byte order mark, which may stand before the first line.
const bom = "\ufeff"

// notUTF8 is the message of the Problem of a note in another encoding.
const notUTF8 = "the note is not valid UTF-8; save it as UTF-8"

// A Span is a range of bytes of a note: from Start up to, not including, End.
type Span struct{ Start, End int }

// A Problem is why the frontmatter of a note cannot be used. The note is then quarantined: it reads
// as one without fields. The message never quotes the note.
type Problem struct {
	Line    int // of the file, from 1
	Message string
}

// A Doc is what Parse found in a note. Lines are lines of the file, counted from 1; offsets are
// bytes of the text as it was given, a byte order mark included.
type Doc struct {
	Frontmatter *Frontmatter // nil: the note has none; with a Problem: what can be read of it
	Problem     *Problem     // nil: everything parsed
	Template    bool         // the frontmatter has a placeholder for a whole value, such as `date: {{date}}`
	Body        int          // where the text after the frontmatter begins
	BodyLine    int          // the line where it begins
	LineCount   int          // a line break at the end of the text begins no further line
	Headings    []Heading    // in text order
	Traits      []Trait      // likewise
	Tasks       []Task       // likewise
	References  []Reference  // likewise, those of the frontmatter and of declarations too
	Links       []Link       // likewise; links to notes are References only
	Anchors     []Link       // likewise, links to a place in the same note (`[x](#part)`): no References
	Blocks      []Block      // in text order
	Tags        []Tag        // in text order; a name stands here as often as in the note
	Crowded     bool         // there is more in the body than is read, and what follows is not in the Doc

	size int
	root *yaml.Node // of the head; see Head
}

// Parse reads a note. It takes time linear in the length of the text, whatever the text is. While many large
// notes are parsed it waits for some of them.
func Parse(text []byte) *Doc {
	defer enter(len(text))()
	h := readHead(text)
	d := &Doc{
		Frontmatter: h.fm,
		Problem:     h.problem,
		Body:        h.end,
		BodyLine:    1 + bytes.Count(text[:h.end], []byte{'\n'}),
		LineCount:   countLines(text),
		size:        len(text),
		root:        h.root,
		Template:    h.template,
	}
	if d.Problem != nil {
		d.Frontmatter = h.salvaged
	}
	if line := invalidLine(text); line > 0 {
		d.Frontmatter, d.root = nil, nil
		d.Problem = &Problem{line, notUTF8}
	}
	d.readFrontmatter(text)
	d.readBody(text)
	return d
}

// countLines counts the lines of a text.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte{'\n'})
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// invalidLine is the line of the first byte that is not UTF-8, 0 if all are.
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

// lineBreak is how the first line of a text ends: "\r\n" or "\n", which is also the answer for a
// text of one line.
func lineBreak(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart is the offset of the first byte of the line that at stands in.
func lineStart(text []byte, at int) int {
	return bytes.LastIndexByte(text[:at], '\n') + 1
}

// lineNext is the offset of the line after the one that at stands in.
func lineNext(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// lineEnd is the offset of the line break of the line that at stands in.
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
