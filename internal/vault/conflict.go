package vault

import (
	"fmt"
	"regexp"
	"strings"
)

// ConflictCopy is the path of the note beside another that keeps a text which could not be merged into
// it: `people/freya.conflict-v42.md` (reference/log.md §5). n counts those of one version, from 1.
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

var conflictCopy = regexp.MustCompile(`\.conflict-v\d+(-\d+)?\.md$`)

// IsConflictCopy reports whether a note has a name that ConflictCopy gives.
func (p Path) IsConflictCopy() bool { return conflictCopy.MatchString(string(p)) }
