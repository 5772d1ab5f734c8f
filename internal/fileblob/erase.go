package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/rookeryhq/rookery/internal/blob"
)

var _ blob.Eraser = (*Bucket)(nil)

// EraseKept implements blob.Eraser. It removes every displaced file whose key begins with prefix,
// including those that an editor has written to. The removals are synced when it returns. Freed
// blocks are not overwritten.
func (b *Bucket) EraseKept(ctx context.Context, prefix string) (blob.EraseCount, error) {
	var gone blob.EraseCount
	if b.readOnly {
		return gone, ErrReadOnly
	}
	names, err := b.displacedNames(ctx)
	if err != nil {
		return gone, fmt.Errorf("list displaced files: %w", err)
	}
	for _, found := range names {
		n := found.name
		if !strings.HasPrefix(n.key, prefix) {
			continue
		}
		size, err := b.eraseDisplaced(n)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an exchange has just finished with it
		}
		if err != nil {
			return gone, fmt.Errorf("erase what was displaced at %s: %w", n.key, err)
		}
		gone.Add(blob.EraseCount{Objects: 1, Bytes: size})
	}
	return gone, b.syncSettled()
}

// eraseDisplaced removes a displaced file, of any kind, and returns its size in bytes. The removal is
// made durable by syncSettled.
func (b *Bucket) eraseDisplaced(n displacedPath) (int64, error) {
	defer b.lock(n.key)()
	a, err := b.openDisplaced(n, walk{})
	if err != nil {
		return 0, err
	}
	defer a.close()
	size := int64(0)
	if info, err := a.stat(); err == nil {
		size = info.Size()
	}
	if err := a.folder.remove(a.name); err != nil {
		return 0, err
	}
	b.settled.add(path.Dir(n.path()))
	return size, b.prune(path.Dir(n.path()))
}
