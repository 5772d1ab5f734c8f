package clitool

import (
	"io"
	"strings"
)

// diffs prints objects with diffs: the columns of each on one line, and its diff below. An object
// without a diff has only its line, and an empty line separates two objects:
//
//	v42  2026-11-26  freya  people/bjorn.md
//	@@ -3,1 +3,1 @@
//	-Paint the north wall
//	+Paint the south wall
func (p *printer) diffs(columns []string, items []value) {
	for i, item := range items {
		if i > 0 {
			p.printf("\n")
		}
		var head []string
		for _, name := range columns {
			if text := textOf(item.get(name)); text != "" {
				head = append(head, text)
			}
		}
		p.coloured(yellow, strings.Join(head, "  "))
		for line := range strings.Lines(item.get(p.diff).text) {
			p.coloured(colourOf(line), strings.TrimSuffix(line, "\n"))
		}
	}
}

// coloured prints a line in a colour, if colours are used, and escapes it on a terminal. An empty
// colour is none.
func (p *printer) coloured(colour, line string) {
	if p.terminal {
		line = escapeControls(strings.TrimSuffix(line, "\r"))
	}
	if colour != "" {
		line = p.paint(colour, line)
	}
	_, _ = io.WriteString(p.out, line+"\n") // an error of Out cannot be reported anywhere else
}

// colourOf returns the colour of a line of a diff, as in git: red for removed lines, green for
// added ones, cyan for positions, and none for the lines around them.
func colourOf(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	}
	return ""
}
