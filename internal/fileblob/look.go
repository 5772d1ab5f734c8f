package fileblob

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"iter"

	"rookery/internal/blob"
)

// A Reader reads a folder, and changes nothing in it. Nobody needs to have the folder for that; what
// another process changes meanwhile is seen before or after.
type Reader struct{ bucket *Bucket }

var _ blob.Bucket = (*Reader)(nil)

// ErrReadOnly says that a folder was opened to look at it.
var ErrReadOnly = errors.New("the folder is open to be read")

// Look opens a folder to read from it. There must be one.
func Look(dir string) (*Reader, error) {
	top, err := openTop(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	b := &Bucket{top: top, seed: maphash.MakeSeed(), tags: newMemo()}
	for at, own := range map[string]**folder{tmpDir: &b.tmp, displacedDir: &b.aside} {
		*own, err = b.open(at, walk{})
		if err == nil {
			(*own).kept = true
		} else if !errors.Is(err, fs.ErrNotExist) {
			_ = b.Close() // the first error is the one to tell
			return nil, fmt.Errorf("open the folder: %w", err)
		}
	}
	return &Reader{b}, nil
}

// Close releases the folder.
func (r *Reader) Close() error { return r.bucket.Close() }

// Get implements blob.Bucket.
func (r *Reader) Get(ctx context.Context, key string, off, n int64) ([]byte, blob.Tag, error) {
	return r.bucket.Get(ctx, key, off, n)
}

// List implements blob.Bucket.
func (r *Reader) List(ctx context.Context, prefix string) iter.Seq2[blob.Object, error] {
	return r.bucket.List(ctx, prefix)
}

// Put is ErrReadOnly.
func (r *Reader) Put(context.Context, string, []byte, blob.Cond) (blob.Tag, error) {
	return "", ErrReadOnly
}

// Delete is ErrReadOnly.
func (r *Reader) Delete(context.Context, string) error { return ErrReadOnly }

// Leftovers are what a killed process left: how many files that had no place yet, which the next Open
// removes, and the keys of displaced texts that somebody has to look at (see Displaced).
func (r *Reader) Leftovers(ctx context.Context) (unplaced int, displaced []string, err error) {
	if r.bucket.tmp != nil {
		names, err := r.bucket.tmp.Readdirnames(-1)
		if err != nil {
			return 0, nil, fmt.Errorf("list temporary files: %w", err)
		}
		unplaced = len(names)
	}
	if r.bucket.aside == nil {
		return unplaced, nil, nil
	}
	for d, err := range r.bucket.Displaced(ctx) {
		if err != nil {
			return unplaced, displaced, err
		}
		displaced = append(displaced, d.Key)
	}
	return unplaced, displaced, nil
}
