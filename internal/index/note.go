package index

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/markdown"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A File is one file of a vault. It never changes.
type File struct {
	Path    string
	Size    int
	Digest  Digest
	Body    Body
	Version uint64  // the commit that changed it last
	Note    *Note   // nil: it is no note
	Folder  *Folder // nil: it is not the file of a folder

	// Hidden is what the note would be that exclude in raven.yaml makes a mere file: it has no entries, no ids that
	// others could not have, and is in no sum. So a change of the patterns reads no text.
	Hidden *Note
}

// parsed is the note that a file is, or would be if the settings did not hide it; nil if it is none.
func (f *File) parsed() *Note {
	switch {
	case f == nil:
		return nil
	case f.Hidden != nil:
		return f.Hidden
	}
	return f.Note
}

// A Digest is the first half of the sha256 of a text: enough to tell whether a file is still the
// one that the log has.
type Digest [16]byte

// DigestOf is the digest of a text.
func DigestOf(text []byte) Digest {
	sum := sha256.Sum256(text)
	return Digest(sum[:16])
}

// MarshalText writes a digest as hexadecimal digits.
func (d Digest) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return hex.ErrLength
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// A Note is what queries know of one note. It never changes.
type Note struct {
	*File
	Sections    []Section     // in text order; a title heading is none
	Annotations []*Trait      // in reading order, those too that the schema does not know
	said        []*TraitValue // what the annotations say, in their order: walks look at no others
	typeMarks   []byte        // of the note, its sections, its annotations

	NodePart
	ID           string
	DeclaredType string // as the frontmatter says it; empty if it does not
	Type         string // what that means in the vault's schema
	Title        string // of the title heading; empty if there is none
	TitleSlug    string // by which the note goes too: `people/freya#freya`
	Fields       []Field
	Refs         []Ref          // by line and position
	Links        []NoteLink     // to what is no note, in reading order
	Tags         []Tag          // each once, where it first stands
	Blocks       map[string]int // by the id of a block (`^id`), its line
	LineCount    int
	BodyStart    int // where the text after the frontmatter begins
	BodyLine     int // the line of it
	Created      time.Time
	Modified     time.Time
	Quarantine   *markdown.Problem // nil: it parsed, or is a template, which may have any head

	// Unindexed is how many things are in the note, where they are more than MaxThings: it has no
	// sections, annotations, references and tags then. 0: they are indexed.
	Unindexed int

	// Excluded says that orientation leaves the note out (vault.Exclusion): FolderSum, the sums of heads
	// and Totals.Counted do not have it. Everything else does.
	Excluded bool

	// Units is how many units search cuts the note into.
	Units int

	problem    *markdown.Problem // of its head; nil: it parsed
	facets     *Facets           // nil: the head says nothing that is counted
	card       *Card             // nil: an empty one
	names      []string          // of the entries by which it is found by its path, title and declarations
	fieldNames []string          // of those by which it is found by its fields
	fieldDays  []vault.Date      // that its fields name, if they are no traits
	pins       map[int]string    // by line, what `@id(…)` says
}

// A Field is one field of the frontmatter or of a declaration, but for `type`.
type Field struct {
	Name  string
	Value any // as markdown.Entry has it
	Line  int
}

// A Section is a heading of a note and what stands beneath it. A declaration makes an object of it.
type Section struct {
	Slug         string // by which it goes: the id that it declares, else that of the heading
	Title        string
	Level        int
	DeclaredType string  // as the declaration says it; empty if there is none
	Type         string  // what that means in the vault's schema; section if there is none
	Fields       []Field // of the declaration
	Parent       int     // position of the section that it stands under; -1: the note
	Line         int
	LineEnd      int // 0: the end of the note
	SubtreeEnd   int // likewise
	*Times           // of its own text

	NodePart
	Top       bool  // its heading is in no list and no quote: it is a node
	TopParent int32 // position of the node that it is below; -1: the note

	body    uint64 // a hash of the own text of the node; 0: it is empty
	pinned  bool   // its declaration says its slug
	number  int    // its position in the note
	own     Digest // of its own text
	declare [2]int // the first and the last line of the declaration
}

// Field finds a field by its name.
func (n *Note) Field(name string) (Field, bool) { return find(n.Fields, name) }

// find finds a field by its name.
func find(fields []Field, name string) (Field, bool) {
	for _, f := range fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Section finds a section of the note by its slug; where several declare the same id, the first.
func (n *Note) Section(slug string) (*Section, bool) {
	i := slices.IndexFunc(n.Sections, func(s Section) bool { return s.Slug == slug })
	if i < 0 {
		return nil, false
	}
	return &n.Sections[i], true
}

// Values are the fields as a map.
func (n *Note) Values() map[string]any { return values(n.Fields) }

func values(fields []Field) map[string]any {
	m := make(map[string]any, len(fields))
	for _, f := range fields {
		m[f.Name] = f.Value
	}
	return m
}
