package memory

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A pattern is a path with `*`, `**`, `?` or `[ ]`.
type pattern struct{ text, front string } // front is the part before the first wildcard

// newPattern returns the pattern for a text; false if the text has no wildcard or is not a valid
// pattern.
func newPattern(text string) (pattern, bool) {
	i := strings.IndexAny(text, "*?[")
	if i < 0 || !doublestar.ValidatePattern(text) {
		return pattern{}, false
	}
	return pattern{text, text[:i]}, true
}

// matches reports whether the pattern matches a path.
//
// `*` and `?` do not match a slash; `**` matches any number of folders.
func (p pattern) matches(path string) bool { return doublestar.MatchUnvalidated(p.text, path) }
