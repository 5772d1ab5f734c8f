package mutate

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Cut parts a note's text into what stays of it when an object goes, and what the trash keeps.
func Cut(o index.Object, text []byte) (rest, kept []byte, err error) {
	if o.Section == nil {
		return nil, text, nil
	}
	rest, gone, err := markdown.RemoveSection(text, o.Section.Slug)
	if err != nil {
		return nil, nil, err
	}
	kept, err = Kept(o, gone)
	return rest, kept, err
}

// Kept is the text of a section as the trash keeps it: a note that says where it was.
func Kept(o index.Object, gone []byte) ([]byte, error) {
	return markdown.Compose([]markdown.Field{
		{Key: "origin", Value: o.ID()}, {Key: "line", Value: float64(o.Section.Line)},
	}, Apart(string(gone)))
}

// maxRenamed is how many sections are named that go by another name.
const maxRenamed = 20

// Renamed tells of the sections that go by another name when a section is gone: where several have
// the same heading, a number tells them apart. Of many the first are named, and the rest are counted.
func Renamed(after *index.Index, o index.Object) []string {
	n, ok := after.Note(o.Note.Path)
	if !ok || o.Section == nil {
		return nil
	}
	var stay []index.Object
	for i := range o.Note.Sections {
		if s := o.Note.Object(i); !Inside(s, o) {
			stay = append(stay, s)
		}
	}
	if len(stay) != len(n.Sections) {
		return nil
	}
	var effects []string
	more := 0
	for i, was := range stay {
		switch now := n.Object(i); {
		case now.ID() == was.ID():
		case len(effects) == maxRenamed:
			more++
		default:
			effects = append(effects, was.ID()+" goes by "+now.ID())
		}
	}
	if more > 0 {
		effects = append(effects, fmt.Sprintf("%d more %s by another name", more,
			Plural(more, "section goes", "sections go")))
	}
	return effects
}

// TrashName is the path that an object has in the trash: a note's own, and for what stands in a note
// its name in a folder of that note.
func TrashName(o index.Object) string {
	if o.Section == nil {
		return o.Note.Path
	}
	for _, name := range []string{o.Section.Slug, vault.Slug(o.Section.Slug), vault.Section} {
		if path, err := vault.NotePath(o.Note.ID + "/" + name); err == nil {
			return string(path)
		}
	}
	return o.Note.Path
}

// Apart is a body with a blank line before it, which sets it apart from the frontmatter.
func Apart(body string) string {
	first, _, _ := strings.Cut(body, "\n")
	switch {
	case strings.TrimSpace(first) == "":
		return body
	case strings.HasSuffix(first, "\r"):
		return "\r\n" + body
	}
	return "\n" + body
}
