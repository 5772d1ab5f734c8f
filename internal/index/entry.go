package index

import "strings"

// An entry says that the file at a path has a name, by which it is looked up. The first byte of the
// name is its kind. Entries are sorted by name, then path, so those of one name are a range. They
// have no pointers to notes: a note that changes keeps the entries that stay valid, and nothing is
// written for them.
type entry struct{ name, path string }

// A kind is the first byte of the name of an entry. Kinds are part of images, so their values must
// not change; see ImageFormat.
type kind byte

// The kinds of names, except those of name.go.
const (
	byCreated   kind = '0' // a time
	byModified  kind = '1' // a time
	byField     kind = 'f' // a field of the note or of an object in it
	byFold      kind = '2' // the folded path, if it differs from the path
	isUnindexed kind = 'c' // the note has more things than are indexed
	byDay       kind = 'd' // a day in a field or a trait
	byTag       kind = 'g' // a tag, folded, and each of its parent tags
	spelledTag  kind = 'h' // count only: a tag, folded, NUL, the tag as written
	byDeclared  kind = 'k' // the declared type of the note or of an object in it
	isBroken    kind = 'q' // quarantined
	isHidden    kind = 'i' // not a note, because of the setting exclude
	byRef       kind = 'r' // the bucket of a reference, NUL, its target as written
	byTrait     kind = 't' // the type of an annotation, also of one that is not in the schema
	isUntyped   kind = 'u' // the note has no declared type and is not a daily note
	byValue     kind = 'v' // the type of an annotation, NUL, its value; a reference as under byRef
	inFolder    kind = '3' // count only: notes in a folder and below it
	atFolder    kind = '4' // count only: notes directly in a folder
	underFolder kind = '5' // count only: folders directly in a folder that contain notes
	folderDepth kind = '9' // count only: folders at a level below the vault, in decimal
	headField   kind = '6' // count only: a field of the head
	headTag     kind = '7' // count only: a tag of the head
	headValue   kind = '8' // count only: type or status, NUL, a value of it in the head
	byType      kind = 'y' // of the note or an embedded object; of plain sections, only the count
)

// name returns the name of an entry of the kind.
func (k kind) name(s string) string { return string([]byte{byte(k)}) + s }

// isCounted reports whether the index counts, by name, how often the names of the kind occur in
// notes. Other counts are made by tally.
func (k kind) isCounted() bool {
	return k == byValue || k == byRef || k == byDay || k == isUntyped
}

// last returns a name that is greater than all of the kind, and not greater than those of the next
// kind.
func (k kind) last() string { return (k + 1).name("") }

// less orders entries by name, then path.
func (e entry) less(other entry) bool {
	if c := strings.Compare(e.name, other.name); c != 0 {
		return c < 0
	}
	return e.path < other.path
}
