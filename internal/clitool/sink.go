package clitool

import (
	"archive/zip"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"rookery/internal/fault"
)

// openSink makes a folder, if it is not there, or a new archive.
func openSink(name string) (sink, error) {
	info, err := os.Stat(name)
	if isZip(name) && (err != nil || !info.IsDir()) {
		return newZipSink(name)
	}
	if err == nil && !info.IsDir() {
		return nil, fault.New(fault.InvalidParameter, "%q is neither a folder nor a .zip file", name)
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, unwritable(name, err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, unwritable(name, err)
	}
	return &folderSink{root: root, written: map[string]bool{}}, nil
}

// validPath reports whether a path, with slashes, names a file inside a folder on this system, and
// leads nowhere else.
func validPath(name string) bool {
	_, err := filepath.Localize(name)
	return err == nil && name != "." && !strings.ContainsRune(name, 0)
}

// A folderSink writes into a folder, through an os.Root: no link leads out of it. Each file takes
// its place when it is whole, and no other file is touched.
type folderSink struct {
	root    *os.Root
	written map[string]bool

	file *os.File // the file that is being written, under a name of its own
	temp string
	path string // the name that it will have
}

func (s *folderSink) put(f file) error {
	if err := checkPath(f.Path); err != nil {
		return err
	}
	if f.Part > 1 {
		if s.file == nil || s.path != f.Path {
			return fmt.Errorf("write %s: part %d follows no other part", f.Path, f.Part)
		}
	} else if err := s.begin(f.Path); err != nil {
		return err
	}
	if _, err := s.file.WriteString(f.Text); err != nil {
		return unwritable(f.Path, err)
	}
	return nil
}

// begin ends the file before, and opens a new one beside its place.
func (s *folderSink) begin(name string) error {
	if err := s.end(); err != nil {
		return err
	}
	if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return unwritable(name, err)
	}
	s.path, s.temp = name, path.Join(path.Dir(name), ".rookery-"+rand.Text())
	f, err := s.root.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return unwritable(name, err)
	}
	s.file = f
	return nil
}

// end puts the file that is being written in its place.
func (s *folderSink) end() error {
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); err != nil {
		return unwritable(s.path, err)
	}
	if err := s.root.Rename(s.temp, s.path); err != nil {
		return unwritable(s.path, err)
	}
	s.file, s.written[s.path] = nil, true
	return nil
}

func (s *folderSink) finish() (others int, err error) {
	if err := s.end(); err != nil {
		return 0, err
	}
	err = fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // what cannot be listed was not written by us
		}
		if !d.IsDir() && !s.written[name] {
			others++
		}
		return nil
	})
	return others, err
}

func (s *folderSink) drop() {
	if s.file != nil {
		s.file.Close()
		_ = s.root.Remove(s.temp) // a leftover with a hidden name does no harm
		s.file = nil
	}
	s.root.Close()
}

// epoch is the time of every file in an archive, so that the same files make the same archive: the
// first that the format knows.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// A zipSink writes an archive, which takes its place when it is whole.
type zipSink struct {
	file    *os.File
	archive *zip.Writer
	name    string
	entry   io.Writer
	path    string // of the entry
}

// newZipSink makes the archive beside its place, so that it can be moved there in one step.
func newZipSink(name string) (sink, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".rookery-*")
	if err != nil {
		return nil, unwritable(name, err)
	}
	return &zipSink{file: f, archive: zip.NewWriter(f), name: name}, nil
}

func (s *zipSink) put(f file) (err error) {
	if err := checkPath(f.Path); err != nil {
		return err
	}
	switch {
	case f.Part <= 1:
		s.path = f.Path
		header := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: epoch}
		if s.entry, err = s.archive.CreateHeader(header); err != nil {
			return unwritable(f.Path, err)
		}
	case s.path != f.Path:
		return fmt.Errorf("write %s: part %d follows no other part", f.Path, f.Part)
	}
	if _, err := io.WriteString(s.entry, f.Text); err != nil {
		return unwritable(f.Path, err)
	}
	return nil
}

func (s *zipSink) finish() (others int, err error) {
	err = errors.Join(s.archive.Close(), s.file.Chmod(0o644), s.file.Close())
	if err == nil {
		err = os.Rename(s.file.Name(), s.name)
	}
	if err != nil {
		return 0, unwritable(s.name, err)
	}
	s.file = nil
	return 0, nil
}

func (s *zipSink) drop() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name()) // a leftover with a hidden name does no harm
	}
}

// unwritable is the fault of a file that the system does not take: a fault of the path if that
// leads out of the folder.
func unwritable(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes") {
		return fault.New(fault.InvalidPath, "%q leads out of the folder", name).Because(err)
	}
	return fault.New(fault.FileError, "%q cannot be written%s", name, why(err)).Because(err)
}
