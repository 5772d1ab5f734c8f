package vaultdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// putMark writes the id of the folder, atomically and durably: to a temporary file, which is synced
// and then renamed. If replace is false and another process has written an id meanwhile, the error
// is fs.ErrExist.
func (t *servedDir) putMark(id string, replace bool) error {
	err := t.root.Mkdir(ownDir, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", ownDir, err)
	}
	if err := syncEntries(t.self); err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	own, err := t.own()
	if err != nil {
		return err
	}
	defer own.Close()
	name, err := stage(own, id+"\n")
	if err == nil {
		err = place(own, name, replace)
		_ = own.Remove(name) // after the rename it does not exist; otherwise it is useless
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", idPath, err)
	}
	return syncRoot(own)
}

// stagedName returns the name of a temporary file beside the id.
func stagedName(unique string) string { return idFile + "." + unique + ".new" }

// stage writes a temporary file and syncs it. It returns its name, which is unique. On an error it
// removes the file.
func stage(own *os.Root, text string) (name string, err error) {
	name = stagedName(rand.Text())
	file, err := own.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = own.Remove(name) // the caller needs the first error
		return "", err
	}
	return name, nil
}

// place renames a staged file to the id file. If replace is false, it fails with fs.ErrExist if
// there is one. On a file system without hard links, an id that another machine writes at the same
// moment may be replaced nevertheless.
func place(own *os.Root, name string, replace bool) error {
	if !replace {
		err := own.Link(name, idFile)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
		_, err = own.Lstat(idFile)
		if err == nil {
			return fs.ErrExist
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return own.Rename(name, idFile)
}

// sweep removes temporary files of processes that were killed. The caller has the lock of the
// folder, so no other process is writing one. Errors are ignored, because the files do no harm.
func (t *servedDir) sweep() {
	own, err := t.own()
	if err != nil {
		return
	}
	defer own.Close()
	entries, err := fs.ReadDir(own.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if staged, err := path.Match(stagedName("*"), e.Name()); err == nil && staged {
			_ = own.Remove(e.Name()) // the next process tries again
		}
	}
}

// syncRoot makes the entries of a directory durable, such as a renamed file.
func syncRoot(dir *os.Root) error {
	self, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	return syncEntries(self)
}
