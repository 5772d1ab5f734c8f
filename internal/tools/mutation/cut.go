package mutation

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Cut returns what stays of a note's text when an object is deleted, and what the trash keeps. It
// returns VALIDATION_FAILED if another section of the note would have another id.
func Cut(o index.Object, text []byte) (rest, kept []byte, err error) {
	if o.Section == nil {
		return nil, text, nil
	}
	rest, gone, err := markdown.DeleteSection(text, o.Section.Slug)
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
