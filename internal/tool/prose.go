package tool

import "strings"

// A Prose is a tool's Doc, parsed. The text is Markdown: a first paragraph that summarizes the
// tool, then sections under "## " headings. The section Example has fenced blocks: `sh` for command
// lines, `json` for inputs and answers.
type Prose struct {
	Summary  string   // the first paragraph, on one line
	Text     string   // the whole Doc
	Commands []string // the command lines of all `sh` blocks
}

// Prose parses the Doc.
func (s *Spec) Prose() Prose {
	text := strings.TrimSpace(s.Doc)
	first, _, _ := strings.Cut(text, "\n\n")
	return Prose{
		Summary:  strings.Join(strings.Fields(first), " "),
		Text:     text,
		Commands: fenced(text, "sh"),
	}
}

// List returns the items of the bullet list in a section, without their markers; nil if there is no
// such heading.
func (p Prose) List(heading string) []string {
	_, rest, found := strings.Cut(p.Text, "\n## "+heading+"\n")
	if !found {
		return nil
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	var items []string
	for line := range strings.Lines(section) {
		if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			items = append(items, item)
		}
	}
	return items
}

// fenced returns the non-empty lines of the fenced blocks of one language.
func fenced(text, lang string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case inside && strings.HasPrefix(line, "```"):
			inside = false
		case inside && line != "":
			lines = append(lines, line)
		case line == "```"+lang:
			inside = true
		}
	}
	return lines
}
