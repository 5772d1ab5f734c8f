package folder

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// putMark writes the id of the folder, durably and at once. It is fs.ErrExist if one has come there
// meanwhile that was not to be replaced.
func (t *top) putMark(id string, replace bool) error {
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
		_ = own.Remove(name) // it is there no more, or has no use
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", idPath, err)
	}
	return syncRoot(own)
}

// stagedName is the name of a file that waits beside the id for the moment until it has its place.
func stagedName(unique string) string { return idFile + "." + unique + ".new" }

// stage writes a file that has no place yet.
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
		_ = own.Remove(name) // the first error is the one to tell
		return "", err
	}
	return name, nil
}

// place gives a staged file its place. Where files cannot have two names, there is a moment in which
// another machine's would be replaced.
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

// sweep removes what killed processes had staged. Nobody else may be writing in the folder.
func (t *top) sweep() {
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

// syncRoot makes durable which names a directory has.
func syncRoot(dir *os.Root) error {
	self, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	return syncEntries(self)
}
