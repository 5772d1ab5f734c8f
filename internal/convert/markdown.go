package convert

import (
	"cmp"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/markdown"
)

// markdown reads a Markdown note. Its source, id and date are those in its frontmatter, if it has
// them; otherwise the given source, and an id from its path. The bytes of the note stay the same:
// the importer adds the missing fields.
func (r reader) markdown(source string) error {
	if !isUTF8(r.Data) {
		_, err := r.text()
		return err
	}
	// Only a frontmatter in the strict form counts, as in the tools that list notes.
	head, _ := markdown.StrictHead(trimBOM(r.Data))
	text := func(names ...string) string { return firstText(head, names) }
	stem := strings.TrimSuffix(r.Path, path.Ext(r.Path))
	n := Note{
		Source: cmp.Or(text("source"), source), Date: firstDay(text("date"), text("created")),
		Path: stem + ".md", SourceID: cmp.Or(text("source_id"), r.Path), Text: r.Data,
	}
	// The ids of these programs have their own prefixes and fields.
	switch source {
	case "claude":
		n.SourceID = truncate(cmp.Or(text("source_id", "id"), "claude_"+path.Base(stem)), maxID)
	case "mif":
		n.SourceID = truncate(cmp.Or(text("source_id", "mif:id"), withoutMIF(r.Path)), maxRowID)
		n.Path = withoutMIF(r.Path) + ".md"
	}
	r.add(n)
	return nil
}

// firstText returns the first field of a frontmatter that is not empty, as one line; "" if there is
// none.
func firstText(head *markdown.Map, names []string) string {
	for _, name := range names {
		v, _ := head.Get(name)
		if v == nil {
			continue
		}
		if s := line(markdown.TextOf(v)); s != "" {
			return s
		}
	}
	return ""
}
