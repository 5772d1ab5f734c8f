//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package vaultdir

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// lock always returns errors.ErrUnsupported here. Only the lock of the database is left.
func lock(*os.File) error { return errors.ErrUnsupported }

// unwritable reports whether the folder cannot be written. There is no call that reports this, so
// it creates a file beside the id, if there is one.
func (t *servedDir) unwritable() bool {
	own, err := t.own()
	if err != nil {
		return false
	}
	defer own.Close()
	name, err := stage(own, "")
	if err == nil {
		_ = own.Remove(name) // the file is empty, and the next process tries to remove it again
	}
	return errors.Is(err, fs.ErrPermission)
}

// nodeOf returns "" here: directories are identified by their paths only.
func nodeOf(fs.FileInfo) string { return "" }

// syncEntries makes the entries of a directory durable. Windows has no such call: NTFS journals its
// entries.
func syncEntries(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
