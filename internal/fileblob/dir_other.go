//go:build !linux && !darwin

package fileblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"rookery/internal/blob"
)

// A dir is an open directory. Root follows links that stay inside it, so what is opened is compared
// with what had been looked at.
type dir struct {
	*os.File
	root *os.Root
}

// openTop opens the directory at a path, whose links are followed.
func openTop(path string) (dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return dir{}, err
	}
	return asDir(root)
}

// asDir takes a root over.
func asDir(root *os.Root) (dir, error) {
	file, err := root.Open(".")
	if err != nil {
		root.Close()
		return dir{}, err
	}
	return dir{file, root}, nil
}

func (d dir) Close() error {
	_ = d.File.Close() // it was only read
	return d.root.Close()
}

// enter opens the directory of a name. A plain file is fs.ErrNotExist, and what else is no
// directory blob.ErrForeign.
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

// openPlain opens a file that was looked at and found to be plain; errMoved says that it is another
// thing by now.
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

// create makes and opens a plain file where nothing is; else fs.ErrExist.
func (d dir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func (d dir) lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

// look tells of names what there is. One that is gone is left out.
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

func (d dir) mkdir(name string, perm uint32) error { return d.root.Mkdir(name, fs.FileMode(perm)) }

func (d dir) remove(name string) error { return d.root.Remove(name) }

// leap opens nothing here: the way to a directory is gone segment by segment.
func (dir) leap(string) (dir, bool) { return dir{}, false }
