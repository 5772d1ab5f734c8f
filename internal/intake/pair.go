package intake

import (
	"rookery/internal/index"
	"rookery/internal/vault"
)

// Pair finds the files that were moved: gone in one place, and there in another with the same text or,
// but for case, the same name.
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

// likeliest is the file of some with the same text that was moved to a path: one with the same name in
// another folder, else the first.
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

func name(path string) string { return path[len(vault.Path(path).Dir()):] }
