package state

import "github.com/rookeryhq/rookery/internal/index"

// Twins finds notes of one list that have exactly the same text.
type Twins struct {
	x *index.Index
	// seen contains the number of each different text.
	seen map[index.Digest]int
}

// NewTwins returns a Twins for notes of an index.
func NewTwins(x *index.Index) *Twins { return &Twins{x, map[index.Digest]int{}} }

// Of reports whether an earlier note of the list has the same text as the note at path, and returns
// the number of that note. It numbers the different texts from 0, in the order in which Of first
// sees them. It returns false for a path without a file.
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
