package index

import (
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A span is the times at which an object was first and last seen, from an imported audit log
// (reference/raven.md §6.9).
type span struct{ first, last time.Time }

// An importedTimes is the times of a note, and of the sections and traits in it, from imported
// audit logs.
type importedTimes struct {
	span
	sections map[string]span // by fragment
	traits   []loggedTrait   // in their last state, in the order of their creation
}

// A loggedTrait is a trait as an audit log describes it.
type loggedTrait struct {
	id, typ, parent, text string // parent is the fragment of the parent's id
	line                  int    // 0 if the log does not say
	span
}

// prevTraits returns the traits of a note from the log as earlier states, for a note that is
// created at now. A trait of the note whose text is its id is a field; its text is that of field
// traits.
func (s importedTimes) prevTraits(note string, now time.Time) []*prevTrait {
	var all []*prevTrait
	for _, t := range s.traits {
		created, modified := t.backdate(now, now)
		all = append(all, &prevTrait{
			id: t.id, typ: t.typ, parent: t.parent, text: identityText(t.typ, t.text), line: t.line,
			times: &Times{created, modified},
		})
		if t.parent == "" && t.text == note {
			all[len(all)-1].text = fieldText
		}
	}
	return all
}

// dateSections sets the times of the sections of a note that is created at now.
func (s importedTimes) dateSections(n *Note, now time.Time) {
	fresh := &Times{now, now}
	for i := range n.Sections {
		section := &n.Sections[i]
		section.Times = fresh
		if t, ok := s.sections[section.Slug]; ok {
			created, modified := t.backdate(now, now)
			section.Times = &Times{created, modified}
		}
	}
}

// auditLogs returns the texts of the audit logs in a commit, by path, which is the oldest first.
func auditLogs(changes []Change) [][]byte {
	var brought []Change
	for _, ch := range changes {
		if !ch.Deleted && vault.Path(ch.Path).Kind() == vault.KindAudit {
			brought = append(brought, ch)
		}
	}
	slices.SortFunc(brought, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	var logs [][]byte
	for _, ch := range brought {
		logs = append(logs, ch.Text)
	}
	return logs
}

// importTimes imports audit logs, in addition to earlier ones, because a log can come in several
// files and commits. It also sets the times of notes that exist already. Their traits keep their
// ids. It reads all times that are known so far, so it takes time in proportion to these and to the
// logs.
func (d *draft) importTimes(logs [][]byte) {
	a := &auditState{objects: map[string]span{}, traits: map[string]*loggedTrait{}, seen: map[string]bool{}}
	d.importedTimes.Scan(func(id string, s importedTimes) bool {
		a.resume(id, s)
		return true
	})
	for _, log := range logs {
		a.read(log)
	}
	d.importedTimes.Clear()
	for id, s := range a.importedTimes() {
		d.importedTimes.Set(id, s)
		if n, ok := d.ByID(id); ok && a.seen[id] {
			d.backdate(n, s)
		}
	}
}

// backdate sets the time of creation and change of an existing note to those of the audit log, if
// these are earlier. The times of its sections and traits stay.
func (d *draft) backdate(old *Note, s importedTimes) {
	created, modified := s.backdate(old.Created, old.Modified)
	if created.Equal(old.Created) {
		return
	}
	n := old.mutableCopy()
	n.Created, n.Modified = created, modified
	d.unclaim(old)
	for _, t := range n.Annotations {
		d.claim(t)
	}
	d.swap(old.File, n.File)
}

// backdate returns the times of creation and change of a note that was created here at came and
// last changed here at changed. The first time of s counts if it is earlier than came. Its last
// time counts only if the note did not change since it came.
func (s span) backdate(came, changed time.Time) (created, modified time.Time) {
	created, modified = came, changed
	if s.first.Before(came) {
		created = s.first
		if changed.Equal(came) && s.last.Before(came) {
			modified = s.last
		}
	}
	return created, modified
}
