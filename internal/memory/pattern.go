package memory

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A pattern is a path with `*`, `**`, `?` or `[ ]` in it.
type pattern struct{ text, front string } // front is what is before the first sign

// newPattern is the pattern of a text, and whether it is one.
func newPattern(text string) (pattern, bool) {
	i := strings.IndexAny(text, "*?[")
	if i < 0 || !doublestar.ValidatePattern(text) {
		return pattern{}, false
	}
	return pattern{text, text[:i]}, true
}

// fits reports whether a path fits the pattern.
func (p pattern) fits(path string) bool { return doublestar.MatchUnvalidated(p.text, path) }
