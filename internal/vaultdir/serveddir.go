package vaultdir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A servedDir is an open folder that may be served. Files in it are opened through root, so that a link
// in it cannot lead outside.
type servedDir struct {
	typed  string // the path as the person wrote it, for errors
	path   string // absolute, without links
	info   fs.FileInfo
	self   *os.File
	root   *os.Root
	states states
}

// openDir opens the folder dir, and refuses folders that cannot be served. home contains the states.
// The caller must close the top.
func openDir(dir, home string) (*servedDir, error) {
	path, err := canonical(dir)
	if err != nil {
		return nil, err
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, fmt.Errorf("find the state directory: %w", err)
	}
	t := &servedDir{typed: dir, path: path, states: states(home)}
	if err := t.open(); err != nil {
		t.close()
		return nil, err
	}
	if err := t.refuse(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// canonical returns the absolute path of a folder, without symbolic links. It returns NOT_FOUND if
// there is no such folder, and INVALID_PARAMETER if the path is not valid UTF-8.
func canonical(dir string) (string, error) {
	if dir == "" {
		return "", fault.New(fault.InvalidParameter,
			"the folder has no name; the one that you are in is called .")
	}
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", fault.New(fault.NotFound, "there is no folder %s", dir).
			Fix("make it: mkdir %q", dir)
	}
	if err != nil {
		return "", fault.New(fault.FileError, "the folder %s cannot be found: %v", dir, system(err)).
			Because(err)
	}
	if !utf8.ValidString(path) {
		return "", fault.New(fault.InvalidParameter,
			"the path of the folder %q is not UTF-8; rename it", dir)
	}
	return path, nil
}

// open opens the folder and checks that it can be listed. It sets root, self and info. It returns
// INVALID_PARAMETER for a path that is a file. An empty folder is not an error.
func (t *servedDir) open() error {
	info, err := os.Stat(t.path)
	if err == nil && !info.IsDir() {
		return fault.New(fault.InvalidParameter,
			"%s is a file; name the folder that contains it", t.typed)
	}
	if err == nil {
		t.root, err = os.OpenRoot(t.path)
	}
	if err == nil {
		t.self, err = t.root.Open(".")
	}
	if err == nil {
		t.info, err = t.self.Stat()
	}
	if err == nil {
		_, err = t.self.Readdirnames(1)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return t.unreadable(err)
	}
	return nil
}

// unreadable returns FILE_ERROR for a folder that cannot be opened or listed.
func (t *servedDir) unreadable(err error) error {
	return fault.New(fault.FileError, "the folder %s cannot be read: %v", t.typed, system(err)).
		Because(err)
}

// close closes the folder, except for the file that may have its lock.
func (t *servedDir) close() {
	if t.root != nil {
		t.root.Close()
	}
	if t.self != nil {
		t.self.Close()
	}
}

// is reports whether path leads to the folder.
func (t *servedDir) is(path string) bool {
	info, err := os.Stat(path)
	return err == nil && os.SameFile(info, t.info)
}

// fail returns FILE_ERROR for a file in the folder that cannot be used. verb is a participle, such
// as read.
func (t *servedDir) fail(verb, name string, err error) error {
	return fault.New(fault.FileError, "%s in the folder %s cannot be %s: %v", name, t.typed, verb,
		system(err)).Because(err)
}

// system returns the error of the operating system without the path and the operation, for a
// message that names the folder itself.
func system(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
