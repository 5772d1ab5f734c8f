package index

import (
	"strings"
)

// ProjectFolder is the first folder of a path below projects, or its file there; empty for other paths.
func ProjectFolder(path string) string {
	rest, ok := strings.CutPrefix(path, "projects/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
