package index

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unique"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Ref is a reference in a note: a wikilink, a Markdown link to a note or a file, or a text in a
// field that is a reference by the schema.
type Ref struct {
	*Mention
	Form    markdown.Form
	InField bool // it is in the frontmatter or in a declaration
	Bare    bool // written without brackets

	scope    int16
	field    fieldName
	line     int32
	position int32
}

// A fieldName is the name of a field. It takes 8 bytes, and a vault has few different ones. The zero
// fieldName is the empty name.
type fieldName struct{ unique.Handle[string] }

// fieldNameOf returns a name as a fieldName.
func fieldNameOf(name string) fieldName {
	if name == "" {
		return fieldName{}
	}
	return fieldName{unique.Make(name)}
}

// Field returns the name of the field that contains the reference, if it is known; "" in the text.
func (r *Ref) Field() string {
	if r.field == (fieldName{}) {
		return ""
	}
	return r.field.Value()
}

// Line returns the line of the reference, from 1.
func (r *Ref) Line() int { return int(r.line) }

// Position returns the offset of the reference in the text; for a Bare one, its index in the field.
func (r *Ref) Position() int { return int(r.position) }

// Scope returns the position of the section that contains the reference; -1 for the note.
func (r *Ref) Scope() int { return int(r.scope) }

// A Mention is the text of a reference. References with the same text can share it. It is
// comparable, and is its own key in the map of shared ones.
type Mention struct {
	Target  string // as written
	Display string // the text that is shown instead of the target; empty if there is none

	name string // of the entries by which it is found
}

// newMention returns a Mention with its name.
func newMention(target, display string) *Mention {
	return &Mention{target, display, byRef.name(key(bucketOf(target), clean(target)))}
}

// A Link is a reference, with the object that contains it and its resolution.
type Link struct {
	Source Object // the object that contains the reference
	Ref    *Ref
	To     Resolution
}

// IsFile reports whether the ending of the target shows that it is a file other than a note.
func (r *Ref) IsFile() bool {
	base, _, _ := strings.Cut(r.Target, "#")
	return markdown.IsFileName(base)
}

// Location returns the location of the reference in lists.
func (l Link) Location() Location {
	return Location{l.Source.Note.Path, l.Ref.Line(), l.Ref.Position()}
}

// earlierMentions are the Mentions of a note before a change, in order.
type earlierMentions struct {
	refs []Ref
	next int // index of the one after the last that was found
}

// mentionReach is how many earlier Mentions are compared for each reference.
const mentionReach = 8

// mention returns the Mention of a text: that of the note before, or a new one. A change keeps the
// order of most references, so it looks only at the next few.
func (e *earlierMentions) mention(target, display string) *Mention {
	for i := e.next; i < min(e.next+mentionReach, len(e.refs)); i++ {
		if m := e.refs[i].Mention; m.Target == target && m.Display == display {
			e.next = i + 1
			return m
		}
	}
	return newMention(target, display)
}

// readRefs sets the references of a text. number maps the position of a heading to that of its
// section. was is the note before a change, or nil.
func (n *Note) readRefs(refs []markdown.Reference, number func(int) int, was *Note) {
	if len(refs) == 0 {
		return
	}
	var earlier earlierMentions
	if was != nil {
		earlier.refs = was.Refs
	}
	n.Refs = make([]Ref, len(refs))
	for i, r := range refs {
		n.Refs[i] = Ref{
			Mention: earlier.mention(r.Target, r.Display), field: fieldNameOf(r.Field),
			line: small[int32](r.Line), position: small[int32](r.Span.Start), scope: small[int16](number(r.Scope)),
			InField: r.Place != markdown.InBody, Form: r.Form,
		}
	}
}

// bareRefs replaces the references without brackets by those that the current schema defines: the
// texts in fields whose type is a reference. It also shares the Mentions of all references of the
// note with those of other notes.
func (d *draft) bareRefs(n *Note) {
	refs := slices.DeleteFunc(slices.Clone(n.Refs), func(r Ref) bool { return r.Bare })
	for i := -1; i < len(n.Sections); i++ {
		o := n.Object(i)
		t, ok := d.schema.Type(o.Type())
		if !ok || o.Type() == vault.Section {
			continue
		}
		for _, f := range o.Fields() {
			if def, ok := t.Field(f.Name); ok && def.IsRef() {
				refs = appendBare(refs, f, i)
			}
		}
	}
	slices.SortStableFunc(refs, func(a, b Ref) int {
		return cmp.Or(a.Line()-b.Line(), a.Position()-b.Position())
	})
	for i := 1; i < len(refs); i++ { // distinct locations, so that a list can continue after each
		if a, b := refs[i-1], &refs[i]; a.Line() == b.Line() && a.Position() >= b.Position() {
			b.position = a.position + 1
		}
	}
	for i := range refs {
		refs[i].Mention = d.shared(refs[i].Mention)
	}
	if n.Refs = nil; len(refs) > 0 {
		n.Refs = slices.Clip(refs)
	}
}

// shared returns the shared Mention with the same text as m.
func (d *draft) shared(m *Mention) *Mention {
	if known := d.mentions[*m]; known != nil {
		return known
	}
	d.mentions[*m] = m
	return m
}

// appendBare appends the texts of a field as references. The field can be a list; a value that is
// not a text, or not a valid reference, is left out. Position is the number of the value in the
// list, because values have no offsets.
func appendBare(refs []Ref, f Field, scope int) []Ref {
	list, ok := f.Value.([]any)
	if !ok {
		list = []any{f.Value}
	}
	for i, v := range list {
		s, ok := v.(string)
		if target, valid := vault.ParseRef(s); ok && valid {
			refs = append(refs, Ref{
				Mention: newMention(string(target), ""), field: fieldNameOf(f.Name), line: small[int32](f.Line),
				position: small[int32](i), scope: small[int16](scope), InField: true, Bare: true,
			})
		}
	}
	return refs
}

// Refs returns the references in the own text and the fields of an object, in order.
func (o Object) Refs() []*Ref {
	var all []*Ref
	for i := range o.Note.Refs {
		if r := &o.Note.Refs[i]; r.Scope() == o.Number() {
			all = append(all, r)
		}
	}
	return all
}

// RefsOnLine returns the references on a line of the note, in order. They are a part of n.Refs.
func (n *Note) RefsOnLine(line int) []Ref {
	first := sort.Search(len(n.Refs), func(i int) bool { return n.Refs[i].Line() >= line })
	end := first
	for end < len(n.Refs) && n.Refs[end].Line() == line {
		end++
	}
	return n.Refs[first:end:end]
}

// A NoteLink is a Markdown link or image in a note that leads to a URL or to a file that is not a
// note. Its Scope is the position of the section that contains it, -1 for the note. Its Written is
// empty, because images do not contain it: only a rewrite of the text needs it, and that parses the
// text.
type NoteLink struct{ markdown.Link }

// Key returns the target in a form in which equal targets are equal (markdown.Link.Key). n is the
// note that contains the link.
func (l *NoteLink) Key(n *Note) string { return l.Link.Key(vault.Path(n.Path).Dir()) }

// readLinks sets the links of a note. section maps the position of a heading to that of its
// section.
func (n *Note) readLinks(links []markdown.Link, section func(int) int) {
	if len(links) == 0 {
		return
	}
	n.Links = make([]NoteLink, len(links))
	for i, l := range links {
		l.Scope, l.Written = section(l.Scope), markdown.Span{}
		n.Links[i] = NoteLink{l}
	}
}

// isThing reports whether a link is counted as a thing. A link to a file is not, because it is
// counted as a reference.
func isThing(l markdown.Link) bool { return l.Scheme != markdown.SchemeFile || l.Ext == "" }
