package mutation

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Cut deletes an object from the text of its note. It returns the rest of the text, nil if the
// object is the note itself, and the text for the trash: the note as it is, or for a section the
// result of TrashText. It returns VALIDATION_FAILED if another section of the note would get another id,
// because references to that section would break.
func Cut(o index.Object, text []byte) (rest, kept []byte, err error) {
	if o.Section == nil {
		return nil, text, nil
	}
	rest, gone, err := markdown.DeleteSection(text, o.Section.Slug)
	if err != nil {
		return nil, nil, err
	}
	kept, err = TrashText(o, gone)
	return rest, kept, err
}

// TrashText returns the text of a deleted section in the form that the trash stores: a note whose
// frontmatter has the fields origin, the id of the section, and line, its line number.
// raven_restore reads both.
func TrashText(o index.Object, gone []byte) ([]byte, error) {
	return markdown.Compose([]markdown.Field{
		{Key: "origin", Value: o.ID()}, {Key: "line", Value: float64(o.Section.Line)},
	}, SeparateBody(string(gone)))
}

// TrashName returns the path of an object in the trash, without the folder of the trash. A note
// keeps its path. A section gets a note named after it, in a folder named after its note.
func TrashName(o index.Object) string {
	if o.Section == nil {
		return o.Note.Path
	}
	// The slug of a section may not be a valid file name.
	for _, name := range []string{o.Section.Slug, vault.Slug(o.Section.Slug), vault.Section} {
		if path, err := vault.NotePath(o.Note.ID + "/" + name); err == nil {
			return string(path)
		}
	}
	return o.Note.Path
}

// SeparateBody returns a body that begins with a blank line, so that it can follow frontmatter. It adds
// the line if there is none, with the line ending of the body's first line.
func SeparateBody(body string) string {
	first, _, _ := strings.Cut(body, "\n")
	switch {
	case strings.TrimSpace(first) == "":
		return body
	case strings.HasSuffix(first, "\r"):
		return "\r\n" + body
	}
	return "\n" + body
}
