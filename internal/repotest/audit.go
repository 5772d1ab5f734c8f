package repotest

import (
	"maps"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/vault"
)

// TakeAudit takes the audit log out of the files of a folder, by path, and returns it whole: the closed
// months, the oldest first, and the open one.
func TakeAudit(files map[string]string) string {
	var all strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if vault.Path(path).Kind() == vault.KindAudit {
			all.WriteString(files[path])
			delete(files, path)
		}
	}
	return all.String()
}
