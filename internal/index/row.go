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

// A Row is what lists look at first of a note. The rows of a vault are beside each other in memory, by path, so that
// a list that goes over all notes fetches only those of them that may be in it. Notes that are in no list (IsListed)
// have no row.
type Row struct {
	DayOf
	Marks Marks
	card  *Card // that of the note: a look at it need not fetch the note first
}

// A DayOf is a note with the day of it (Card.Day): what orders of lists compare.
type DayOf struct {
	*Note
	day rowDay
}

// Card is what lists show of the note, as Note.Card.
func (r *Row) Card() *Card { return r.card }

// Marks are a set of things that a note says, made smaller: a note that says something has its mark, and may have
// the mark of something else.
type Marks uint64

// Has reports whether all of some marks are among the marks.
func (m Marks) Has(all Marks) bool { return m&all == all }

// A Marked is a kind of thing that has a mark.
type Marked byte

// The kinds of things that have marks. Of the last three the mark says only that the note has the field.
const (
	MarkedProject Marked = 'p' // a slug, as Note.Project
	MarkedTag     Marked = 't' // a slug
	MarkedChain   Marked = 'c' // a slug
	MarkedEntity  Marked = 'e' // a slug
	MarkedEpisode Marked = 'i' // a slug
	MarkedKind    Marked = 'k'

	MarkedNetwork       Marked = 'n'
	MarkedWalletAddress Marked = 'w'
	MarkedPaymentStatus Marked = 'y'
)

// Of is the mark of a value; of the empty one, which is none, there is no mark.
func (m Marked) Of(value string) Marks {
	if value == "" {
		return 0
	}
	if m == MarkedNetwork || m == MarkedWalletAddress || m == MarkedPaymentStatus {
		value = "any"
	}
	sum := crc32.Update(uint32(m), castagnoli, unsafe.Slice(unsafe.StringData(value), len(value)))
	return 1 << (sum >> 8 % 64)
}

// rowOf is the row of a note.
func rowOf(n *Note) Row {
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
	return Row{DayOf{n, rowDayOf(c.Day())}, m, c}
}

// rowDay is the beginning of Card.Day: all of it, if it is a date.
type rowDay struct {
	text   [dayBytes]byte
	length uint8 // of the text; dayBytes+1 if it is longer
}

// dayBytes is how many bytes of a day a row has: those of a time as ISO has it.
const dayBytes = len("2026-01-02T00:00:00.000Z")

func rowDayOf(text string) rowDay {
	var d rowDay
	copy(d.text[:], text)
	d.length = uint8(min(len(text), dayBytes+1))
	return d
}

// DayBegins returns the first ten characters of the day of the note (Card.Day), or all of a shorter one. It is not
// ok if one of them is not ASCII: then Card.Day tells.
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

// CompareDay compares the days of two notes (Card.Day), as strings.Compare does.
func (d *DayOf) CompareDay(other *DayOf) int {
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

// unlisted are the names of folders whose notes are in no list, at any depth and in any case.
var unlisted = []string{"templates", "meta", "node_modules", ".git"}

// IsListed reports whether a note at a path is in lists of notes.
func IsListed(path string) bool {
	for {
		folder, below, ok := strings.Cut(path, "/")
		if !ok {
			return true
		}
		for _, name := range unlisted {
			if len(name) == len(folder) && strings.EqualFold(name, folder) {
				return false
			}
		}
		path = below
	}
}

// Rows yields the rows of the notes in a folder and below it, and of the note at the path itself, by path; for ""
// those of all notes.
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

// enterRow puts the row of a note in the place of that of another at its path; nil is none.
func (d *draft) enterRow(old, now *Note) {
	switch {
	case now != nil && IsListed(now.Path):
		d.rows.Set(now.Path, rowOf(now))
	case old != nil:
		d.rows.Delete(old.Path)
	}
}
