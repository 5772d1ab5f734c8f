package tree

import (
	"bytes"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// An Extent is the place of a node in the text of its note.
type Extent struct {
	Own     markdown.Span // its own text: after its heading and declaration, up to the first node below it
	Content markdown.Span // its own text and everything below it
	Start   int           // beginning of its heading; for a note, of its text
}

// Extents returns the extents of a note and of its sections, by node number: the note first.
// Sections that are not nodes have no ends. A Node.Section is thus an index of the result.
//
// d must be the result of parsing text. The own text of a note begins after its title heading.
func Extents(text []byte, d *markdown.Doc) []Extent {
	own := markdown.Span{Start: d.Body, End: len(text)}
	all := []Extent{{Own: own, Content: own, Start: d.Body}}
	var at []int // the positions of headings that are nodes
	for i, h := range d.Headings {
		if h.Title {
			all[0].Own.Start, all[0].Content.Start = h.Content, h.Content
			continue
		}
		all = append(all, extentOf(h))
		if IsTop(h) {
			at = append(at, i)
		}
	}
	// The title heading, if there is one, has no extent. It comes before all headings that have.
	title := len(d.Headings) + 1 - len(all)
	if len(at) > 0 {
		all[0].Own.End = d.Headings[at[0]].Own.Start
	}
	for k, i := range at {
		e := &all[i+1-title]
		e.Own.End, e.Content.End = len(text), len(text)
		if k+1 < len(at) {
			e.Own.End = d.Headings[at[k+1]].Own.Start
		}
		// The content ends at the next heading of the same or a higher rank.
		for _, j := range at[k+1:] {
			if d.Headings[j].Level <= d.Headings[i].Level {
				e.Content.End = d.Headings[j].Own.Start
				break
			}
		}
	}
	return all
}

// extentOf returns the beginnings of a section, without its ends.
func extentOf(h markdown.Heading) Extent {
	start := h.Content
	if h.Declaration != nil {
		start = h.Declaration.Span.End
	}
	return Extent{Own: markdown.Span{Start: start}, Content: markdown.Span{Start: start}, Start: h.Own.Start}
}

// Cut returns a part of a text without the blank lines around it, and without a line break at its
// end. The result shares the memory of text.
func Cut(text []byte, s markdown.Span) []byte {
	part := bytes.TrimRight(text[s.Start:max(s.Start, s.End)], " \t\r\n")
	for {
		line, rest, found := bytes.Cut(part, []byte("\n"))
		if !found || len(bytes.TrimSpace(line)) > 0 {
			return part
		}
		part = rest
	}
}
