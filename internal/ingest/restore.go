package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/index"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
)

// restores is how often restored files are compared with the log while it goes on. After that, the
// process that follows the log or the next sweep must bring them up to date.
const restores = 5

// restore restores files of the batch from the log. Only texts of the batch are replaced.
// b.done.Restored becomes the number of files that were written.
func (b *batch) restore(ctx context.Context, paths []string) (err error) {
	known := replaceable{}
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

// A replaceable contains, by path, the digests of texts that may be overwritten. Every other text of a
// file is an edit that must not be lost.
type replaceable map[string]map[index.Digest]bool

// restore writes files as they are in the log, and returns how many it wrote. A file with another
// text than those in replaceable has another edit, and stays. The log may continue meanwhile, and a
// process that follows it does not write such a file, so restore examines the file again until it
// is as in the log, or until another process has changed it.
func (v Vault) restore(ctx context.Context, paths []string, known replaceable) (int, error) {
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
		err = forEach(indices(paths), func(i int) (err error) {
			written[i], err = v.writeFile(ctx, idx, paths[i], known[paths[i]])
			return err
		})
		if err != nil {
			return len(restored), err
		}
		// Only files that were written are examined again: the log may have continued after the
		// index was read.
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

// indices returns the indices of a slice.
func indices[T any](all []T) []int {
	n := make([]int, len(all))
	for i := range n {
		n[i] = i
	}
	return n
}

// writeFile writes one file as it is in an index, and reports whether it wrote. known contains the
// digests of texts that may be overwritten; bring adds that of its own text. It writes only if the
// file has not changed since it was read; if it has, bring reports true, so that the file is
// examined again.
func (v Vault) writeFile(
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
	var text []byte // nil: remove the file
	if note {
		if text, err = v.textOf(ctx, want); err != nil {
			return false, err
		}
		known[want.Digest] = true
	}
	err = stream.Replace(ctx, v.Notes, path, stream.FileState{Tag: tag, There: !gone}, text)
	if errors.Is(err, blob.ErrCondition) {
		return true, nil // the file is examined again
	}
	if err != nil {
		return false, fmt.Errorf("write a file again: %w", err)
	}
	return true, nil
}

// textOf returns the text of a file, which is not nil if it is empty.
func (v Vault) textOf(ctx context.Context, f *index.File) ([]byte, error) {
	text, err := v.Vault.Text(ctx, f.Body)
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}
