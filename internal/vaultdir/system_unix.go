//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package vaultdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks a file or a directory on this machine, as long as the file is open. It does not wait.
// The error is errLocked if another process has the lock, and errors.ErrUnsupported if the file
// system has no locks.
func lock(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errLocked
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// unwritable reports whether the folder cannot be written. It asks the system and writes no file,
// because other programs would see that file in the folder of a person.
func (t *servedDir) unwritable() bool {
	err := unix.Faccessat(int(t.self.Fd()), ".", unix.W_OK, 0)
	return errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission)
}

// nodeOf identifies a directory on its disk, by device and inode, while the disk is mounted. It
// returns "" if that is unknown.
func nodeOf(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%x:%x", stat.Dev, stat.Ino)
}

// syncEntries makes the entries of a directory durable, if the file system supports that.
func syncEntries(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, errors.ErrUnsupported) ||
		errors.Is(err, unix.EROFS) {
		return nil
	}
	return err
}
