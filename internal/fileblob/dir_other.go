//go:build !linux && !darwin

package fileblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rookeryhq/rookery/internal/blob"
)

// A dir is an open directory. os.Root follows links that stay inside it, so a file is compared with
// its earlier lstat after it is opened.
type dir struct {
	*os.File
	root *os.Root
}

// openTop opens the directory at a path. Links in the path are followed.
func openTop(path string) (dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return dir{}, err
	}
	return asDir(root)
}

// asDir returns a root as a dir, which then owns it.
func asDir(root *os.Root) (dir, error) {
	file, err := root.Open(".")
	if err != nil {
		root.Close()
		return dir{}, err
	}
	return dir{file, root}, nil
}

// Close closes the directory.
func (d dir) Close() error {
	_ = d.File.Close() // it was only read
	return d.root.Close()
}

// enter opens the subdirectory with a name. A plain file is fs.ErrNotExist; anything else is
// blob.ErrForeign. os.Root would follow a link that stays inside it, so the directory that was
// opened must be the one that lstat found; if they differ, it looks again, and after ten times the
// error is errMoved.
func (d dir) enter(name string) (dir, error) {
	for range 10 {
		want, err := d.lstat(name)
		switch {
		case err != nil:
			return dir{}, err
		case want.Mode().IsRegular():
			return dir{}, fmt.Errorf("enter a file: %w", fs.ErrNotExist)
		case name != "." && !want.IsDir():
			return dir{}, fmt.Errorf("%w: on the way", blob.ErrForeign)
		}
		root, err := d.root.OpenRoot(name)
		if err != nil {
			return dir{}, err
		}
		got, err := root.Stat(".")
		if err == nil && os.SameFile(want, got) {
			return asDir(root)
		}
		root.Close()
		if err != nil {
			return dir{}, err
		}
	}
	return dir{}, errMoved
}

// openPlain opens a file that lstat, which returned want, found to be plain. If it is another file
// by now, the error is errMoved.
func (d dir) openPlain(name string, flags int, want fs.FileInfo) (*os.File, fs.FileInfo, error) {
	file, err := d.root.OpenFile(name, flags, 0)
	if err != nil {
		return nil, nil, err
	}
	got, err := file.Stat()
	if err == nil && !os.SameFile(want, got) {
		err = errMoved
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, got, nil
}

// create creates and opens a plain file. If the name exists, the error is fs.ErrExist.
func (d dir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// lstat returns the metadata of a name without following a link.
func (d dir) lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// look returns the entries with these names. Names that do not exist are omitted.
func (d dir) look(names []string) ([]entry, error) {
	found := make([]entry, 0, len(names))
	for _, name := range names {
		info, err := d.lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, entry{
			name: name, mode: info.Mode(), size: info.Size(), modified: info.ModTime(),
		})
	}
	return found, nil
}

// mkdir creates a subdirectory.
func (d dir) mkdir(name string, perm uint32) error { return d.root.Mkdir(name, fs.FileMode(perm)) }

// remove removes a file or an empty directory.
func (d dir) remove(name string) error { return d.root.Remove(name) }

// leap returns false: on this system a path is opened segment by segment.
func (dir) leap(string) (dir, bool) { return dir{}, false }
