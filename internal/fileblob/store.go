package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"rookery/internal/blob"
)

// A store is a directory that has files of the bucket's own: in tmp those that are being written, in
// aside those that were displaced.
type store struct {
	dir        string // homeDir or workDir
	tmp, aside *folder
	swaps      bool // the file system can exchange two files
}

const (
	reserved = ".rookery"

	// homeDir has the store that lies in the folder itself.
	homeDir = reserved

	// workDir stands for Options.Work, wherever that is: the paths of what lies there begin with it.
	workDir = reserved + "/elsewhere"

	tmpName       = "/tmp"
	displacedName = "/displaced"
)

// storeDirs are where files of ours may lie: also those of a process that ran while the folder, or
// Options.Work, lay on another file system than now.
func (b *Bucket) storeDirs() []string {
	if b.work.File == nil {
		return []string{homeDir}
	}
	return []string{workDir, homeDir}
}

// prepare opens the store, and settles what the last process left in any.
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

// openStore makes and opens a store, which has the bucket's new files from now on.
func (b *Bucket) openStore(dir string) error {
	b.folders.RLock() // or the folders would be pruned before they are known to be kept
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

// openOwn opens a folder of our own, for as long as the bucket is open.
func (b *Bucket) openOwn(dir string) (*folder, error) {
	f, err := b.open(dir, walk{make: true})
	if err == nil {
		f.kept = true
	}
	return f, err
}

// moving makes a change that moves a file between a store and the folder. If they turn out to lie on
// different file systems, nothing was done, and it is made once more with the store that lies in the
// folder. So it is, with a store that is made anew, if somebody has removed this one: for what is
// missing then may be the store, and not what the change was to find.
func (b *Bucket) moving(change func() error) error {
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
	if err := b.leave(was, dir); err != nil {
		//nolint:errorlint // not wrapped: what is missing is not what the change was to find
		return fmt.Errorf("make a place for files of our own: %v", err)
	}
	return change()
}

// leave has the bucket's new files lie in the store in dir, unless they lie elsewhere than they did
// already.
func (b *Bucket) leave(was *store, dir string) error {
	b.moves.Lock()
	defer b.moves.Unlock()
	if b.store.Load() != was {
		return nil
	}
	return b.openStore(dir)
}

// moveHome has the bucket's new files lie in the folder itself.
func (b *Bucket) moveHome() error {
	if was := b.store.Load(); was.dir != homeDir {
		return b.leave(was, homeDir)
	}
	return nil
}

// lost reports whether the store was removed: then nothing can be made in it.
func (s *store) lost() bool {
	for _, own := range []*folder{s.tmp, s.aside} {
		probe, err := own.stage(nil, false)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err == nil {
			probe.drop()
		}
	}
	return false
}

// stays reports whether a folder is never pruned.
func (b *Bucket) stays(dir string) bool {
	switch dir {
	case ".", workDir, workDir + tmpName, workDir + displacedName:
		return true
	}
	s := b.store.Load()
	return s != nil && path.Dir(dir) == s.dir && (dir == s.tmp.path || dir == s.aside.path)
}

// pruneHome removes from the folder what is empty of a store that is not in use there. Where Work
// was not asked for, it is the only one, and stays.
func (b *Bucket) pruneHome() error {
	if b.work.File == nil {
		return nil
	}
	return errors.Join(b.prune(homeDir+tmpName), b.prune(homeDir+displacedName))
}

// closeStores lets go of all stores.
func (b *Bucket) closeStores() error {
	used := b.store.Swap(nil) != nil
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

// clearTmp removes what a killed process left in a tmp: files that never had a place.
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
		err := spot{tmp, name}.remove()
		if err != nil && !errors.Is(err, blob.ErrForeign) {
			return err
		}
	}
	return nil
}

// temporary are the names in a tmp. If there is none, they are none.
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

// canSwap tries whether two files can be exchanged here.
func canSwap(tmp *folder) (bool, error) {
	one, err := tmp.stage(nil, false)
	if err != nil {
		return false, err
	}
	defer one.drop()
	two, err := tmp.stage(nil, false)
	if err != nil {
		return false, err
	}
	defer two.drop()
	return swap(one.spot, two.spot) == nil, nil
}

// Leftovers are what a killed process left: how many files that had no place yet, which the next Open
// removes, and the keys of displaced texts that somebody has to look at (see Displaced).
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
