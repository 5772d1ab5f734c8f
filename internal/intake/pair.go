package intake

import (
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/vault"
)

// Pair finds the files that were moved: gone at one path, and at another with the same text or,
// except for case, the same path. It sets From and Moved.
func Pair(all []*Found) {
	gone := map[index.Digest][]*Found{}
	names := map[string]*Found{}
	for _, f := range all {
		if f.Gone() && f.Before != nil && !vault.InTrash(f.Path) {
			gone[f.Before.Digest] = append(gone[f.Before.Digest], f)
			names[f.To] = f
		}
	}
	for _, f := range all {
		if f.Gone() || f.Before != nil || vault.InTrash(f.Path) {
			continue
		}
		from := names[f.Path]
		if from == nil {
			from = likeliest(gone[f.Digest], f.Path)
		}
		if from != nil && !from.Moved {
			f.From, from.Moved = from, true
		}
	}
}

// likeliest returns the file that was probably moved to a path, out of files with the same text:
// one with the same name in another folder, or else the first. It returns nil if all were moved
// elsewhere.
func likeliest(from []*Found, path string) *Found {
	var first *Found
	for _, f := range from {
		switch {
		case f.Moved:
		case name(f.Path) == name(path):
			return f
		case first == nil:
			first = f
		}
	}
	return first
}

// name returns the last part of a path.
func name(path string) string { return path[len(vault.Path(path).Dir()):] }
