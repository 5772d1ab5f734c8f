package index

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/search"
)

// A Respelling is the new target of one reference in double brackets in the body of a note. Its
// display text and everything outside the target stay.
type Respelling struct {
	Ref    int           // position of the reference in Note.Refs
	At     markdown.Span // of the target in the text before, without the blanks around it
	Target string        // the new target, as it is written and parsed
}

// maxRespelled is the size of a text in bytes up to which NewRespelled derives a note. A longer one may
// exceed a bound of markdown.Parse, which counts bytes that a target can contain.
const maxRespelled = 128 << 10

// NewRespelled returns what NewParsed returns for a text which differs from that of the note was only
// in the targets of references. It does not parse the text: the parser gives no byte of a wikilink
// another meaning, so everything in the note stays, and only moves. before is the text of was; all are
// the new targets in text order, at least one.
//
// It returns nil for a note that must be parsed: a target has other characters than letters, digits,
// spaces and `/-_.#`; it is in a heading, on the line of a trait, or in the label of a link, whose
// texts contain it; the note has a heading in a list or a quote, or a head that does not parse; or
// was is not the note of the text before.
func NewRespelled(was *Note, before, text []byte, all []Respelling) *Parsed {
	if was.Unindexed() > 0 || was.problem != nil || max(len(before), len(text)) > maxRespelled ||
		DigestOf(before) != was.Digest {
		return nil
	}
	r := newRespelling(was, before, all)
	if !r.isPlain() || !r.areInText() {
		return nil
	}
	n := was.mutableCopy()
	n.Size, n.Digest = len(text), DigestOf(text)
	n.Refs, n.Links = slices.Clone(was.Refs), slices.Clone(was.Links)
	for _, e := range all {
		n.Refs[e.Ref].Mention = newMention(e.Target, n.Refs[e.Ref].Display)
	}
	n.unapply()
	for _, i := range r.sections() {
		r.moveText(n, i, text)
	}
	for i := range n.Refs {
		n.Refs[i].position = small[int32](r.moved(n.Refs[i].Position()))
	}
	for i := range n.Links {
		at := &n.Links[i].Span
		at.Start, at.End = r.moved(at.Start), r.moved(at.End)
	}
	for _, t := range n.EachAnnotation {
		t.position = small[int32](r.moved(t.Position()))
	}
	n.units = small[int32](n.countUnits(text))
	return &Parsed{n.File}
}

// unapply removes what a parsed note does not have from a mutableCopy with Refs of its own: its place in
// the log, ids, times, and what the schema adds. The values of traits and the types of sections stay as
// the schema defines them; applySchema defines them again.
func (n *Note) unapply() {
	n.Body, n.Version = Body{}, 0
	n.UID, n.Type, n.Created, n.Modified = UID{}, "", time.Time{}, time.Time{}
	n.quarantined, n.Excluded = false, false
	n.typeMarks, n.fieldNames, n.fieldDays = nil, nil, dayList{}
	for i := range n.Sections {
		n.Sections[i].UID, n.Sections[i].Times = UID{}, nil
	}
	n.Refs = slices.DeleteFunc(n.Refs, func(r Ref) bool { return r.Bare })
	n.Annotations = slices.DeleteFunc(n.Annotations, func(t Trait) bool { return t.Field })
	for _, t := range n.EachAnnotation {
		t.ID, t.Times, t.claims = "", nil, false
	}
}

// A respelling is one call of NewRespelled.
type respelling struct {
	was      *Note
	before   []byte
	all      []Respelling
	headings []search.Section // of the sections, with their offsets in before
	grown    []int            // by how much the text has grown after each new target
}

// newRespelling returns the input of a call, with what is computed once.
func newRespelling(was *Note, before []byte, all []Respelling) *respelling {
	r := &respelling{was, before, all, was.SearchSections(before), make([]int, len(all))}
	sum := 0
	for i, e := range all {
		sum += len(e.Target) - (e.At.End - e.At.Start)
		r.grown[i] = sum
	}
	return r
}

// isPlain reports whether all targets, old and new, have only characters that no parser of a block
// gives a meaning in a wikilink, and the wikilinks are short enough with the new ones.
func (r *respelling) isPlain() bool {
	for _, e := range r.all {
		old := r.was.Refs[e.Ref].Target
		if string(r.before[e.At.Start:e.At.End]) != old || !isPlainTarget(old) || !isPlainTarget(e.Target) {
			return false
		}
		begin, end := r.was.Refs[e.Ref].Position(), bytes.Index(r.before[e.At.End:], []byte("]]"))
		if end < 0 || e.At.Start-begin+len(e.Target)+end+len("]]") > markdown.MaxWikilink {
			return false
		}
	}
	return true
}

// isPlainTarget reports whether a target consists of letters, digits, spaces and `/-_.#`, without
// spaces at its ends.
func isPlainTarget(s string) bool {
	return s != "" && strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("/-_.# ", c)
	})
}

// areInText reports whether no target is part of a text that the index contains: of a heading, of the
// line of a trait, or of the label of a link. It returns false if a section is in a list or a quote,
// where the lines of a heading are not known.
func (r *respelling) areInText() bool {
	lines := map[int]bool{}
	for _, t := range r.was.EachAnnotation {
		lines[t.Line()] = true
	}
	for i := range r.was.Sections {
		if !r.was.Sections[i].Top {
			return false
		}
	}
	labels := r.was.labels()
	for _, e := range r.all {
		ref := &r.was.Refs[e.Ref]
		if ref.InField || ref.Bare || lines[ref.Line()] || ref.Scope() != r.sectionAt(e.At.Start) ||
			r.isInHeading(e.At.Start) || strings.Contains(labels, ref.Target) {
			return false
		}
	}
	return true
}

// labels returns the labels of the Markdown links of the note in one text, so that each target is looked
// for in all of them at once.
func (n *Note) labels() string {
	var all []string
	for i := range n.Links {
		all = append(all, n.Links[i].Display)
	}
	for i := range n.Refs {
		if n.Refs[i].Form != markdown.Wikilink {
			all = append(all, n.Refs[i].Display)
		}
	}
	return strings.Join(all, "\n")
}

// sectionAt returns the position of the section that contains an offset; -1 for the note.
func (r *respelling) sectionAt(at int) int {
	i, found := slices.BinarySearchFunc(r.headings, at, func(s search.Section, at int) int { return s.Start - at })
	if found {
		return i
	}
	return i - 1
}

// isInHeading reports whether an offset may be in the heading of its section, or in the title.
func (r *respelling) isInHeading(at int) bool {
	start := r.was.BodyStart()
	if i := r.sectionAt(at); i >= 0 {
		start = r.headings[i].Start
	} else if r.was.Title == "" {
		return false
	}
	rest := bytes.TrimLeft(r.before[start:], " \t\r\n")
	start = len(r.before) - len(rest)
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if text := bytes.TrimLeft(line, "#"); len(text) == len(line) || len(bytes.TrimLeft(text, " \t\r")) == len(text) {
		return true // the heading is underlined, or definitions of links come before the title
	}
	return at < start+len(line)
}

// sections returns the positions of the sections that contain targets, without duplicates.
func (r *respelling) sections() []int {
	all := make([]int, len(r.all))
	for i, e := range r.all {
		all[i] = r.sectionAt(e.At.Start)
	}
	return slices.Compact(all)
}

// moved returns where an offset in the text before is in the new text.
func (r *respelling) moved(at int) int {
	i, _ := slices.BinarySearchFunc(r.all, at, func(e Respelling, at int) int { return e.At.Start - at })
	if i == 0 {
		return at
	}
	return at + r.grown[i-1]
}

// moveText sets what depends on the own text of the i-th section; -1 for the note.
func (r *respelling) moveText(n *Note, i int, text []byte) {
	to := len(r.before)
	if i+1 < len(r.headings) {
		to = r.headings[i+1].Start
	}
	if i < 0 {
		n.BodyBytes += int32(r.moved(to) - to) //nolint:gosec // a text is not longer than maxRespelled
		return
	}
	s := &n.Sections[i]
	from := r.headings[i].Start
	end := from + len(bytes.TrimRight(r.before[from:to], " \t\r\n"))
	start := r.moved(end - int(s.BodyBytes))
	end = r.moved(end)
	s.ownDigest = DigestOf(text[r.moved(from):r.moved(to)])
	s.body, s.BodyBytes = bodySum(text[start:end]), int32(end-start) //nolint:gosec // as above
}
