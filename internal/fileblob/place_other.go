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

// errElsewhere is the error of a move between two directories that were opened separately, which
// os.Root does not support.
var errElsewhere = errors.New("a file of another directory")

// elsewhere reports whether a move failed because the two places are on different file systems, or
// in directories that were opened separately.
func elsewhere(err error) bool {
	return errors.Is(err, errElsewhere) || errors.Is(err, syscall.EXDEV)
}

// renameOver implements move.
func renameOver(from, to nameInDir) error {
	if from.folder.root.root != to.folder.root.root {
		return errElsewhere
	}
	return from.folder.root.root.Rename(from.below(), to.below())
}

// renameBeside implements moveNew: it links the file to the new name, which fails if that exists,
// and removes the old name. For a moment, and after a crash perhaps for longer, the file has both
// names.
func renameBeside(from, to nameInDir) error {
	if from.folder.root.root != to.folder.root.root {
		return errElsewhere
	}
	if err := from.folder.root.root.Link(from.below(), to.below()); err != nil {
		return err
	}
	return from.folder.dir.remove(from.name)
}

// below returns the path relative to the directory that os.Root has open.
func (s nameInDir) below() string { return path.Join(belowRoot(s.folder.path), s.name) }

// exchangeNames is not supported on this system; files are moved aside instead.
func exchangeNames(_, _ nameInDir) error { return errors.ErrUnsupported }

// rmdir implements removeFolder.
func rmdir(s nameInDir) error {
	info, err := s.stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fs.ErrExist
	}
	return s.folder.dir.remove(s.name)
}

// inode returns "": it is not needed on a system that cannot exchange files.
func inode(fs.FileInfo) string { return "" }

// syncEntries syncs the names in a folder. Windows has no such call; NTFS journals them.
func syncEntries(folder *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return folder.Sync()
}
