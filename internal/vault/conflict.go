package vault

import (
	"fmt"
	"regexp"
	"strings"
)

// ConflictCopy returns the path of the note that preserves a version of p which could not be
// merged: `people/freya.conflict-v42.md` (reference/log.md §5). n, from 1, numbers the copies of
// one version. The name is shortened if it would exceed MaxPath or MaxSegment, between characters,
// so that the path stays valid. The name is that of a note, so the copy is found, searched and
// edited like any other.
func ConflictCopy(p Path, version string, n int) Path {
	stem, mark := p.ID(), ".conflict-"+version
	if n > 1 {
		mark += fmt.Sprintf("-%d", n)
	}
	mark += ".md"
	dir := len(p.Dir())
	for len(stem)+len(mark) > MaxPath || len(stem)-dir+len(mark) > MaxSegment {
		stem = strings.ToValidUTF8(stem[:len(stem)-1], "")
	}
	return Path(strings.TrimRight(stem, " .") + mark)
}

// conflictCopy matches the suffix that ConflictCopy adds.
var conflictCopy = regexp.MustCompile(`\.conflict-v\d+(-\d+)?\.md$`)

// IsConflictCopy reports whether the path has the form that ConflictCopy returns. A person can give
// a note such a name too, so it is a hint, not a proof.
func (p Path) IsConflictCopy() bool { return conflictCopy.MatchString(string(p)) }
