package markdown

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

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
