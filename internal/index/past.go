package index

import "time"

// A Past is when a note, and what is in it, was first seen and last changed, as it was at some
// version: what a commit that brings the note back with the same text must keep, for nothing else
// tells.
type Past struct {
	Note     Times   `json:"note"`
	Sections []Times `json:"sections,omitempty"` // by position
	Traits   []Times `json:"traits,omitempty"`   // by position of the annotation
}

// Past is what a commit must keep of a note for it to come back as it is.
func (n *Note) Past() *Past {
	p := &Past{Note: Times{n.Created, n.Modified}}
	for i := range n.Sections {
		p.Sections = append(p.Sections, *n.Sections[i].Times)
	}
	for _, t := range n.Annotations {
		p.Traits = append(p.Traits, *t.Times)
	}
	return p
}

// Returned are the times of a note that gets an earlier text back: p are those that it and its parts had
// with this text, before and now the note without and with it. What the note has all along keeps its
// times, and what returns has those of p. Where the parts of now are not those of p, they are as in now.
func (p *Past) Returned(before, now *Note) *Past {
	all := now.Past()
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

// restore gives a note, which is not entered yet, the times that it had. Where the schema makes
// other traits of its fields now than it did then, its traits keep the times that they were given.
func (p *Past) restore(n *Note) {
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

// A sharer gives the same value for the same times: most of what is in a note came at once.
type sharer map[[2]time.Time]*Times

func (s sharer) times(t Times) *Times {
	t.Created, t.Modified = t.Created.UTC(), t.Modified.UTC()
	k := [2]time.Time{t.Created, t.Modified}
	if s[k] == nil {
		s[k] = &t
	}
	return s[k]
}
