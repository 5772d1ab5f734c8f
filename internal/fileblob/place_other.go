//go:build !linux && !darwin

package fileblob

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
)

// move renames a file over what is at the other spot.
func move(from, to spot) error { return from.folder.top.root.Rename(from.full(), to.full()) }

// moveNew renames a file to a spot where nothing is; else fs.ErrExist. Of several that try at once
// one succeeds.
func moveNew(from, to spot) error {
	if err := from.folder.top.root.Link(from.full(), to.full()); err != nil {
		return err
	}
	return from.folder.remove(from.name)
}

// swap is not to be had here: files are moved aside and linked instead.
func swap(_, _ spot) error { return errors.ErrUnsupported }

// removeFolder removes an empty folder.
func removeFolder(s spot) error {
	info, err := s.stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fs.ErrExist
	}
	return s.folder.remove(s.name)
}

// full is the path from the top, for calls that take two names in one root.
func (s spot) full() string { return path.Join(s.folder.path, s.name) }

// inode is not needed where nothing is swapped.
func inode(fs.FileInfo) string { return "" }

// syncEntries syncs a folder. Windows has no such call: NTFS journals its entries.
func syncEntries(folder *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return folder.Sync()
}
