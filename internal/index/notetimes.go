package index

import "time"

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
	for _, t := range n.Annotations {
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
		for _, t := range before.Annotations {
			had[t.ID] = true
		}
		for i, t := range now.Annotations {
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
