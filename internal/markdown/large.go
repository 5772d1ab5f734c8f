package markdown

// A large note is longer than largeNote bytes, and a middling one than middlingNote.
const (
	largeNote    = 128 << 10
	middlingNote = 16 << 10
)

// The notes of each size that are parsed at once. While it is parsed, a note of the worst kind takes about three
// hundred times its length of memory, so that without these limits a few dozen calls would take all there is.
// Parsing waits for nothing but a processor, so more at once would not be parsed sooner.
var (
	largeNotes    = make(chan struct{}, 2)
	middlingNotes = make(chan struct{}, 16)
)

// enter waits until a note of a length may be parsed. The caller calls leave behind it.
func enter(length int) (leave func()) {
	var at chan struct{}
	switch {
	case length > largeNote:
		at = largeNotes
	case length > middlingNote:
		at = middlingNotes
	default:
		return func() {}
	}
	at <- struct{}{}
	return func() { <-at }
}
