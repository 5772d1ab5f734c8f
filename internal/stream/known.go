package stream

import (
	"context"

	"rookery/internal/repo"
)

// Known are the texts that the files which a stretch of a log changes may have from the log: before the stretch, in it,
// and what was taken in from them.
type Known struct{ byPath map[string]*change }

// KnownIn returns the texts of a stretch.
func KnownIn(ctx context.Context, v *repo.Vault, s *repo.Stretch) (Known, error) {
	all, err := Followed{Vault: v}.changes(ctx, s)
	if err != nil {
		return Known{}, err
	}
	k := Known{byPath: make(map[string]*change, len(all))}
	for _, c := range all {
		k.byPath[c.path] = c
	}
	return k, nil
}

// Ours reports whether what is at the place of a file, or that nothing is, came from the log, so that it is replaced
// when the stretch is brought. Of a file that the stretch does not change it is false.
func (k Known) Ours(path string, text []byte, there bool) bool {
	c := k.byPath[path]
	return c != nil && c.knows(text, there)
}
