package intake

import (
	"strings"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A Place is the relation of a file to the vault of its folder or bucket.
type Place int

// The places.
const (
	NotOurs  Place = iota // not a file of the vault
	Ours                  // a note, or another kind of file that a vault has
	Misnamed              // would be a note if its name were valid
)

// PlaceOf returns the path in the vault of a file, and its Place. The path is composed (NFC),
// unlike names that macOS creates, and empty unless the Place is Ours.
func PlaceOf(idx *index.Index, key string) (path string, p Place) {
	if strings.HasPrefix(key, vault.Trash) {
		if _, ok := idx.File(key); ok {
			return key, Ours
		}
		return "", NotOurs
	}
	switch kind := vault.Path(key).Kind(); {
	case kind == vault.KindNone, kind == vault.KindAudit, Hidden(key) && kind != vault.KindConfig:
		return "", NotOurs
	}
	path = vault.CleanPath(key)
	if _, err := vault.ParseFile(path); err != nil {
		return "", Misnamed
	}
	return path, Ours
}

// Hidden reports whether the name of a file, or of a folder that contains it, begins with a dot.
func Hidden(key string) bool { return key[0] == '.' || strings.Contains(key, "/.") }
