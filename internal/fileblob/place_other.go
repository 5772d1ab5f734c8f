//go:build !linux && !darwin

package fileblob

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"syscall"
)

// errElsewhere says that two spots lie in two directories that were opened by themselves: os.Root
// moves nothing from one to another.
var errElsewhere = errors.New("a file of another directory")

// elsewhere reports whether a file could not be moved because the two places lie on different file
// systems, or because that is not to be had here.
func elsewhere(err error) bool {
	return errors.Is(err, errElsewhere) || errors.Is(err, syscall.EXDEV)
}

// renameOver is move.
func renameOver(from, to spot) error {
	if from.folder.root.root != to.folder.root.root {
		return errElsewhere
	}
	return from.folder.root.root.Rename(from.below(), to.below())
}

// renameBeside is moveNew. There are two names for a moment.
func renameBeside(from, to spot) error {
	if from.folder.root.root != to.folder.root.root {
		return errElsewhere
	}
	if err := from.folder.root.root.Link(from.below(), to.below()); err != nil {
		return err
	}
	return from.folder.dir.remove(from.name)
}

// below is the path from the directory that os.Root has open.
func (s spot) below() string { return path.Join(belowRoot(s.folder.path), s.name) }

// exchangeNames is not to be had here: files are moved aside and linked instead.
func exchangeNames(_, _ spot) error { return errors.ErrUnsupported }

// rmdir is removeFolder.
func rmdir(s spot) error {
	info, err := s.stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fs.ErrExist
	}
	return s.folder.dir.remove(s.name)
}

// inode is not needed where nothing is swapped.
func inode(fs.FileInfo) string { return "" }

// syncEntries syncs a folder. Windows has no such call: NTFS journals its entries.
func syncEntries(folder *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return folder.Sync()
}
