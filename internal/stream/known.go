package stream

import (
	"context"

	"github.com/rookeryhq/rookery/internal/repo"
)

// A Known contains the texts that files changed by a stretch may have from the log: the text before
// the stretch, those in it, and those that it ingested.
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

// Ours reports whether the state of a file came from the log, so that it is overwritten when the
// stretch is written. there reports that the file exists. Ours returns false for a file that the
// stretch does not change.
func (k Known) Ours(path string, text []byte, there bool) bool {
	c := k.byPath[path]
	return c != nil && c.knows(text, there)
}
