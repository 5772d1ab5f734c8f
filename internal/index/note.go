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
	Refs         []Ref             // by line and position
	Links        []NoteLink        // that do not lead to notes, in reading order
	Tags         []Tag             // each once, at its first place
	Blocks       map[string]int    // lines, by the id of a block (`^id`)
	LineCount    int               // number of lines of the text
	BodyStart    int               // offset of the text after the frontmatter
	BodyLine     int               // line of BodyStart
	Created      time.Time         // when the note was first seen
	Modified     time.Time         // last change of the note or of anything in it
	Quarantine   *markdown.Problem // nil if the head parses, or for a template

	// Unindexed is the number of things in the note, or of values in its fields, if one of these is
	// more than MaxThings; else 0. Such a note has no sections, annotations, references, links and
	// tags in the index.
	Unindexed int

	// Excluded says that the note is excluded from orientation (vault.Exclusion): it is not counted
	// in FolderSum, in the sums of heads, and in Totals.Counted. It is in everything else.
	Excluded bool

	// Units is the number of passages into which search splits the note.
	Units int

	problem    *markdown.Problem // of the head; nil if it parses
	facets     *Facets           // nil if the head has no fields
	card       *Card             // nil for an empty card
	names      []string          // of the entries of its path, title and declarations
	fieldNames []string          // of the entries of its fields
	fieldDays  []vault.Date      // days in fields that are not traits
	pins       map[int]string    // text of `@id(…)`, by line
}

// A Field is one field of the frontmatter or of a declaration. The field `type` is not among them.
type Field struct {
	Name  string
	Value any // a type of markdown.Entry
	Line  int
}

// A Section is a heading of a note and the text below it. A declaration makes it an embedded
// object.
type Section struct {
	Slug         string // its fragment: the id that it declares, else that of the heading
	Title        string
	Level        int
	DeclaredType string  // as in the declaration; empty if there is none
	Type         string  // the type in the vault's schema; "section" without a declaration
	Fields       []Field // of the declaration
	Parent       int     // position of the section that contains it; -1 for the note
	Line         int
	LineEnd      int // 0 for the end of the note
	SubtreeEnd   int // likewise, with the sections below it
	*Times           // of its own text

	NodePart
	Top       bool  // its heading is not in a list or a quote, so it is a node
	TopParent int32 // position of the node that contains it; -1 for the note

	body             uint64 // hash of the own text of the node; 0 if it is empty
	pinned           bool   // its declaration has its slug as an id
	number           int    // its position in the note
	ownDigest        Digest // of its own text
	declarationLines [2]int // first and last line of the declaration
}

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
