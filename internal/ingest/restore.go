package ingest

import (
	"context"
	"errors"
	"fmt"

	"rookery/internal/blob"
	"rookery/internal/index"
	"rookery/internal/repo"
	"rookery/internal/stream"
)

// restores is how often files are compared with the log that are written again, while that goes on.
const restores = 5

// restore makes files of the batch what the log says. What was in them is known to the batch.
func (b *batch) restore(ctx context.Context, paths []string) (err error) {
	known := known{}
	for _, path := range paths {
		known[path] = map[index.Digest]bool{}
	}
	for _, f := range b.found {
		if known[f.Path] != nil && !f.Gone() {
			known[f.Path][f.Digest] = true
		}
	}
	b.done.Restored, err = b.Vault.restore(ctx, paths, known)
	return err
}

// known are the texts that files may have to be written again.
type known map[string]map[index.Digest]bool

// restore makes files what the log says, and returns how many it wrote. A file with a text that is not known is another
// edit, and stays. The log may go on meanwhile, and a process that follows it leaves such a file: so it is looked at
// again until it is as the log says, or another process has changed it.
func (v Vault) restore(ctx context.Context, paths []string, known known) (int, error) {
	restored := map[string]bool{}
	for range restores {
		if len(paths) == 0 {
			break
		}
		idx, err := v.Vault.Read(ctx)
		if err != nil {
			return len(restored), err
		}
		written := make([]bool, len(paths))
		err = together(indices(paths), func(i int) (err error) {
			written[i], err = v.bring(ctx, idx, paths[i], known[paths[i]])
			return err
		})
		if err != nil {
			return len(restored), err
		}
		var again []string
		for i, path := range paths {
			if written[i] {
				again = append(again, path)
				restored[path] = true
			}
		}
		paths = again
	}
	return len(restored), nil
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
func (v Vault) bring(
	ctx context.Context, idx *index.Index, path string, known map[index.Digest]bool,
) (written bool, err error) {
	want, note := idx.File(path)
	now, tag, err := v.Notes.Get(ctx, path, 0, repo.MaxNote+1)
	gone := errors.Is(err, blob.ErrNotExist)
	switch {
	case err != nil && !gone:
		return false, fmt.Errorf("read a file: %w", err)
	case gone == !note && (gone || index.DigestOf(now) == want.Digest):
		return false, nil
	case !gone && !known[index.DigestOf(now)]:
		return false, nil // another edit
	}
	var text []byte // nil: the file goes
	if note {
		if text, err = v.textOf(ctx, want); err != nil {
			return false, err
		}
		known[want.Digest] = true
	}
	err = stream.Replace(ctx, v.Notes, path, stream.Was{Tag: tag, There: !gone}, text)
	if errors.Is(err, blob.ErrCondition) {
		return true, nil // it is looked at again
	}
	if err != nil {
		return false, fmt.Errorf("write a file again: %w", err)
	}
	return true, nil
}

// textOf is the text of a file; not nil if it is empty.
func (v Vault) textOf(ctx context.Context, f *index.File) ([]byte, error) {
	text, err := v.Vault.Text(ctx, f.Body)
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}
