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

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// openSink opens the destination at a path: a folder, which it creates if necessary, a new archive
// or, if the tool can write a single file, a file. The caller must call finish or drop. A path that
// ends in a slash is always a folder, and one that ends in .zip an archive, unless there is a
// folder of that name.
func openSink(name string, of *tool.Files) (sink, error) {
	info, err := os.Stat(name)
	isDir := err == nil && info.IsDir()
	fresh := of.Fill != ""
	switch {
	case isZip(name) && !isDir:
		return newZipSink(name, fresh)
	case of.Single && !isDir && !endsWithSlash(name):
		return &loneSink{at: name, fresh: fresh}, nil
	}
	to, err := newFolderSink(name, fresh)
	if err != nil {
		return nil, err
	}
	return to, nil
}

// endsWithSlash reports whether a path can only be that of a folder: it ends in a separator of this
// system, or is empty.
func endsWithSlash(name string) bool { return name == "" || os.IsPathSeparator(name[len(name)-1]) }

// newFolderSink opens a folder and creates it if necessary. With fresh, existing files are kept. A
// path that is a file is INVALID_PARAMETER.
func newFolderSink(name string, fresh bool) (*folderSink, error) {
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return nil, fault.New(fault.InvalidParameter, "%q is neither a folder nor a .zip file", name)
	}
	if err := os.MkdirAll(name, 0o755); err != nil {
		return nil, unwritable(name, err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, unwritable(name, err)
	}
	return &folderSink{root: root, at: name, fresh: fresh, written: map[string]string{}}, nil
}

// validPath reports whether a path with slashes is a valid file name on this system and stays
// within its folder. It does not look at the file system.
func validPath(name string) bool {
	_, err := filepath.Localize(name)
	return err == nil && name != "." && !strings.ContainsRune(name, 0)
}

// A folderSink writes to a folder through an os.Root, so that no link leads out of it. A file gets
// its name when it is complete. Other files are not changed. A file with the same name is replaced,
// unless fresh is set.
type folderSink struct {
	root    *os.Root
	at      string            // the folder as the user named it
	fresh   bool              // existing files are kept; a new file gets the next free name
	written map[string]string // names in the folder by the paths of the files

	file *os.File // the current file, under a temporary name
	temp string
	path string // path of the current file in the answer
	to   string // its final name
}

// put implements sink.
func (s *folderSink) put(f file) error {
	if err := checkPath(f.path); err != nil {
		return err
	}
	return s.putAs(f, f.path)
}

// putAs writes one entry of a file under a name. The first entry of a file completes the one before
// it; the others must follow it directly.
func (s *folderSink) putAs(f file, name string) error {
	if f.part > 1 {
		if s.file == nil || s.path != f.path {
			return fmt.Errorf("write %s: part %d follows no other part", f.path, f.part)
		}
	} else if err := s.begin(f.path, name); err != nil {
		return err
	}
	if _, err := s.file.Write(f.data); err != nil {
		return unwritable(f.path, err)
	}
	return nil
}

// begin completes the previous file and opens a new one under a temporary name in the same folder,
// so that it can be renamed. It creates the folders of the name.
func (s *folderSink) begin(of, name string) error {
	if err := s.end(); err != nil {
		return err
	}
	if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return unwritable(name, err)
	}
	s.path, s.to, s.temp = of, name, path.Join(path.Dir(name), ".rookery-"+rand.Text())
	f, err := s.root.OpenFile(s.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return unwritable(name, err)
	}
	s.file = f
	return nil
}

// end renames the current file to its final name, or to the next free one. It does nothing if there
// is no current file.
func (s *folderSink) end() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if err == nil && s.fresh {
		s.to, err = s.reserve(s.to)
	}
	if err == nil {
		err = s.root.Rename(s.temp, s.to)
	}
	if err != nil {
		return unwritable(s.path, err)
	}
	s.file, s.written[s.path] = nil, s.to
	return nil
}

// reserve creates an empty file under a name, or under the next free one.
func (s *folderSink) reserve(name string) (string, error) {
	return reserve(name, func(name string) (*os.File, error) {
		return s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	})
}

// maxTries is the maximum number of names tried for one file.
const maxTries = 100_000

// reserve creates an empty file under a name, or under the next free one: a.md, a-2.md, a-3.md.
// Existing files are not changed. The empty file is then replaced by the complete one, so two
// programs that export at the same time do not choose the same name.
func reserve(name string, create func(name string) (*os.File, error)) (string, error) {
	ext := path.Ext(name)
	for i := 1; ; i++ {
		free := name
		if i > 1 {
			free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), i, ext)
		}
		f, err := create(free)
		if err == nil {
			return free, f.Close()
		}
		if !errors.Is(err, fs.ErrExist) || i == maxTries {
			return "", err
		}
	}
}

// finish implements sink.
func (s *folderSink) finish() error { return s.end() }

// others implements sink. It counts the files in the folder that were not written by this sink, in
// all of its folders.
func (s *folderSink) others() (n int) {
	ours := map[string]bool{}
	for _, name := range s.written {
		ours[name] = true
	}
	_ = fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fs.SkipDir // a folder that cannot be listed contains no files written by this program
		}
		if !d.IsDir() && !ours[name] {
			n++
		}
		return nil
	})
	return n
}

// name implements sink. It is relative to the working directory as far as the user's path is. It
// has a number if the name was taken and fresh is set.
func (s *folderSink) name(path string) string {
	return filepath.Join(s.at, filepath.FromSlash(s.written[path]))
}

// drop implements sink. It removes the incomplete file and closes the folder.
func (s *folderSink) drop() {
	if s.file != nil {
		s.file.Close()
		_ = s.root.Remove(s.temp) // a leftover with a hidden name does no harm
		s.file = nil
	}
	s.root.Close()
}

// epoch is the modification time of all files in an archive, so that the same files produce the
// same archive. It is the earliest time of the format.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// A zipSink writes an archive, which gets its name when it is complete. An existing archive of that
// name is replaced then, unless fresh is set.
type zipSink struct {
	file    *os.File
	archive *zip.Writer
	at      string
	fresh   bool // an existing archive is kept
	entry   io.Writer
	path    string // path of the current entry
}

// newZipSink creates the archive in the folder of its final name, so that it can be renamed
// atomically.
func newZipSink(name string, fresh bool) (sink, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".rookery-*")
	if err != nil {
		return nil, unwritable(name, err)
	}
	return &zipSink{file: f, archive: zip.NewWriter(f), at: name, fresh: fresh}, nil
}

// put implements sink. Entries have the same time and the same compression, so the same files
// produce the same bytes.
func (s *zipSink) put(f file) (err error) {
	if err := checkPath(f.path); err != nil {
		return err
	}
	switch {
	case f.part <= 1:
		s.path = f.path
		header := &zip.FileHeader{Name: f.path, Method: zip.Deflate, Modified: epoch}
		if s.entry, err = s.archive.CreateHeader(header); err != nil {
			return unwritable(f.path, err)
		}
	case s.path != f.path:
		return fmt.Errorf("write %s: part %d follows no other part", f.path, f.part)
	}
	if _, err := s.entry.Write(f.data); err != nil {
		return unwritable(f.path, err)
	}
	return nil
}

// finish implements sink. It completes the archive and renames it to its final name. If that fails,
// drop removes it.
func (s *zipSink) finish() error {
	err := errors.Join(s.archive.Close(), s.file.Chmod(0o644), s.file.Close())
	if err == nil && s.fresh {
		s.at, err = reserve(s.at, func(name string) (*os.File, error) {
			return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		})
	}
	if err == nil {
		err = os.Rename(s.file.Name(), s.at)
	}
	if err != nil {
		return unwritable(s.at, err)
	}
	s.file = nil
	return nil
}

// others implements sink. A new archive contains no other files.
func (s *zipSink) others() int { return 0 }

// name implements sink. It is the path of the archive followed by that of the entry, as if the
// archive were a folder.
func (s *zipSink) name(path string) string { return filepath.Join(s.at, filepath.FromSlash(path)) }

// drop implements sink. It removes the incomplete archive.
func (s *zipSink) drop() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name()) // a leftover with a hidden name does no harm
	}
}

// unwritable returns the FILE_ERROR of a file that cannot be written, with the system's reason. It
// is INVALID_PATH if the path leads out of the folder, through a link for example.
func unwritable(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) && strings.Contains(at.Err.Error(), "escapes") {
		return fault.New(fault.InvalidPath, "%q is outside the folder", name).Because(err)
	}
	return fault.New(fault.FileError, "%q cannot be written%s", name, why(err)).Because(err)
}

// A loneSink writes a single file to the path itself, if the answer has just one file and the path
// has its extension or is an existing file. Otherwise the path is a folder. It keeps the first file
// in memory until it knows which.
//
//	note.md    one file, NAME.md: it is written to note.md
//	out        one file, NAME.md: it is written to out/NAME.md
//	out.md     two files: both are written to the folder out.md
type loneSink struct {
	at    string
	fresh bool

	first []file // parts of the first file
	to    *folderSink
	lone  string // name in the folder, if there is only one file
}

var _ sink = (*loneSink)(nil)

// put implements sink. The second file shows that the path is a folder; until then the parts of the
// first are kept.
func (s *loneSink) put(f file) error {
	switch {
	case s.to != nil:
		return s.to.put(f)
	case len(s.first) == 0, f.part > 1 && s.first[0].path == f.path:
		if len(s.first) == 0 && f.part > 1 {
			return fmt.Errorf("write %s: part %d follows no other part", f.path, f.part)
		}
		s.first = append(s.first, f)
		return checkPath(f.path)
	}
	if err := s.open(s.at); err != nil {
		return err
	}
	return s.to.put(f)
}

// open opens the folder and writes the first file to it, under the name lone if that is set. If it
// fails, the sink has no folder, so that drop does nothing.
func (s *loneSink) open(folder string) (err error) {
	if s.to, err = newFolderSink(folder, s.fresh); err != nil {
		s.to = nil
		return err
	}
	for _, f := range s.first {
		name := f.path
		if s.lone != "" {
			name = s.lone
		}
		if err := s.to.putAs(f, name); err != nil {
			return err
		}
	}
	s.first = nil
	return nil
}

// finish implements sink. It decides whether the path is a file or a folder, if there was only one
// file. Without any file it creates an empty folder.
func (s *loneSink) finish() error {
	if s.to == nil {
		folder := s.at
		if s.isFile() {
			folder, s.lone = filepath.Dir(s.at), filepath.Base(s.at)
		}
		if err := s.open(folder); err != nil {
			return err
		}
	}
	return s.to.finish()
}

// isFile reports whether the path is that of a file: it exists as a file, or has the extension of
// the only file, in any case. Without any file to write it is false, so an empty export creates an
// empty folder and never an empty file.
func (s *loneSink) isFile() bool {
	if info, err := os.Stat(s.at); err == nil {
		return len(s.first) > 0 && !info.IsDir()
	}
	ext := filepath.Ext(s.at)
	return len(s.first) > 0 && ext != "" && strings.EqualFold(ext, filepath.Ext(s.first[0].path))
}

// others implements sink. For a single file it is 0: what lies beside it is not looked at, because its
// folder may be a home directory, with all that is below it.
func (s *loneSink) others() int {
	if s.lone != "" {
		return 0
	}
	return s.to.others()
}

// name implements sink.
func (s *loneSink) name(path string) string { return s.to.name(path) }

// drop implements sink. Parts in memory need no cleanup.
func (s *loneSink) drop() {
	if s.to != nil {
		s.to.drop()
	}
}
