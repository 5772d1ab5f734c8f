//go:build !linux && !darwin

package fileblob

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// renameOver is move.
func renameOver(from, to spot) error {
	return from.folder.top.root.Rename(from.full(), to.full())
}

// renameBeside is moveNew. There are two names for a moment.
func renameBeside(from, to spot) error {
	if err := from.folder.top.root.Link(from.full(), to.full()); err != nil {
		return err
	}
	return from.folder.dir.remove(from.name)
}

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
