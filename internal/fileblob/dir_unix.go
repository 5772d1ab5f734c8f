//go:build linux || darwin

package fileblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A dir is an open directory. Its methods are system calls relative to the descriptor: they look up
// no path and follow no link. Their names must be single names without slashes. It is safe for
// concurrent use until it is closed.
type dir struct{ *os.File }

// openTop opens the directory at a path. Links in the path are followed.
func openTop(path string) (dir, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	return dir{file}, err
}

// enter opens the subdirectory with a name. A plain file is fs.ErrNotExist, as for a path below a
// file; anything else, such as a link, is blob.ErrForeign. If the name changes again and again
// while it is opened, the error is errMoved.
func (d dir) enter(name string) (dir, error) {
	for range 10 {
		file, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err == nil {
			return dir{file}, nil
		}
		if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			return dir{}, err
		}
		info, err := d.lstat(name)
		switch {
		case err != nil:
			return dir{}, err
		case info.Mode().IsRegular():
			return dir{}, fmt.Errorf("enter a file: %w", fs.ErrNotExist)
		case !info.IsDir():
			return dir{}, fmt.Errorf("%w: on the way", blob.ErrForeign)
		}
		// It was replaced by a directory after the first look; try again.
	}
	return dir{}, errMoved
}

// open opens the file with a name without following a link.
func (d dir) open(name string, flags int, perm uint32) (*os.File, error) {
	const always = unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd := -1
	err := d.by(func(at int) (err error) {
		fd, err = unix.Openat(at, name, flags|always, perm)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openPlain opens a file that lstat found to be plain. If it is not a plain file by now, the error
// is errMoved, and the caller looks again. Opening a FIFO or a device could block, so lstat comes
// first.
func (d dir) openPlain(name string, flags int, _ fs.FileInfo) (*os.File, fs.FileInfo, error) {
	file, err := d.open(name, flags, 0)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EISDIR) {
		return nil, nil, errMoved
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errMoved
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// create creates and opens a plain file. If the name exists, the error is fs.ErrExist.
func (d dir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, uint32(perm))
}

// lstat returns the entry with a name, without following a link.
func (d dir) lstat(name string) (fs.FileInfo, error) {
	found, err := d.look([]string{name})
	if err == nil && len(found) == 0 {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	return &found[0], nil
}

// look returns the entries with these names. Names that do not exist are omitted.
func (d dir) look(names []string) ([]entry, error) {
	found := make([]entry, 0, len(names))
	err := d.by(func(at int) error {
		found = found[:0]
		for _, name := range names {
			var stat unix.Stat_t
			err := unix.Fstatat(at, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
			if err == nil {
				found = append(found, newEntry(name, &stat))
			} else if !errors.Is(err, unix.ENOENT) {
				return err
			}
		}
		return nil
	})
	return found, err
}

// newEntry returns the entry of a stat result.
func newEntry(name string, stat *unix.Stat_t) entry {
	return entry{
		name: name, mode: modeOf(stat), size: stat.Size, inode: stat.Ino,
		modified: time.Unix(stat.Mtim.Unix()), changed: time.Unix(stat.Ctim.Unix()),
	}
}

// modeOf returns the mode of a stat result. Everything but plain files and directories is
// irregular.
func modeOf(stat *unix.Stat_t) fs.FileMode {
	perm := fs.FileMode(stat.Mode) & fs.ModePerm
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return perm
	case unix.S_IFDIR:
		return perm | fs.ModeDir
	}
	return perm | fs.ModeIrregular
}

// mkdir creates a subdirectory.
func (d dir) mkdir(name string, perm uint32) error {
	return d.by(func(at int) error { return unix.Mkdirat(at, name, perm) })
}

// remove removes a file that is not a directory.
func (d dir) remove(name string) error {
	return d.by(func(at int) error { return unix.Unlinkat(at, name, 0) })
}

// by calls a function with the descriptor, again if it was interrupted by a signal. The descriptor
// stays open during the call, even if another goroutine closes the directory. The error is that of
// the function, or os.ErrClosed.
func (d dir) by(call func(at int) error) error {
	conn, err := d.SyscallConn()
	if err != nil {
		return err
	}
	var called error
	err = conn.Control(func(fd uintptr) {
		called = call(int(fd))
		for errors.Is(called, unix.EINTR) {
			called = call(int(fd))
		}
	})
	return errors.Join(err, called)
}
