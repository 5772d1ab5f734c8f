package mutation

import (
	"fmt"
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/tool"
)

// maxReferrers is how many of the references to something a warning lists: as many as a page of
// raven_backlinks has.
const maxReferrers = 50

// A referrer is a reference as HAS_BACKLINKS lists it.
type referrer struct {
	SourceID string `json:"source_id"`
	FilePath string `json:"file_path"`
	Line     int    `json:"line"`
}

// LinksFromOutside are the references to an object, or to something in it, that do not stand in it
// themselves.
func LinksFromOutside(idx *index.Index, o index.Object) []index.Link {
	var links []index.Link
	for l := range idx.Resolver().Backlinks(o.ID(), index.Location{}) {
		if !Inside(l.Source, o) {
			links = append(links, l)
		}
	}
	return links
}

// Inside reports whether an object is another one, or stands in it.
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

// WarnLinks warns of the references to what is deleted (raven.md §6.7).
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

// Unresolved returns side effects that count the references whose target is deleted: those that lead
// to nothing now, those that lead to a note without their section, and those that lead to something
// else with the same name. References to a day lead to it as before: it has its id without a note.
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

// Count is a number of things.
func Count(n int, thing string) string { return fmt.Sprintf("%d %s", n, Plural(n, thing, thing+"s")) }

// Plural is the one word for one, and the other for any other number.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
