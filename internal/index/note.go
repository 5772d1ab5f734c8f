package index

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A File is one file of a vault at one version. It is immutable.
type File struct {
	Path    string  // relative to the vault, with slashes; the key in the index
	Size    int     // length of the text in bytes
	Digest  Digest  // of the text
	Body    Body    // where the text is stored
	Version uint64  // the version that last changed it
	Note    *Note   // nil if the file is not a note
	Folder  *Folder // nil if it is not the file of a folder

	// Hidden is the note in a file that the setting exclude in raven.yaml makes a mere file. It has
	// no entries, is in no sum, and does not reserve its ids. It is stored so that a change of the
	// patterns does not need the texts.
	Hidden *Note
}

// parsed returns the note in a file, hidden or not; nil if there is none or f is nil.
func (f *File) parsed() *Note {
	switch {
	case f == nil:
		return nil
	case f.Hidden != nil:
		return f.Hidden
	}
	return f.Note
}

// A Digest is the first half of the SHA-256 of a text. It is enough to recognize whether a file
// still has the text that the log has. Its text form is 32 hexadecimal digits in lower case.
type Digest [16]byte

// DigestOf returns the digest of a text.
func DigestOf(text []byte) Digest {
	sum := sha256.Sum256(text)
	return Digest(sum[:16])
}

// MarshalText returns a digest as hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText parses the result of MarshalText. It returns an error from package hex for other
// text.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return hex.ErrLength
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// A Note is the data of one note that queries need. It is immutable.
type Note struct {
	*File
	Sections    []Section // in text order, without a title heading
	Annotations []Trait   // in reading order, including those that the schema does not define
	typeMarks   []byte    // of the note, its sections and its annotations; see typeMark

	NodePart
	ID           string // path without .md; with any other ending
	DeclaredType string // as in the frontmatter; empty if it has none
	Type         string // the type in the vault's schema
	Title        string // of the title heading; empty if there is none
	TitleSlug    string // a fragment that also names the note: `people/freya#freya`
	Fields       []Field
	Refs         []Ref          // by line and position
	Links        []NoteLink     // that do not lead to notes, in reading order
	Tags         []Tag          // each once, at its first place
	Blocks       map[string]int // lines, by the id of a block (`^id`)
	Created      time.Time      // when the note was first seen
	Modified     time.Time      // last change of the note or of anything in it

	// Excluded says that the note is excluded from orientation (vault.Exclusion): it is not counted
	// in FolderSum, in the sums of heads, and in Totals.Counted. It is in everything else.
	Excluded bool

	quarantined bool // the problem is that of Quarantine
	lineCount   int32
	bodyStart   int32
	bodyLine    int32
	unindexed   int32
	units       int32
	problem     *markdown.Problem // of the head; nil if it parses
	facets      *Facets           // nil if the head has no fields
	card        *Card             // nil for an empty card
	names       []string          // of the entries of its path, title and declarations
	fieldNames  []string          // of the entries of its fields
	fieldDays   dayList           // days in fields that are not traits
	rare        *rareTexts        // nil if there are none
}

// Quarantine returns the problem of the head of the note; nil if the head parses, or for a template.
func (n *Note) Quarantine() *markdown.Problem {
	if !n.quarantined {
		return nil
	}
	return n.problem
}

// LineCount returns the number of lines of the text.
func (n *Note) LineCount() int { return int(n.lineCount) }

// BodyStart returns the offset of the text after the frontmatter.
func (n *Note) BodyStart() int { return int(n.bodyStart) }

// BodyLine returns the line of BodyStart.
func (n *Note) BodyLine() int { return int(n.bodyLine) }

// Unindexed returns the number of things in the note, or of values in its fields, if one of these is
// more than MaxThings; else 0. Such a note has no sections, annotations, references, links and tags
// in the index.
func (n *Note) Unindexed() int { return int(n.unindexed) }

// Units returns the number of passages into which search splits the note.
func (n *Note) Units() int { return int(n.units) }

// A Field is one field of the frontmatter or of a declaration. The field `type` is not among them.
type Field struct {
	Name  string
	Value any // a type of markdown.Entry
	Line  int
}

// A Section is a heading of a note and the text below it. A declaration makes it an embedded
// object.
type Section struct {
	Slug   string // its fragment: the id that it declares, else that of the heading
	Title  string
	*Times // of its own text

	NodePart
	TopParent int16 // position of the node that contains it; -1 for the note
	Top       bool  // its heading is not in a list or a quote, so it is a node

	pinned      bool // its declaration has its slug as an id
	line        int32
	declaration *declaration // nil without one; it is immutable
	body        uint64       // hash of the own text of the node; 0 if it is empty
	ownDigest   Digest       // of its own text
	lineEnd     int32
	subtreeEnd  int32
	number      int16 // its position in the note
	parent      int16
	level       int8
}

// A declaration makes a section an object.
type declaration struct {
	declared    string // the type as written
	typ         string // the type in the vault's schema
	fields      []Field
	first, last int32 // its lines
}

// Level returns the level of the heading, from 1 to 6.
func (s *Section) Level() int { return int(s.level) }

// DeclaredType returns the type as in the declaration; "" if there is none.
func (s *Section) DeclaredType() string {
	if s.declaration == nil {
		return ""
	}
	return s.declaration.declared
}

// Type returns the type in the vault's schema; "section" without a declaration.
func (s *Section) Type() string {
	if s.declaration == nil {
		return vault.Section
	}
	return s.declaration.typ
}

// Fields returns the fields of the declaration.
func (s *Section) Fields() []Field {
	if s.declaration == nil {
		return nil
	}
	return s.declaration.fields
}

// declarationLines returns the first and the last line of the declaration; 0 if there is none.
func (s *Section) declarationLines() (first, last int) {
	if s.declaration == nil {
		return 0, 0
	}
	return int(s.declaration.first), int(s.declaration.last)
}

// setType sets the type in the vault's schema of a section with a declaration. The declaration is
// replaced, because earlier states of the note share it.
func (s *Section) setType(typ string) {
	if s.declaration.typ != typ {
		d := *s.declaration
		d.typ, s.declaration = typ, &d
	}
}

// Parent returns the position of the section that contains this one; -1 for the note.
func (s *Section) Parent() int { return int(s.parent) }

// Line returns the line of the heading, from 1.
func (s *Section) Line() int { return int(s.line) }

// LineEnd returns the last line of the own text of the section; 0 for the end of the note.
func (s *Section) LineEnd() int { return int(s.lineEnd) }

// SubtreeEnd returns the last line of the section with the sections below it; 0 for the end of the
// note.
func (s *Section) SubtreeEnd() int { return int(s.subtreeEnd) }

// Field returns the first field with a name.
func (n *Note) Field(name string) (Field, bool) { return find(n.Fields, name) }

// find returns the first field with a name.
func find(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Section returns the section of the note with a slug. If several declare the same id, it returns
// the first.
func (n *Note) Section(slug string) (*Section, bool) {
	i := slices.IndexFunc(n.Sections, func(s Section) bool { return s.Slug == slug })
	if i < 0 {
		return nil, false
	}
	return &n.Sections[i], true
}

// Values returns the fields as a map. Of several fields with the same name, the last counts.
func (n *Note) Values() map[string]any { return values(n.Fields) }

// values returns fields as a map. Of several fields with the same name, the last counts. The map is
// new, so the caller may change it; the values in it are shared.
func values(fields []Field) map[string]any {
	m := make(map[string]any, len(fields))
	for _, f := range fields {
		m[f.Name] = f.Value
	}
	return m
}
