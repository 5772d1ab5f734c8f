package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A store is a directory with the bucket's own files: in tmp those that are being written, in aside
// those that were displaced. A rename works only within one file system, so the store must be on
// that of the folder. Its folders stay open as long as the bucket, which saves opening them for
// each change.
type store struct {
	dir        string // homeDir or workDir
	tmp, aside *folder
	swaps      bool // the file system can exchange two files
}

// Names of the bucket's own files. reserved begins the paths of all of them.
const (
	reserved = ".rookery"

	// homeDir is the path of the store in the folder itself.
	homeDir = reserved

	// workDir is the path that means Options.Work, wherever that is.
	workDir = reserved + "/elsewhere"

	tmpName       = "/tmp"
	displacedName = "/displaced"
)

// storeDirs returns the directories that may contain own files. They include those of an earlier
// process that ran while the folder and Options.Work were on different file systems.
func (b *Bucket) storeDirs() []string {
	if b.work.File == nil {
		return []string{homeDir}
	}
	return []string{workDir, homeDir}
}

// prepare opens the store, and handles the files that the last process left in any store.
// Half-written files are removed before the store is opened, because nothing else is in tmp then;
// displaced files need the store.
func (b *Bucket) prepare() error {
	for _, dir := range b.storeDirs() {
		if err := b.clearTmp(dir + tmpName); err != nil {
			return fmt.Errorf("remove temporary files: %w", err)
		}
	}
	if err := b.openStore(b.storeDirs()[0]); err != nil {
		return err
	}
	if err := b.resume(); err != nil {
		return fmt.Errorf("take up what was displaced: %w", err)
	}
	return b.pruneHome()
}

// openStore creates and opens a store, and makes it the current one. Earlier stores stay open until
// Close, because calls in progress may use them.
func (b *Bucket) openStore(dir string) error {
	b.folders.RLock() // folders must not be pruned before they are marked as kept
	defer b.folders.RUnlock()
	if dir == homeDir {
		err := b.mkdir(b.top, homeDir, 0o700)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	s := &store{dir: dir}
	b.stores = append(b.stores, s)
	var err error
	if s.tmp, err = b.openOwn(dir + tmpName); err != nil {
		return err
	}
	if s.aside, err = b.openOwn(dir + displacedName); err != nil {
		return err
	}
	if s.swaps, err = canSwap(s.tmp); err != nil {
		return err
	}
	b.store.Store(s)
	return nil
}

// openOwn opens one of the bucket's own folders for as long as the bucket is open.
func (b *Bucket) openOwn(dir string) (*folder, error) {
	f, err := b.open(dir, walk{make: true})
	if err == nil {
		f.kept = true
	}
	return f, err
}

// withMove makes a change that moves files between the store and the folder, which must have no
// effect if it fails with an error of elsewhere. If the two are on different file systems, nothing
// was done, and the change is repeated with the store in the folder. If the store was removed by
// another program, the change is repeated with a new one, because the missing file may be the store
// rather than the one that the change was to find. It is repeated once.
func (b *Bucket) withMove(change func() error) error {
	was := b.store.Load()
	err := change()
	dir := was.dir
	switch {
	case err == nil:
		return nil
	case elsewhere(err) && dir != homeDir:
		dir = homeDir
	case !was.lost():
		return err
	}
	if err := b.switchStore(was, dir); err != nil {
		//nolint:errorlint // not wrapped: what is missing is not what the change was to find
		return fmt.Errorf("make a place for files of our own: %v", err)
	}
	return change()
}

// switchStore makes the store in dir the current one, unless another call has already replaced `was`.
func (b *Bucket) switchStore(was *store, dir string) error {
	b.moves.Lock()
	defer b.moves.Unlock()
	if b.store.Load() != was {
		return nil
	}
	return b.openStore(dir)
}

// moveHome makes the store in the folder itself the current one.
func (b *Bucket) moveHome() error {
	if was := b.store.Load(); was.dir != homeDir {
		return b.switchStore(was, homeDir)
	}
	return nil
}

// lost reports whether the store was removed, so that no file can be created in it. It creates and
// removes an empty file in each of its folders, so it is called only after an error.
func (s *store) lost() bool {
	for _, own := range []*folder{s.tmp, s.aside} {
		probe, err := own.stage(false)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err == nil {
			probe.drop()
		}
	}
	return false
}

// stays reports whether a folder must not be pruned: the bucket's folder, and those of a store that
// are open. On other stores, and in folders of keys, nothing depends on an empty folder.
func (b *Bucket) stays(dir string) bool {
	switch dir {
	case ".", workDir, workDir + tmpName, workDir + displacedName:
		return true
	}
	s := b.inUse()
	return s != nil && path.Dir(dir) == s.dir && (dir == s.tmp.path || dir == s.aside.path)
}

// pruneHome removes the empty folders of a store in the folder that is not in use. Without
// Options.Work it does nothing, because that store is the only one.
func (b *Bucket) pruneHome() error {
	if b.work.File == nil {
		return nil
	}
	return errors.Join(b.prune(homeDir+tmpName), b.prune(homeDir+displacedName))
}

// inUse returns the current store; nil if the bucket is closed or read only.
func (b *Bucket) inUse() *store {
	if b.closed.Load() {
		return nil
	}
	return b.store.Load()
}

// closeStores closes all stores. Writes that are still running, and later ones, return an error.
func (b *Bucket) closeStores() error {
	used := b.inUse() != nil
	b.closed.Store(true)
	for _, s := range b.stores {
		for _, own := range []*folder{s.tmp, s.aside} {
			if own != nil {
				_ = own.Close() // it was only read
			}
		}
	}
	if !used {
		return nil
	}
	return b.pruneHome()
}

// clearTmp removes the files that a killed process left in a tmp.
func (b *Bucket) clearTmp(dir string) error {
	names, err := b.temporary(dir)
	if err != nil || len(names) == 0 {
		return err
	}
	tmp, err := b.open(dir, walk{})
	if err != nil {
		return err
	}
	defer tmp.close()
	for _, name := range names {
		err := nameInDir{tmp, name}.remove()
		if err != nil && !errors.Is(err, blob.ErrForeign) {
			return err
		}
	}
	return nil
}

// temporary returns the names in a tmp, none if it does not exist. After a normal end there are
// none: each call removes its own file.
func (b *Bucket) temporary(dir string) ([]string, error) {
	tmp, err := b.open(dir, walk{})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, blob.ErrForeign) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer tmp.close()
	return tmp.Readdirnames(-1)
}

// canSwap tests whether the file system can exchange two files, by exchanging two empty ones. The
// kernel may have the call and the file system not, so there is no other way to know.
func canSwap(tmp *folder) (bool, error) {
	one, err := tmp.stage(false)
	if err != nil {
		return false, err
	}
	defer one.drop()
	two, err := tmp.stage(false)
	if err != nil {
		return false, err
	}
	defer two.drop()
	return swap(one.nameInDir, two.nameInDir) == nil, nil
}

// Leftovers reports the files that a killed process left: the number of files without a place,
// which the next Open removes, and the keys of displaced texts that are losses (see Displaced). It
// changes nothing, so the doctor can call it on a bucket that was opened read only.
func (b *Bucket) Leftovers(ctx context.Context) (unplaced int, displaced []string, err error) {
	for _, dir := range b.storeDirs() {
		names, err := b.temporary(dir + tmpName)
		if err != nil {
			return 0, nil, fmt.Errorf("list temporary files: %w", err)
		}
		unplaced += len(names)
	}
	for d, err := range b.Displaced(ctx) {
		if err != nil {
			return unplaced, displaced, err
		}
		displaced = append(displaced, d.Key)
	}
	return unplaced, displaced, nil
}
