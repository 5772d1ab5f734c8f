package fileblob

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file if the new name does not exist; otherwise the error is EEXIST. a and b
// are descriptors of the directories of the two names. Some file systems do not support it, with
// EINVAL.
func renameNew(a int, from string, b int, to string) error {
	return unix.Renameat2(a, from, b, to, unix.RENAME_NOREPLACE)
}

// renameSwap exchanges two files atomically.
func renameSwap(a int, one string, b int, two string) error {
	return unix.Renameat2(a, one, b, two, unix.RENAME_EXCHANGE)
}

// leap opens the directory at a path below this one in one call without following links. If it
// returns false, the path must be opened segment by segment, which also finds the reason. Kernels
// before 5.6 have no such call.
func (d dir) leap(path string) (dir, bool) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd := -1
	err := d.by(func(at int) (err error) {
		fd, err = unix.Openat2(at, path, &how)
		return err
	})
	if err != nil {
		return dir{}, false
	}
	return dir{os.NewFile(uintptr(fd), path)}, true
}
