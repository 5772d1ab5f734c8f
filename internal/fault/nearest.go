package fault

import (
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// MaxNear is how many bytes a name has at most for which a near one is looked for. What is longer was not
// mistyped.
const MaxNear = 64

// Nearest returns the option that was probably meant by a name that is none of them, or "" if none is
// near. Of equally near ones that of the nearest length wins, for letters are swapped more often than
// forgotten; then the first.
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

// Suggest returns a copy of the fault that offers the option nearest to a name, if one is near: as
// the detail `nearest`, which is a list, and as advice.
func (f *Fault) Suggest(name string, options []string) *Fault {
	if near := Nearest(name, options); near != "" {
		return f.With("nearest", []string{near}).Fix("did you mean %s?", near)
	}
	return f
}

// A Measure says how near other names are to a name, whatever their case. One is made for many
// comparisons: most names that are not near cost little.
type Measure struct {
	name    string
	runes   int
	letters uint64
	most    int // of the letters that may differ
}

// NewMeasure returns the measure of a name. At most a third of its letters may differ, and at most
// three. To a name that is longer than MaxNear nothing is near.
func NewMeasure(name string) Measure {
	if len(name) > MaxNear {
		return Measure{most: -1}
	}
	m := Measure{name: strings.ToLower(name)}
	m.runes, m.letters = sketch(m.name)
	m.most = min(3, m.runes/3+1)
	return m
}

// To returns a number that is less the nearer an option is: ten for each letter that differs, and up
// to nine for the length. near is false for an option that is not near.
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

// sketch returns how many letters a text has, and a set with a bit for each ASCII one, where several
// share a bit and case does not count. One edit changes at most two bits.
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
