//go:build linux || darwin

package fileblob

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// renameOver implements move.
func renameOver(from, to nameInDir) error {
	return between(from, to, func(a, b int) error {
		return unix.Renameat(a, from.name, b, to.name)
	})
}

// renameBeside implements moveNew. If the system cannot do it atomically, the file has both names
// for a moment.
func renameBeside(from, to nameInDir) error {
	err := between(from, to, func(a, b int) error {
		return renameNew(a, from.name, b, to.name)
	})
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) &&
		!errors.Is(err, unix.ENOSYS) {
		return err
	}
	err = between(from, to, func(a, b int) error {
		return unix.Linkat(a, from.name, b, to.name, 0)
	})
	if err != nil {
		return err
	}
	return from.folder.dir.remove(from.name)
}

// exchangeNames implements swap.
func exchangeNames(one, two nameInDir) error {
	return between(one, two, func(a, b int) error {
		return renameSwap(a, one.name, b, two.name)
	})
}

// rmdir implements removeFolder.
func rmdir(s nameInDir) error {
	return s.folder.by(func(at int) error {
		return unix.Unlinkat(at, s.name, unix.AT_REMOVEDIR)
	})
}

// between calls a function with the descriptors of the folders of two spots.
func between(one, two nameInDir, call func(a, b int) error) error {
	return one.folder.by(func(a int) error {
		return two.folder.by(func(b int) error { return call(a, b) })
	})
}

// inode returns the inode number of a file in hexadecimal, or "" if it is not known.
func inode(info fs.FileInfo) string {
	if e, ok := info.(*entry); ok {
		return strconv.FormatUint(e.inode, 16)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(stat.Ino, 16)
	}
	return ""
}

// elsewhere reports whether a move failed because the two places are on different file systems or
// mounts.
func elsewhere(err error) bool { return errors.Is(err, unix.EXDEV) }

// syncEntries syncs the names in a folder.
func syncEntries(folder *os.File) error { return folder.Sync() }
