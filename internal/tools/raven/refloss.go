package raven

import (
	"fmt"

	"rookery/internal/index"
	"rookery/internal/tool"
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

// linksFromOutside are the references to an object, or to something in it, that do not stand in it
// themselves.
func linksFromOutside(idx *index.Index, o index.Object) []index.Link {
	var links []index.Link
	for l := range idx.Resolver().Backlinks(o.ID(), index.Spot{}) {
		if !inside(l.Source, o) {
			links = append(links, l)
		}
	}
	return links
}

// inside reports whether an object is another one, or stands in it.
func inside(o, whole index.Object) bool {
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

// warnLinks warns of the references to what is deleted (raven.md §6.7).
func warnLinks(a *tool.Aside, id string, links []index.Link) {
	if len(links) == 0 {
		return
	}
	listed := []referrer{}
	for _, l := range links[:min(len(links), maxReferrers)] {
		listed = append(listed, referrer{l.Source.ID(), l.Source.Note.Path, l.Ref.Line})
	}
	message := fmt.Sprintf("%s %s to %s, which is deleted", count(len(links), "reference"),
		plural(len(links), "leads", "lead"), id)
	a.Warn("HAS_BACKLINKS", message, map[string]any{"count": len(links), "backlinks": listed})
}

// unresolved tells how many references lead to nothing once their target is gone. Those to a day do
// not: it has its id without a note.
func unresolved(after *index.Index, id string, links []index.Link) []string {
	lost, refs := 0, after.Resolver()
	for _, l := range links {
		if refs.Resolve(l.Ref.Target).ID == "" {
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s to %s %s to nothing", count(lost, "reference"), id,
		plural(lost, "leads", "lead"))}
}

// count is a number of things.
func count(n int, thing string) string { return fmt.Sprintf("%d %s", n, plural(n, thing, thing+"s")) }

// plural is the one word for one, and the other for any other number.
func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
