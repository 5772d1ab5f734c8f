package intake

import (
	"strings"

	"rookery/internal/index"
	"rookery/internal/vault"
)

// A Place says what a file is to the vault in whose folder or bucket it is.
type Place int

// The places.
const (
	NotOurs  Place = iota // it is none of the vault's
	Ours                  // a note, or another file that a vault has
	Misnamed              // it would be a note, but for its name
)

// PlaceOf returns the path that a file has in a vault. Names that are decomposed, as macOS makes them, are composed
// there.
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

// Hidden reports whether a file, or a folder that it is in, has a name that begins with a dot.
func Hidden(key string) bool { return key[0] == '.' || strings.Contains(key, "/.") }
