package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rookeryhq/rookery/internal/blob"
)

var _ blob.Deleter = (*Bucket)(nil)

// A file system frees the blocks of a written file when the file is removed. This takes most of the
// time of a removal, and several can run in parallel. deleters is the maximum number of parallel
// removals; each worker after the first needs deletesEach more files.
const (
	deleters    = 8
	deletesEach = 16
)

// DeleteAll implements blob.Deleter. It syncs each folder once, after all removals from it. After
// an error it still syncs the removals that were made. removed is the number of keys from the
// beginning that are removed; later ones may be removed too, because removals run in parallel.
func (b *Bucket) DeleteAll(ctx context.Context, keys ...string) (removed int, err error) {
	gone, err := b.deleteEach(ctx, keys)
	folders := map[string]bool{}
	for i, key := range keys {
		if gone[i] {
			folders[path.Dir(key)] = true
		}
	}
	for removed < len(keys) && gone[removed] {
		removed++
	}
	return removed, errors.Join(err, b.settleFolders(folders))
}

// deleteEach removes objects until one cannot be removed, and reports for each key whether it is
// removed. It uses several goroutines for many keys; when one fails, the others finish the removal
// that they have begun.
func (b *Bucket) deleteEach(ctx context.Context, keys []string) ([]bool, error) {
	gone, failed := make([]bool, len(keys)), make([]error, len(keys))
	var next atomic.Int64
	var stop atomic.Bool
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(keys) && !stop.Load(); i = int(next.Add(1)) - 1 {
			if err := b.deleteUnsynced(ctx, keys[i]); err != nil {
				failed[i] = fmt.Errorf("delete %s: %w", keys[i], err)
				stop.Store(true)
				return
			}
			gone[i] = true
		}
	}
	var others sync.WaitGroup
	for range min(deleters-1, len(keys)/deletesEach) {
		others.Go(work)
	}
	work()
	others.Wait()
	return gone, errors.Join(failed...)
}

// deleteUnsynced removes an object as Delete does, but does not remove its folder or sync the removal.
// A missing object is not an error.
func (b *Bucket) deleteUnsynced(ctx context.Context, key string) error {
	if err := b.beginWrite(ctx, key); err != nil {
		return err
	}
	defer b.lock(key)()
	err := b.withName(key, walk{}, func(at nameInDir) error { return at.remove() })
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errFolder) {
		return nil
	}
	return err
}

// settleFolders removes the folders that are empty, and syncs the others.
func (b *Bucket) settleFolders(folders map[string]bool) error {
	if len(folders) == 0 {
		return nil
	}
	for dir := range folders {
		if err := b.prune(dir); err != nil {
			return fmt.Errorf("remove the folder %s: %w", dir, err)
		}
	}
	return b.syncFolders(folders)
}

// syncFolders makes the names in the folders durable, and those of displaced files.
func (b *Bucket) syncFolders(folders map[string]bool) error {
	if err := b.syncSettled(); err != nil {
		return fmt.Errorf("sync displaced files: %w", err)
	}
	for dir := range folders {
		if err := b.syncFolder(dir); err != nil {
			return fmt.Errorf("sync the folder %s: %w", dir, err)
		}
	}
	return nil
}

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
