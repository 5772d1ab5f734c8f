package index

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"
	"unicode"

	"rookery/internal/markdown"
	"rookery/internal/vault"
)

// A File is one file of a vault. It never changes.
type File struct {
	Path    string
	Size    int
	Digest  Digest
	Body    Body
	Version uint64 // the commit that changed it last
	Note    *Note  // nil: it is no note
}

// A Digest is the first half of the sha256 of a text: enough to tell whether a file is still the
// one that the log has.
type Digest [16]byte

// DigestOf is the digest of a text.
func DigestOf(text []byte) Digest {
	sum := sha256.Sum256(text)
	return Digest(sum[:16])
}

// A Note is what queries know of one note. It never changes.
type Note struct {
	*File
	ID           string
	DeclaredType string // as the frontmatter says it; empty if it does not
	Type         string // what that means in the vault's schema
	Title        string // of the title heading; empty if there is none
	TitleSlug    string // by which the note goes too: `people/freya#freya`
	Fields       []Field
	Sections     []Section // in text order; a title heading is none
	LineCount    int
	BodyStart    int // where the text after the frontmatter begins
	Created      time.Time
	Modified     time.Time
	Quarantine   *markdown.Problem // nil: it parsed
}

// A Field is one field of the frontmatter, but for `type`.
type Field struct {
	Name  string
	Value any // as markdown.Entry has it
	Line  int
}

// A Section is a heading of a note and what stands beneath it.
type Section struct {
	Slug       string
	Title      string
	Level      int
	Parent     int // index of the section that it stands under; -1: the note
	Line       int
	LineEnd    int // 0: the end of the note
	SubtreeEnd int // likewise
}

// Field finds a field by its name.
func (n *Note) Field(name string) (Field, bool) {
	for _, f := range n.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Section finds a section of the note by its slug.
func (n *Note) Section(slug string) (*Section, bool) {
	i := slices.IndexFunc(n.Sections, func(s Section) bool { return s.Slug == slug })
	if i < 0 {
		return nil, false
	}
	return &n.Sections[i], true
}

// Values are the fields as a map.
func (n *Note) Values() map[string]any {
	m := make(map[string]any, len(n.Fields))
	for _, f := range n.Fields {
		m[f.Name] = f.Value
	}
	return m
}

// newNote reads a note. Its type and times are the index's business.
func newNote(f *File, text []byte) *Note {
	doc := markdown.Parse(text)
	n := &Note{
		File: f, ID: strings.TrimSuffix(f.Path, ".md"), LineCount: doc.LineCount,
		BodyStart:  doc.Body,
		Quarantine: doc.Problem,
	}
	if doc.Problem == nil {
		n.readFields(doc.Frontmatter)
	}
	n.readSections(doc.Headings)
	return n
}

func (n *Note) readFields(fm *markdown.Frontmatter) {
	if fm == nil {
		return
	}
	for _, e := range fm.Entries {
		if e.Key != "type" {
			n.Fields = append(n.Fields, Field{e.Key, e.Value, e.Line})
			continue
		}
		n.DeclaredType = declared(e.Value)
	}
}

// declared is the type that a note says with this value. What is no text reads as a page
// (reference/raven.md §1.3), and so does what cannot be the name of a type.
func declared(v any) string {
	s, ok := v.(string)
	if v != nil && (!ok || strings.ContainsFunc(s, unicode.IsControl)) {
		return vault.Page
	}
	return s
}

// readSections takes the headings. A title heading is another name of the note, and no section.
func (n *Note) readSections(headings []markdown.Heading) {
	number := make([]int, len(headings)) // of the section that a heading became
	for i, h := range headings {
		number[i] = -1
		if h.Title {
			n.Title, n.TitleSlug = h.Text, h.Slug
			continue
		}
		s := Section{
			Slug: h.Slug, Title: h.Text, Level: h.Level, Parent: -1,
			Line: h.Line, LineEnd: h.LineEnd, SubtreeEnd: h.SubtreeLineEnd,
		}
		if h.Parent >= 0 {
			s.Parent = number[h.Parent]
		}
		number[i] = len(n.Sections)
		n.Sections = append(n.Sections, s)
	}
}
