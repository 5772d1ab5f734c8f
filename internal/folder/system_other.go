//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package folder

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// lock locks nothing here. What is left is the database's own lock.
func lock(*os.File) error { return errors.ErrUnsupported }

// unwritable reports whether nothing can be written to the folder. There is no way to ask; so it tries
// it beside the id, if there is one.
func (t *top) unwritable() bool {
	own, err := t.own()
	if err != nil {
		return false
	}
	defer own.Close()
	name, err := stage(own, "")
	if err == nil {
		_ = own.Remove(name) // the file is empty, and the next process tries again
	}
	return errors.Is(err, fs.ErrPermission)
}

// nodeOf says nothing here: directories are known by their paths.
func nodeOf(fs.FileInfo) string { return "" }

// syncEntries makes durable which names a directory has. Windows has no such call: NTFS journals its
// entries.
func syncEntries(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
