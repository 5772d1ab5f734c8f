package fileblob

import "golang.org/x/sys/unix"

// renameNew renames a file if the new name does not exist.
func renameNew(a int, from string, b int, to string) error {
	return unix.RenameatxNp(a, from, b, to, unix.RENAME_EXCL)
}

// renameSwap exchanges two files atomically.
func renameSwap(a int, one string, b int, two string) error {
	return unix.RenameatxNp(a, one, b, two, unix.RENAME_SWAP)
}

// leap returns false: on this system a path is opened segment by segment.
func (dir) leap(string) (dir, bool) { return dir{}, false }
