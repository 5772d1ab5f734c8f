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
	for _, t := range n.EachAnnotation {
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

// A NoteTimes is the times of a note, and of everything in it, at some version. A commit that
// restores the note with the text of that version must store them, because they are recorded
// nowhere else.
type NoteTimes struct {
	Note     Times   `json:"note"`               // of the note as a whole
	Sections []Times `json:"sections,omitempty"` // by position
	Traits   []Times `json:"traits,omitempty"`   // by position of the annotation
}

// AllTimes returns the current times of a note, for a commit that restores it later.
func (n *Note) AllTimes() *NoteTimes {
	p := &NoteTimes{Note: Times{n.Created, n.Modified}}
	for i := range n.Sections {
		p.Sections = append(p.Sections, *n.Sections[i].Times)
	}
	for _, t := range n.EachAnnotation {
		p.Traits = append(p.Traits, *t.Times)
	}
	return p
}

// Restored returns the times of a note that gets an earlier text back. p has the times with this
// text; before and now are the note before and after it gets the text. Sections and traits that are
// in before keep their times of now; those that return have those of p. Sections are compared by
// slug and traits by id. If the number of sections or traits differs between p and now, those of
// now are used.
func (p *NoteTimes) Restored(before, now *Note) *NoteTimes {
	all := now.AllTimes()
	if len(p.Sections) == len(all.Sections) {
		had := map[string]bool{}
		for i := range before.Sections {
			had[before.Sections[i].Slug] = true
		}
		for i := range now.Sections {
			if !had[now.Sections[i].Slug] {
				all.Sections[i] = p.Sections[i]
			}
		}
	}
	if len(p.Traits) == len(all.Traits) {
		had := map[string]bool{}
		for _, t := range before.EachAnnotation {
			had[t.ID] = true
		}
		for i, t := range now.EachAnnotation {
			if !had[t.ID] {
				all.Traits[i] = p.Traits[i]
			}
		}
	}
	return all
}

// restore sets the times of a note that is not in the lookups yet. It does nothing if p is nil. If
// the number of sections or traits does not fit, for example because the schema defines other field
// traits, these keep their times. It runs after identify, whose times it replaces.
func (p *NoteTimes) restore(n *Note) {
	if p == nil {
		return
	}
	n.Created, n.Modified = p.Note.Created.UTC(), p.Note.Modified.UTC()
	shared := sharer{}
	if len(p.Sections) == len(n.Sections) {
		for i, t := range p.Sections {
			n.Sections[i].Times = shared.times(t)
		}
	}
	for i, t := range n.listed(len(p.Traits)) {
		t.Times = shared.times(p.Traits[i])
	}
}

// A sharer returns the same pointer for equal times, because most things in a note were created
// together.
type sharer map[[2]time.Time]*Times

// times returns a shared Times equal to t, in UTC.
func (s sharer) times(t Times) *Times {
	t.Created, t.Modified = t.Created.UTC(), t.Modified.UTC()
	k := [2]time.Time{t.Created, t.Modified}
	if s[k] == nil {
		s[k] = &t
	}
	return s[k]
}
