package index

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"iter"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// A Row is the data of a note that lists read first. The rows of a vault are next to each other in
// memory, by path, so a list over all notes fetches only the notes that can be in the result. Notes
// that are in no list (IsListed) have no row.
type Row struct {
	NoteDay
	Marks Marks
	card  *Card // the card of the note, so that reading it does not fetch the note

	tags [rowTags]TagID // of the first tags of the card; 0: without a number
}

// A NoteDay is a note with its day (Card.Day), for comparisons in sorted lists.
type NoteDay struct {
	*Note
	day rowDay
}

// Card returns the card of the note, like Note.Card.
func (r *Row) Card() *Card { return r.card }

// Marks is a set of hashed values of a note, as in a Bloom filter. A note with a value has the mark
// of the value; a note that has the mark may have another value instead.
type Marks uint64

// Has reports whether all marks of the other set are in this one.
func (m Marks) Has(all Marks) bool { return m&all == all }

// A MarkKind is a kind of value that has a mark.
type MarkKind byte

// The kinds of values that have marks. The marks of the last three say only that the note has a
// value of the kind.
const (
	MarkedProject MarkKind = 'p' // a slug, as in Note.Project
	MarkedTag     MarkKind = 't' // a slug
	MarkedChain   MarkKind = 'c' // a slug
	MarkedEntity  MarkKind = 'e' // a slug
	MarkedEpisode MarkKind = 'i' // a slug
	MarkedKind    MarkKind = 'k'

	MarkedNetwork       MarkKind = 'n'
	MarkedWalletAddress MarkKind = 'w'
	MarkedPaymentStatus MarkKind = 'y'
)

// Of returns the mark of a value: one of the 64 bits, by a hash of the kind and the value. The
// empty value has no mark: it returns 0.
func (m MarkKind) Of(value string) Marks {
	if value == "" {
		return 0
	}
	if m == MarkedNetwork || m == MarkedWalletAddress || m == MarkedPaymentStatus {
		value = "any"
	}
	sum := crc32.Update(uint32(m), castagnoli, unsafe.Slice(unsafe.StringData(value), len(value)))
	return 1 << (sum >> 8 % 64)
}

// rowOf returns the row of a note. Its marks are those of all values that lists filter by.
func (t *tagNumbers) rowOf(n *Note) Row {
	c := n.Card()
	m := MarkedProject.Of(n.Project()) | MarkedChain.Of(c.Chain()) | MarkedEpisode.Of(c.Episode()) |
		MarkedKind.Of(c.Kind()) | MarkedNetwork.Of(c.Network()) | MarkedWalletAddress.Of(c.WalletAddress()) |
		MarkedPaymentStatus.Of(c.PaymentStatus())
	for _, tag := range c.Tags {
		m |= MarkedTag.Of(tag)
	}
	for _, entity := range c.Entities() {
		m |= MarkedEntity.Of(entity)
	}
	r := Row{NoteDay: NoteDay{n, rowDayOf(c.Day())}, Marks: m, card: c}
	for i, tag := range c.Tags {
		if r.day.moreTags = i == rowTags; r.day.moreTags {
			break
		}
		r.tags[i] = t.of(tag)
	}
	return r
}

// A rowDay is the first bytes of Card.Day: all of it, for a date or an ISO time. Comparing two of
// them reads no other memory, which decides how long a sort of all notes takes.
type rowDay struct {
	text   [dayBytes]byte
	length uint8 // of the whole text; dayBytes+1 if it is longer than dayBytes

	// moreTags is set in a Row whose card has more than rowTags tags. It is here because there is
	// room.
	moreTags bool
}

// dayBytes is the number of bytes of a day in a row: enough for an ISO time.
const dayBytes = len("2026-01-02T00:00:00.000Z")

// rowDayOf returns the beginning of a day.
func rowDayOf(text string) rowDay {
	var d rowDay
	copy(d.text[:], text)
	d.length = uint8(min(len(text), dayBytes+1))
	return d
}

// DayBegins returns the first ten characters of the day of the note (Card.Day), or all of a shorter
// one: the date, if it is one. It returns false if one of them is not ASCII; use Card.Day then. The
// result refers to the memory of the row. A filter by date uses it to avoid reading the note.
func (r *Row) DayBegins() (day []byte, ok bool) {
	const characters = 10
	day = r.day.text[:min(int(r.day.length), characters)]
	for _, c := range day {
		if c >= utf8.RuneSelf {
			return nil, false
		}
	}
	return day, true
}

// CompareDay compares the days of two notes (Card.Day) like strings.Compare.
func (d *NoteDay) CompareDay(other *NoteDay) int {
	for at := 0; at < dayBytes; at += 8 { // bytes.Compare takes several times as long
		a, b := binary.BigEndian.Uint64(d.day.text[at:]), binary.BigEndian.Uint64(other.day.text[at:])
		if a != b {
			return cmp.Compare(a, b)
		}
	}
	if int(max(d.day.length, other.day.length)) > dayBytes {
		return strings.Compare(d.Card().Day(), other.Card().Day())
	}
	return cmp.Compare(d.day.length, other.day.length)
}

// unlistedFolders lists the names of folders whose notes are in no list, at any depth and in any
// case.
var unlistedFolders = []string{"templates", "meta", "node_modules", ".git"}

// IsListed reports whether a note at this path is in lists of notes.
func IsListed(path string) bool {
	for {
		folder, below, ok := strings.Cut(path, "/")
		if !ok {
			return true
		}
		for _, name := range unlistedFolders {
			if len(name) == len(folder) && strings.EqualFold(name, folder) {
				return false
			}
		}
		path = below
	}
}

// Rows yields the rows of the notes in a folder and below it, by path, after that of the note at
// the path itself. For "" it yields all rows.
func (x *Index) Rows(folder string) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if folder == "" {
			x.rows.Scan(func(_ string, r Row) bool { return yield(r) })
			return
		}
		if r, ok := x.rows.Get(folder); ok && !yield(r) {
			return
		}
		x.rows.Ascend(folder+"/", func(path string, r Row) bool {
			return strings.HasPrefix(path, folder+"/") && yield(r)
		})
	}
}

// replaceRow replaces the row of the note old by that of now; either can be nil.
func (d *draft) replaceRow(old, now *Note) {
	switch {
	case now != nil && IsListed(now.Path):
		d.rows.Set(now.Path, d.tags.rowOf(now))
	case old != nil:
		d.rows.Delete(old.Path)
	}
}
