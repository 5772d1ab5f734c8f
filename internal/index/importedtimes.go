package index

import (
	"slices"
	"strings"
	"time"

	"github.com/rookeryhq/rookery/internal/vault"
)

// A span is when an object was first and last seen, as an audit log that was brought in tells it
// (reference/raven.md §6.9).
type span struct{ first, last time.Time }

// A importedTimes is what an audit log tells of a note and of what is in it.
type importedTimes struct {
	span
	sections map[string]span // by fragment
	traits   []told          // as they last were, in the order in which they came
}

// told is a trait that an audit log tells of.
type told struct {
	id, typ, parent, text string // the parent by its fragment
	line                  int    // 0: not told
	span
}

// formers are the traits of a note that the log tells of, for who meets them at a time.
func (s importedTimes) formers(note string, now time.Time) []*prevTrait {
	var all []*prevTrait
	for _, t := range s.traits {
		created, modified := t.before(now, now)
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

// dateSections gives the sections of a note that comes now their times.
func (s importedTimes) dateSections(n *Note, now time.Time) {
	fresh := &Times{now, now}
	for i := range n.Sections {
		section := &n.Sections[i]
		section.Times = fresh
		if t, ok := s.sections[section.Slug]; ok {
			created, modified := t.before(now, now)
			section.Times = &Times{created, modified}
		}
	}
}

// auditLogs are the audit logs that a commit brings in, the oldest first.
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

// seed takes what audit logs tell, on top of what earlier ones told, for a log may come in several
// files and commits. It gives the notes that are there already their times. Their traits keep the ids
// that they go by here.
func (d *draft) seed(logs [][]byte) {
	a := &audit{objects: map[string]span{}, traits: map[string]*told{}, seen: map[string]bool{}}
	d.seeds.Scan(func(id string, s importedTimes) bool {
		a.resume(id, s)
		return true
	})
	for _, log := range logs {
		a.read(log)
	}
	d.seeds.Clear()
	for id, s := range a.seeds() {
		d.seeds.Set(id, s)
		if n, ok := d.ByID(id); ok && a.seen[id] {
			d.backdate(n, s)
		}
	}
}

// backdate gives a note the times that the audit log tells.
func (d *draft) backdate(old *Note, s importedTimes) {
	created, modified := s.before(old.Created, old.Modified)
	if created.Equal(old.Created) {
		return
	}
	n := old.renewed()
	n.Created, n.Modified = created, modified
	d.unclaim(old)
	for _, t := range n.Annotations {
		d.claim(t)
	}
	d.swap(old.File, n.File)
}

// before is when a note was made and changed that came here, and was changed here last, at these
// times. What is told counts as far as it is older, and the last change only if the note is as it
// came.
func (s span) before(came, changed time.Time) (created, modified time.Time) {
	created, modified = came, changed
	if s.first.Before(came) {
		created = s.first
		if changed.Equal(came) && s.last.Before(came) {
			modified = s.last
		}
	}
	return created, modified
}
