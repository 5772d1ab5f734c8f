//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks a file or a directory as long as it is open, on this machine: errTaken if another has
// it, errors.ErrUnsupported where the file system has no locks.
func lock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errTaken
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// unwritable reports whether nothing can be written to the folder. It asks, for what is tried in the
// folder of a person is seen by other programs.
func (t *top) unwritable() bool {
	err := unix.Faccessat(int(t.self.Fd()), ".", unix.W_OK, 0)
	return errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission)
}

// nodeOf says which directory of the disk this is, as long as that is mounted: its device and inode.
func nodeOf(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x:%x", stat.Dev, stat.Ino)
}

// syncEntries makes durable which names a directory has, where the file system can be asked to.
func syncEntries(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, unix.EROFS) {
		return nil
	}
	return err
}
