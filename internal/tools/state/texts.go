package state

import (
	"context"
	"slices"

	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
)

// Texts reads the texts of files that a search found. File does not look up a file again that Prefetch has
// looked up, if the files are used in the same order; some can be skipped. It is for one goroutine.
type Texts struct {
	vault *repo.Vault
	find  func(path string) (*index.File, bool)
	ahead []*index.File // the files of the last Prefetch
	next  int           // index in ahead of the file after the last one that was used
}

// Texts returns a Texts for the files of the view.
func (v View) Texts() *Texts { return &Texts{vault: v.Vault, find: v.Index.File} }

// Prefetch reads the texts of the files at these paths into the cache together; see View.Prefetch.
func (t *Texts) Prefetch(ctx context.Context, paths []string) {
	t.lookUp(paths)
	t.vault.PrefetchFiles(ctx, slices.Values(t.ahead), mostAhead)
}

// lookUp sets ahead to the files at some paths. It skips paths without a file.
func (t *Texts) lookUp(paths []string) {
	t.ahead, t.next = slices.Grow(t.ahead[:0], len(paths)), 0
	for _, path := range paths {
		if f, ok := t.find(path); ok {
			t.ahead = append(t.ahead, f)
		}
	}
}

// File returns the file at a path; false if there is none.
func (t *Texts) File(path string) (*index.File, bool) {
	for i := t.next; i < len(t.ahead); i++ {
		if f := t.ahead[i]; f.Path == path {
			t.next = i + 1
			return f, true
		}
	}
	return t.find(path)
}
