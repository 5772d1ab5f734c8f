package markdown

// Notes of more than mediumNote and of more than largeNote bytes are limited separately.
const (
	largeNote  = 128 << 10
	mediumNote = 16 << 10
)

// These channels limit how many notes of each size are parsed at once. In the worst case, parsing
// takes about three hundred times the length of a note in memory, so without a limit a few dozen
// calls would use all of it. Parsing is bound by the processors, so the limit does not slow it
// down.
var (
	largeNotes  = make(chan struct{}, 2)
	mediumNotes = make(chan struct{}, 16)
)

// acquire waits until a note of the length, in bytes, may be parsed. The caller must call leave
// afterwards. A short note never waits. A caller must not parse another note before it calls leave,
// because both could wait for the same place.
func acquire(length int) (leave func()) {
	var at chan struct{}
	switch {
	case length > largeNote:
		at = largeNotes
	case length > mediumNote:
		at = mediumNotes
	default:
		return func() {}
	}
	at <- struct{}{}
	return func() { <-at }
}
