package index

import (
	"iter"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

// FolderPaths yields the paths of the folders after a path, each with a slash at the end, sorted
// bytewise. The vault is not among them. A folder exists if a note, or the file of a folder, is in
// it or below it.
func (x *Index) FolderPaths(after string) iter.Seq[string] {
	return func(yield func(string) bool) {
		x.folderVersions.Ascend(after, func(dir string, _ uint64) bool {
			return dir == after || dir == "" || yield(dir)
		})
	}
}

// Broken yields the references after a location that lead to nothing, or are ambiguous. References
// to files are not checked. It goes through all references of the vault.
func (r *Resolver) Broken(after Location) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for n := range r.x.notesFrom(after.Path) {
			for l := range linksOf(n, after) {
				l.To = r.From(n, l.Ref.Target)
				if l.To.ID == "" && !l.Ref.IsFile() && !yield(l) {
					return
				}
			}
		}
	}
}

// Dates yields the mentions of the days from one day to another, both included, by day, path and
// line. It goes through the days that are mentioned, not through the calendar, so a long range
// without mentions costs nothing.
func (x *Index) Dates(from, to vault.Date) iter.Seq[DateMention] {
	return func(yield func(DateMention) bool) {
		for name := range x.countedNames(byDay.name(""), byDay.name(string(from))) {
			if vault.Date(name[1:]) > to {
				return
			}
			for d := range x.DatesOn(vault.Date(name[1:]), "") {
				if !yield(d) {
					return
				}
			}
		}
	}
}

// Created yields the notes that were created in [from, to), by time, then path. A zero time leaves
// that end open.
func (x *Index) Created(from, to time.Time) iter.Seq[*Note] { return x.between(byCreated, from, to) }

// Facets returns the facets of the note; nil if it has no fields in its head.
func (n *Note) Facets() *Facets { return n.facets }

// Traits returns the traits in the object's own text and among its fields, in reading order.
func (o Object) Traits() []*Trait {
	var all []*Trait
	for t := range o.Note.Traits() {
		if t.Scope() == o.Number() {
			all = append(all, t)
		}
	}
	return all
}
