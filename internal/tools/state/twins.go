package state

import "github.com/rookeryhq/rookery/internal/index"

// Twins tell notes with the very same text, of those of one list.
type Twins struct {
	x    *index.Index
	seen map[index.Digest]int
}

// NewTwins are for the notes of an index.
func NewTwins(x *index.Index) *Twins { return &Twins{x, map[index.Digest]int{}} }

// Of returns the number of an earlier note of the list that has the text of a note, and whether there is one. A note
// without one is the next of the list.
func (t *Twins) Of(path string) (number int, isTwin bool) {
	f, ok := t.x.File(path)
	if !ok {
		return 0, false
	}
	number, isTwin = t.seen[f.Digest]
	if !isTwin {
		t.seen[f.Digest] = len(t.seen)
	}
	return number, isTwin
}
