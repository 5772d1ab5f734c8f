package ingest

import (
	"context"
	"errors"
	"fmt"

	"rookery/internal/blob"
	"rookery/internal/index"
)

// restores is how often files are compared with the log that are written again, while that goes on.
const restores = 5

// restore makes files what the log says. What was in them is known to the batch; a file with another text is another
// edit, and stays. The log may go on meanwhile, and who follows it leaves such a file: so it is looked at again until it
// is as the log says, or another has changed it.
func (b *batch) restore(ctx context.Context, paths []string) error {
	known, restored := map[string]map[index.Digest]bool{}, map[string]bool{}
	for _, path := range paths {
		known[path] = map[index.Digest]bool{}
	}
	for _, f := range b.found {
		if known[f.Path] != nil && !f.Gone() {
			known[f.Path][f.Digest] = true
		}
	}
	for range restores {
		if len(paths) == 0 {
			return nil
		}
		idx, err := b.Vault.Vault.Read(ctx)
		if err != nil {
			return err
		}
		written := make([]bool, len(paths))
		err = together(indices(paths), func(i int) (err error) {
			written[i], err = b.bring(ctx, idx, paths[i], known[paths[i]])
			return err
		})
		if err != nil {
			return err
		}
		var again []string
		for i, path := range paths {
			if written[i] {
				again = append(again, path)
				restored[path] = true
			}
		}
		b.done.Restored = len(restored)
		paths = again
	}
	return nil
}

// indices are those of a list.
func indices[T any](all []T) []int {
	n := make([]int, len(all))
	for i := range n {
		n[i] = i
	}
	return n
}

// bring makes one file what an index says, and reports whether it wrote. known are the texts that may be replaced, to
// which it adds its own.
func (b *batch) bring(
	ctx context.Context, idx *index.Index, path string, known map[index.Digest]bool,
) (written bool, err error) {
	want, note := idx.File(path)
	now, tag, err := b.Notes.Get(ctx, path, 0, -1)
	gone := errors.Is(err, blob.ErrNotExist)
	switch {
	case err != nil && !gone:
		return false, fmt.Errorf("read a file: %w", err)
	case gone == !note && (gone || index.DigestOf(now) == want.Digest):
		return false, nil
	case !gone && !known[index.DigestOf(now)]:
		return false, nil // another edit
	case !note:
		err = b.take(ctx, path, tag)
	default:
		err = b.put(ctx, path, want, gone, tag)
		known[want.Digest] = true
	}
	if errors.Is(err, blob.ErrCondition) {
		return true, nil // it is looked at again
	}
	if err != nil {
		return false, fmt.Errorf("write a file again: %w", err)
	}
	return true, nil
}

// take removes a file.
func (b *batch) take(ctx context.Context, path string, tag blob.Tag) error {
	files, ok := b.Notes.(blob.Taker)
	if !ok {
		return errNoVersions
	}
	return files.Take(ctx, path, tag)
}

// errNoVersions says that the files of notes are in a bucket that cannot keep them.
var errNoVersions = errors.New("the bucket of the notes keeps no versions")

// put writes the text of a note.
func (b *batch) put(ctx context.Context, path string, f *index.File, gone bool, tag blob.Tag) error {
	text, err := b.Vault.Vault.Text(ctx, f.Body)
	if err != nil {
		return err
	}
	c := blob.IfAbsent
	if !gone {
		c = blob.IfTag(tag)
	}
	_, err = b.Notes.Put(ctx, path, text, c)
	return err
}
