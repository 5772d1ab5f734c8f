package index

import "strings"

// An entry says by what a file is found: a name, of which the first byte says what it names. Entries
// are sorted by name, then path, so that what goes by a name is a range of them. They hold no notes:
// a note that changes keeps the entries that still hold, and nothing is written for those.
type entry struct{ name, path string }

// A kind is the first byte of the name of an entry.
type kind byte

// The kinds of names, beside the ways in which an object goes by a name.
const (
	byCreated   kind = '0' // a time
	byModified  kind = '1' // a time
	byField     kind = 'f' // a field of the note, or of an object in it
	byFold      kind = '2' // what the path collides under, where that is another
	isUnindexed kind = 'c' // has more things than are indexed
	byDay       kind = 'd' // a day that a field or a trait names
	byTag       kind = 'g' // a tag, folded, and each tag that it is below
	spelledTag  kind = 'h' // only summed up: a tag, folded, NUL, as it is written
	byDeclared  kind = 'k' // the type that the note or an object in it says
	isBroken    kind = 'q' // quarantined
	isHidden    kind = 'i' // no note, because of exclude
	byRef       kind = 'r' // the bucket of a reference, NUL, what it refers to as it is written
	byTrait     kind = 't' // the type of an annotation; one that the schema does not know too
	isUntyped   kind = 'u' // says no type, and is no daily note
	byValue     kind = 'v' // the type of an annotation, NUL, its value; a reference as under byRef
	inFolder    kind = '3' // only summed up: notes in a folder and below
	atFolder    kind = '4' // only summed up: notes in a folder itself
	underFolder kind = '5' // only summed up: folders in a folder that have notes
	folderDepth kind = '9' // only summed up: folders so many levels below the vault, in decimal
	headField   kind = '6' // only summed up: a field of the head
	headTag     kind = '7' // only summed up: a tag of the head
	headValue   kind = '8' // only summed up: type or status, NUL, a value of it in the head
	byType      kind = 'y' // of the note or an embedded object; plain sections are not here
)

// name is the name of an entry.
func (k kind) name(s string) string { return string([]byte{byte(k)}) + s }

// summed reports whether the index keeps how often anything goes by a name of the kind.
func (k kind) summed() bool {
	return k == byValue || k == byRef || k == byDay || k == isUntyped
}

// last is the name behind all of a kind.
func (k kind) last() string { return (k + 1).name("") }

func (e entry) less(other entry) bool {
	if c := strings.Compare(e.name, other.name); c != 0 {
		return c < 0
	}
	return e.path < other.path
}
