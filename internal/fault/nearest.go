package fault

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest is the option that was probably meant by a name that is none of them, or "" if none is
// near: at most a third of the letters differ, and at most three. Case does not count. Of equally
// near ones that of the nearest length wins, for letters are swapped more often than forgotten; then
// the first.
func Nearest(name string, options []string) string {
	name = strings.ToLower(name)
	best, least := "", 10*(min(3, len([]rune(name))/3+1)+1)
	for _, option := range options {
		d := levenshtein.ComputeDistance(name, strings.ToLower(option))
		longer := len(option) - len(name)
		if d = 10*d + min(9, max(longer, -longer)); d < least {
			best, least = option, d
		}
	}
	return best
}
