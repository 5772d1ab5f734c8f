package mutation

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxReferrers is the maximum number of references that a HAS_BACKLINKS warning lists, which is the
// size of a page of raven_backlinks.
const maxReferrers = 50

// A referrer is one reference in the list of a HAS_BACKLINKS warning.
type referrer struct {
	SourceID string `json:"source_id"`
	FilePath string `json:"file_path"`
	Line     int    `json:"line"`
}

// LinksFromOutside returns the references to an object, or to a part of it, that are not in the
// object itself, in the order of their locations.
func LinksFromOutside(idx *index.Index, o index.Object) []index.Link {
	var links []index.Link
	for l := range idx.Resolver().Backlinks(o.ID(), index.Location{}) {
		if !Inside(l.Source, o) {
			links = append(links, l)
		}
	}
	return links
}

// Inside reports whether o is the same object as whole, or a part of it.
func Inside(o, whole index.Object) bool {
	if o == whole {
		return true
	}
	for above := range o.Parents() {
		if above == whole {
			return true
		}
	}
	return false
}

// WarnLinks adds a HAS_BACKLINKS warning if there are references to the deleted object (raven.md
// §6.7).
func WarnLinks(a *tool.Aside, id string, links []index.Link) {
	if len(links) == 0 {
		return
	}
	listed := []referrer{}
	for _, l := range links[:min(len(links), maxReferrers)] {
		listed = append(listed, referrer{l.Source.ID(), l.Source.Note.Path, l.Ref.Line})
	}
	message := fmt.Sprintf("%s %s to %s, which is deleted", Count(len(links), "reference"),
		Plural(len(links), "leads", "lead"), id)
	a.Warn("HAS_BACKLINKS", message, map[string]any{"count": len(links), "backlinks": listed})
}

// Unresolved returns sentences about the references whose target was deleted, one for each effect:
// the number of references that now have no target, that now refer to a note without the section,
// and that now refer to another object with the same name. References to a day keep their target,
// because a day has an id even without a note. after is the state after the deletion, id the id of
// the deleted object, and links the references to it before.
func Unresolved(after *index.Index, id string, links []index.Link) []string {
	lost, short, others, refs := 0, 0, 0, after.Resolver()
	note, _, _ := strings.Cut(id, "#")
	for _, l := range links {
		switch to := refs.From(l.Source.Note, l.Ref.Target); {
		case to.ID == "":
			lost++
		case to.FragmentMissing && to.ID == note:
			short++
		case to.ID != l.To.ID:
			others++
		}
	}
	var all []string
	tell := func(n int, one, many, where string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%s to %s %s %s", Count(n, "reference"), id, Plural(n, one, many), where))
		}
	}
	tell(lost, "has", "have", "no target")
	tell(short, "leads", "lead", "to "+note+", which has no such section")
	tell(others, "leads", "lead", "to another object with the same name")
	return all
}

// Count returns a number and a noun in the singular or the plural, such as "2 notes".
func Count(n int, thing string) string { return fmt.Sprintf("%d %s", n, Plural(n, thing, thing+"s")) }

// Plural returns one if n is 1, and many otherwise.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

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
