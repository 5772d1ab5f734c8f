package fault

import (
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// MaxNear is the maximum length, in bytes, of a name for which similar names are searched. Longer
// names are not typing errors.
const MaxNear = 64

// Nearest returns the option most similar to a name, or "" if none is similar enough. Among options
// with the same edit distance, the one with the closest length wins, because letters are swapped
// more often than omitted; among those, the first.
func Nearest(name string, options []string) string {
	measure := NewMeasure(name)
	best, least := "", 0
	if measure.never() {
		return ""
	}
	for _, option := range options {
		if d, near := measure.To(option); near && (best == "" || d < least) {
			best, least = option, d
		}
	}
	return best
}

// Suggest returns a copy of the fault that offers the option nearest to a name, as the detail
// `nearest`, which is a list, and as a fix. If no option is near, it returns f itself.
func (f *Fault) Suggest(name string, options []string) *Fault {
	if near := Nearest(name, options); near != "" {
		return f.With("nearest", []string{near}).Fix("did you mean %s?", near)
	}
	return f
}

// A Measure compares other names with one name, ignoring case. It is meant for many comparisons:
// names that differ greatly are rejected cheaply.
type Measure struct {
	name    string
	runes   int
	letters uint64
	most    int // maximum edit distance; -1: nothing is near
}

// NewMeasure returns the measure of a name. A name is near if its edit distance is at most a third
// of the letters, plus one, and at most three. Nothing is near a name longer than MaxNear.
func NewMeasure(name string) Measure {
	if len(name) > MaxNear {
		return Measure{most: -1}
	}
	m := Measure{name: strings.ToLower(name)}
	m.runes, m.letters = sketch(m.name)
	m.most = min(3, m.runes/3+1)
	return m
}

// To returns the distance of an option: ten times the edit distance, plus up to nine for the
// difference in length. near is false, and the distance meaningless, if the option is not near.
func (m Measure) To(option string) (distance int, near bool) {
	if m.never() || len(option) > utf8.UTFMax*(MaxNear+3) {
		return 0, false
	}
	n, letters := sketch(option)
	if n > m.runes+m.most || m.runes > n+m.most ||
		bits.OnesCount64(letters^m.letters) > 2*m.most {
		return 0, false
	}
	d := levenshtein.ComputeDistance(m.name, strings.ToLower(option))
	longer := len(option) - len(m.name)
	return 10*d + min(9, max(longer, -longer)), d <= m.most
}

// never reports whether no option is near.
func (m Measure) never() bool { return m.most < 0 }

// sketch returns the number of letters of a text and a bit set of its ASCII letters, ignoring case.
// Several letters share a bit. One edit changes at most two bits.
func sketch(text string) (runes int, letters uint64) {
	for i := range len(text) {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			runes++
			letters |= 1 << ((c | 0x20) & 63)
		case utf8.RuneStart(c):
			runes++
		}
	}
	return runes, letters
}
