package markdown

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A Subtree is a section of a note with all sections under it, as the unit that is moved, copied
// and removed. Only top-level headings have one (Heading.Top). Headings in quotes and lists are
// part of the text.
type Subtree struct {
	Text  []byte // from its heading on, without blank lines at its end
	Level int    // of its heading
	At    Span   // its place in its note, including the blank lines after it; see SubtreeAt

	headings []Heading    // as parsed in that note
	outside  []Definition // of that note, outside of the subtree
}

// SubtreeAt returns the subtree of a section, by its position among the headings without the title,
// from 1. It returns INVALID_VALUE with the reason malformed_markdown if the section is not at the
// top level or its last block is not closed, or if the note is too large to be parsed completely.
//
// A position counts headings in text order, including those in quotes and lists, although these
// have no subtree.
func SubtreeAt(text []byte, section int) (Subtree, error) { return Parse(text).SubtreeAt(section) }

// SubtreeAt is the function SubtreeAt for a parsed text.
func (d *Doc) SubtreeAt(section int) (Subtree, error) {
	i := d.headingAt(section)
	if i < 0 || i >= len(d.Headings) || !d.Headings[i].Top || d.Crowded {
		return Subtree{}, malformed("the section is in a list or a quote, or the note is too large to be parsed")
	}
	at := d.subtree(i)
	if at.End == d.size && Unclosed(d.text) {
		return Subtree{}, malformed("a block at the end of the section is not closed; close its fence").
			With("line", d.Headings[i].Line)
	}
	return d.cut(i, at), nil
}

// cut returns the subtree of heading i, which is at at. The definitions of the rest of the note are
// kept with it, so that Alone and Reorder can add those that the subtree uses.
func (d *Doc) cut(i int, at Span) Subtree {
	return Subtree{
		Text:  bytes.Clone(bytes.TrimRight(d.text[at.Start:at.End], " \t\r\n")),
		Level: d.Headings[i].Level, At: at,
		headings: d.headingsIn(at),
		outside:  definitionsIn(d.text, d.Body, &at),
	}
}

// NewSubtree parses a text as a subtree. Its first line must be the heading. It returns
// INVALID_VALUE if the text begins otherwise; with the reason body_escapes_section if it has
// another heading of that level or a higher one; and with the reason malformed_markdown if its last
// block is not closed.
func NewSubtree(text []byte) (Subtree, error) {
	d := Parse(text)
	if len(d.Headings) == 0 || d.Headings[0].Own.Start != 0 || d.Crowded {
		return Subtree{}, notPlain()
	}
	if at := d.subtree(0); at.End != len(text) {
		return Subtree{}, fault.New(fault.InvalidValue, "the headings in the text are deeper than level %d",
			d.Headings[0].Level).With("reason", "body_escapes_section")
	}
	if Unclosed(text) {
		return Subtree{}, malformed("the last block of the text is not closed; close its fence")
	}
	return d.cut(0, Span{0, len(text)}), nil
}

// malformed returns the error for a text that cannot be divided or joined as Markdown.
func malformed(message string) *fault.Fault {
	return fault.New(fault.InvalidValue, "%s", message).With("reason", "malformed_markdown")
}

// headingAt returns the index of a section in d.Headings, by its position as in SubtreeAt. It does
// not check the range. The title has no position, so positions and indexes differ by one in notes
// without a title.
func (d *Doc) headingAt(section int) int {
	if _, titled := d.title(); titled {
		return section
	}
	return section - 1
}

// subtree returns the extent of top-level heading i with everything under it: up to the next
// top-level heading of its level or a higher one. Unlike Heading.Subtree, it is not ended by a
// heading in a quote or a list.
func (d *Doc) subtree(i int) Span {
	for _, h := range d.Headings[i+1:] {
		if h.Top && h.Level <= d.Headings[i].Level {
			return Span{d.Headings[i].Own.Start, h.Own.Start}
		}
	}
	return Span{d.Headings[i].Own.Start, d.size}
}

// below returns the indexes of the headings directly below a top-level section (0: the note
// itself), and their extent. If there are none, the extent is empty, at the end of the section.
func (d *Doc) below(section int) (children []int, at Span) {
	parent, from, end := -1, 0, d.size
	if section > 0 {
		parent = d.headingAt(section)
		end, from = d.subtree(parent).End, parent+1
	}
	for i := from; i < len(d.Headings) && d.Headings[i].Own.Start < end; i++ {
		if h := d.Headings[i]; h.Top && !h.Title && h.TopParent == parent {
			children = append(children, i)
		}
	}
	if len(children) == 0 {
		return nil, Span{end, end}
	}
	return children, Span{d.Headings[children[0]].Own.Start, end}
}

// Tops returns the number of top-level sections in the subtree, including itself.
func (s Subtree) Tops() (n int) {
	for _, h := range s.headings {
		if h.Top {
			n++
		}
	}
	return n
}

// Sections returns the number of headings in the subtree, including those in quotes and lists.
func (s Subtree) Sections() int { return len(s.headings) }

// Standalone returns the text of the subtree with the definitions of its note that it uses, so that it
// can be read outside of the note.
func (s Subtree) Standalone() []byte {
	own := map[string]bool{}
	for _, d := range definitionsIn(s.Text, 0, nil) {
		own[d.Label] = true
	}
	var lacking []Definition
	for _, d := range usedIn(s.Text, s.outside) {
		if !own[d.Label] {
			lacking = append(lacking, d)
		}
	}
	return withDefinitions(s.Text, lacking, lineBreak(s.Text))
}

// Own returns the section without the sections under it. Headings in quotes and lists stay, because
// they are part of its text. The errors are those of NewSubtree.
func (s Subtree) Own() (Subtree, error) {
	for _, h := range s.headings[1:] {
		if h.Top {
			one, err := NewSubtree(bytes.TrimRight(s.Text[:h.Own.Start-s.At.Start], " \t\r\n"))
			one.outside = s.outside
			return one, err
		}
	}
	return s, nil
}

// WithoutIDs returns the subtree as it must be in a copy: without the ids in declarations and the ids of
// blocks, because they would be in the vault twice. A declaration whose only field was the id keeps
// its type. The errors are those of NewSubtree, and malformed_markdown if the headings would
// change.
func (s Subtree) WithoutIDs() (Subtree, error) {
	d := Parse(s.Text)
	patches := d.blockIDs(s.Text)
	for i, h := range d.Headings {
		if _, pinned := h.Declaration.Get("id"); pinned {
			e := &declarationEditor{d, s.Text, i, h, lineBreak(s.Text)}
			patches = append(patches, e.removePatches(map[string]any{"id": nil})...)
		}
	}
	fresh, err := NewSubtree(apply(s.Text, patches))
	if err != nil {
		return s, err
	}
	if len(fresh.headings) != len(d.Headings) {
		return s, malformed("the ids in the section cannot be omitted from a copy")
	}
	fresh.outside = s.outside
	return fresh, nil
}

// blockIDs returns the patches that remove the ids of blocks. If an id is alone in its line, the
// line is removed too.
//
// Blocks are in text order, so one pass over the lines finds them all.
func (d *Doc) blockIDs(text []byte) (cuts []patch) {
	line, start := 1, 0
	for _, b := range d.Blocks {
		for ; line < b.Line; line++ {
			start = lineNext(text, start)
		}
		end := lineEnd(text, start)
		at := start + bytes.LastIndexByte(text[start:end], '^')
		kept := start + len(bytes.TrimRight(text[start:at], " \t"))
		if kept == start {
			end = lineNext(text, start)
		}
		cuts = append(cuts, patch{at: Span{kept, end}})
	}
	return cuts
}

// maxLevel is the deepest level of a heading.
const maxLevel = 6

// Relevel returns the text of the subtree with all headings shifted down by a number of levels, or
// up if by is negative, but not above level 1. Underlined headings are rewritten with #, because
// they have levels 1 and 2 only. Headings in quotes and lists keep their levels. If a heading would
// be deeper than 6, it returns INVALID_VALUE with the reason heading_depth_exceeded.
func (s Subtree) Relevel(by int) ([]byte, error) {
	if by == 0 {
		return s.Text, nil
	}
	var patches []patch
	for _, h := range s.headings {
		if !h.Top {
			continue
		}
		if h.Level+by > maxLevel {
			return nil, fault.New(fault.InvalidValue,
				"a heading would have level %d; the deepest is %d", h.Level+by, maxLevel).
				With("reason", "heading_depth_exceeded")
		}
		h = h.shifted(-s.At.Start)
		patches = append(patches, levelPatch(s.Text, h, max(1, h.Level+by)))
	}
	return apply(s.Text, patches), nil
}

// shifted returns the heading with its offsets moved by a number of bytes.
func (h Heading) shifted(by int) Heading {
	h.Own.Start += by
	h.Content += by
	return h
}

// levelPatch returns the patch that sets the level of a heading of text. Of a heading with #, only
// these characters are replaced.
func levelPatch(text []byte, h Heading, level int) patch {
	mark := strings.Repeat("#", level)
	if !h.setext {
		at := h.Own.Start + bytes.IndexByte(text[h.Own.Start:], '#')
		return patch{Span{at, at + h.Level}, []byte(mark)}
	}
	end := len(bytes.TrimRight(text[:min(h.Content, len(text))], "\r\n"))
	return patch{Span{h.Own.Start, end}, []byte(mark + " " + oneLine(text[h.Own.Start:lineStart(text, end)]))}
}

// closing matches a closing sequence of a heading that begins with #.
var closing = regexp.MustCompile(`(^|[ \t])#+$`)

// oneLine returns the text of an underlined heading in one line, as Obsidian shows it.
func oneLine(text []byte) string {
	var lines []string
	for line := range bytes.Lines(text) {
		lines = append(lines, strings.Trim(string(line), " \t\r\n"))
	}
	one := strings.TrimSpace(strings.Join(lines, " "))
	if closing.MatchString(one) {
		one += " #" // this closes the heading, so that the # characters before it are text
	}
	return one
}

// Demote returns the text of a note after its frontmatter and its title, with all headings shifted
// by the same number of levels so that the highest one at the top has the level. Without such
// headings the text is unchanged. The error is that of Subtree.Relevel.
func Demote(text []byte, level int) ([]byte, error) {
	d := Parse(text)
	all := Subtree{Text: text}
	start, least := d.Body, maxLevel+1
	for _, h := range d.Headings {
		if h.Title {
			start = h.Content
			continue
		}
		all.headings = append(all.headings, h)
		if h.Top {
			least = min(least, h.Level)
		}
	}
	if least > maxLevel {
		return bytes.Clone(text[start:]), nil
	}
	out, err := all.Relevel(level - least)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(out[start:]), nil // no heading is before start, so that no patch has moved it
}
