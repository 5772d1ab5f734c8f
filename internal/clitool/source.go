package clitool

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vault"
)

// maxFile is the maximum size in bytes of an imported file of a vault (CONTRACT §9).
const maxFile = 1 << 20

// A source is a folder or an archive from which files are imported. A folder is read through an
// os.Root, so that no link leads out of it. closer must be closed at the end.
type source struct {
	fsys   fs.FS
	closer io.Closer
	of     *tool.Files
	most   int // maximum size in bytes of a file that is read whole

	names []string // patterns of the files to import, see tool.Pick; nil: all
}

// openSource opens the source at a path. The user named the path, so errors may contain it. It is a
// folder, an archive if its name ends in .zip, or a single file if the tool accepts one. Nothing
// else is INVALID_PARAMETER.
func openSource(name string, of *tool.Files) (*source, error) {
	s := &source{of: of, most: maxFile}
	if of.Any {
		s.most = of.MaxBytes
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && of.Single:
		return nil, fault.New(fault.InvalidParameter, "there is no file or folder %q", name)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.InvalidParameter, "there is no folder or .zip file %q", name)
	case err != nil:
		return nil, unreadable(name, err)
	case info.IsDir():
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		s.fsys, s.closer = root.FS(), root
		return s, nil
	case isZip(name):
		s.fsys, s.closer, err = openZip(name)
		return s, err
	case of.Single && info.Mode().IsRegular():
		s.fsys, s.closer = loneFile(name), io.NopCloser(nil)
		return s, nil
	}
	return nil, fault.New(fault.InvalidParameter, "%q is neither a folder nor a .zip file", name)
}

// A loneFile is a file system with a single file in its root; its value is the path of that file.
// With it, a single file is imported like a folder.
type loneFile string

var _ fs.ReadDirFS = loneFile("")

// Open implements fs.FS. It opens the file and the root, and nothing else in the file's folder.
func (l loneFile) Open(name string) (fs.File, error) {
	switch name {
	case filepath.Base(string(l)):
		return os.Open(string(l))
	case ".":
		return os.Open(filepath.Dir(string(l)))
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir implements fs.ReadDirFS. It follows a link, because the user named it.
func (l loneFile) ReadDir(string) ([]fs.DirEntry, error) {
	info, err := os.Stat(string(l))
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}

// openZip opens an archive. If an entry has a path outside the archive, the whole archive is
// refused, because its other entries may be malicious too.
func openZip(name string) (fs.FS, io.Closer, error) {
	archive, err := zip.OpenReader(name)
	if err != nil {
		return nil, nil, unreadable(name, err)
	}
	var problems []*fault.Fault
	for _, f := range archive.File {
		if !fs.ValidPath(strings.TrimSuffix(f.Name, "/")) {
			problems = append(problems, fault.New(fault.InvalidPath,
				"the archive contains %q, which is not a path inside a folder", f.Name))
		}
	}
	if f := fault.Join(fault.InvalidPath, problems); f != nil {
		_ = archive.Close() // it was only read
		return nil, nil, f
	}
	return archive, archive, nil
}

// isZip reports whether a name has the extension .zip, in any case. The content is not looked at; a
// file that is no archive is an error when it is opened.
func isZip(name string) bool { return strings.EqualFold(path.Ext(name), ".zip") }

// A leftOut is a file or a folder that is skipped, and the reason.
type leftOut struct{ path, reason string }

// The reasons to skip something.
const (
	noNote     = "not a note"
	notPicked  = "not a file of this export format"
	dotfile    = "its name begins with a dot"
	noRegular  = "a link or a device"
	largeAudit = "larger than 1 MiB"
)

// list walks the source. It returns the files to import, configuration first and then in bytewise
// order of their paths, and the skipped files and folders, each with its reason. It follows no
// links. A folder that cannot be read is an error, because files in it would be missing without a
// message.
func (s *source) list() (files []string, left []leftOut, err error) {
	err = fs.WalkDir(s.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return unreadable(name, err)
		}
		if name == "." {
			return nil
		}
		reason := s.reasonFor(name, d)
		switch {
		case name == vault.ObsidianFolder && d.IsDir() && !s.of.Any:
			left = append(left, leftOut{name + "/", dotfile}) // except for the files of a vault in it
		case reason != "" && strings.HasPrefix(name, vault.ObsidianFolder+"/") && !s.of.Any:
			if d.IsDir() {
				return fs.SkipDir
			}
		case reason == "" && !d.IsDir():
			files = append(files, name)
		case reason != "" && d.IsDir():
			left = append(left, leftOut{name + "/", reason})
			return fs.SkipDir
		case reason != "":
			left = append(left, leftOut{name, reason})
		}
		return nil
	})
	slices.SortFunc(files, byRank)
	return files, left, err
}

// reasonFor returns the reason to skip a file or a folder, or "" if it is imported or entered. What
// is imported depends on the tool: all files, those of an export format, or those that a vault can
// have.
func (s *source) reasonFor(name string, d fs.DirEntry) string {
	_, lone := s.fsys.(loneFile)
	switch {
	case d.IsDir() && s.leadsTo(name):
		return ""
	case d.IsDir():
		return reasonForFolder(name)
	case !d.Type().IsRegular():
		return noRegular
	case lone && s.of.Any, s.names != nil && s.picks(name, true):
		return ""
	case s.of.Any && isHidden(name):
		return dotfile
	case s.names != nil && !s.picks(name, false):
		return notPicked
	case s.of.Any:
		return ""
	case vault.Path(name).Kind() == vault.KindAudit:
		if info, err := d.Info(); err == nil && info.Size() > maxFile {
			return largeAudit
		}
		return ""
	}
	return reasonForFile(name)
}

// picks reports whether a file matches a pattern: one for whole paths if whole is set, otherwise
// one for names. Case is ignored. Patterns are those of path.Match.
func (s *source) picks(file string, whole bool) bool {
	file = strings.ToLower(file)
	return slices.ContainsFunc(s.names, func(pattern string) bool {
		name := file
		if strings.Contains(pattern, "/") != whole {
			return false
		}
		if !whole {
			name = path.Base(file)
		}
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// leadsTo reports whether a pattern for whole paths may match files in a folder. Such a folder is
// entered even if it is hidden.
func (s *source) leadsTo(folder string) bool {
	return slices.ContainsFunc(s.names, func(pattern string) bool {
		return strings.HasPrefix(pattern, strings.ToLower(folder)+"/")
	})
}

// reasonForFolder returns the reason to skip a folder, or "". The hidden folders of the audit log
// and of Obsidian's settings are entered, because a vault has files in them.
func reasonForFolder(name string) string {
	if isHidden(name) && name != path.Dir(vault.AuditLog) && name != vault.ObsidianFolder {
		return dotfile
	}
	return ""
}

// isHidden reports whether the name of the file, or of a folder above it, begins with a dot. Such
// files belong to other programs, such as .git and .DS_Store.
func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// reasonForFile returns the reason to skip a file by its name, or "". The files of a vault that are
// imported are notes, the schema, the configuration and audit logs, also those of several vaults
// that were exported together.
func reasonForFile(name string) string {
	switch kind := vault.Path(name).Kind(); {
	case kind == vault.KindAudit, kind == vault.KindConfig, vault.Path(withinVault(name)).Kind() == vault.KindAudit:
		return ""
	case isHidden(name):
		return dotfile
	case kind == vault.KindNone:
		return noNote
	}
	return ""
}

// withinVault returns the path of an audit log within its vault, if several vaults were exported
// together: main/.raven/audit.log becomes .raven/audit.log. Any other path is returned unchanged.
func withinVault(name string) string {
	if i := strings.Index(name, "/.raven/"); i >= 0 {
		return name[i+1:]
	}
	return name
}

// byRank orders the schema and the configuration before notes, because they affect how notes are
// imported. Files of the same rank are in bytewise order.
func byRank(a, b string) int {
	if first, second := leads(a), leads(b); first != second {
		if first {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// leads reports whether a file is the schema or a configuration file, which an import must have
// before the notes.
func leads(name string) bool {
	kind := vault.Path(name).Kind()
	return kind == vault.KindSchema || kind == vault.KindConfig
}

// read reads a whole file. It returns its path in Unicode NFC, which a file system may not
// preserve. A file that is too large is BATCH_TOO_LARGE, or NOTE_TOO_LARGE for a note.
func (s *source) read(name string) (file, error) {
	composed, err := s.check(name)
	if err != nil {
		return file{}, err
	}
	f, err := s.fsys.Open(name)
	if err != nil {
		return file{}, unreadable(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(s.most)+1))
	switch {
	case err != nil:
		return file{}, unreadable(name, err)
	case len(data) > s.most && s.of.Any:
		return file{}, tooLarge(name, s.most)
	case len(data) > s.most:
		return file{}, fault.New(fault.NoteTooLarge, "a note has at most 1 MiB").At(name, 0)
	}
	return file{path: composed, data: data}, nil
}

// check returns the path of a file in a call. A path that is invalid in a vault is INVALID_PATH,
// unless the tool accepts files of any type, which need only have a valid name.
func (s *source) check(name string) (string, error) {
	composed := vault.CleanPath(name)
	if s.of.Any {
		if !utf8.ValidString(composed) || !validPath(composed) {
			return "", fault.New(fault.InvalidPath, "the name of a file is not valid UTF-8").
				At(strings.ToValidUTF8(name, "\ufffd"), 0)
		}
		return composed, nil
	}
	path, err := vault.ParseFile(composed)
	if err == nil {
		err = vault.CheckAdded(path)
	}
	if err != nil {
		return "", fault.Of(err).At(strings.ToValidUTF8(name, "\ufffd"), 0)
	}
	return composed, nil
}

// tooLarge returns the fault of a file that fits into no call and cannot be split: BATCH_TOO_LARGE,
// with the limit in bytes and the file as its location.
func tooLarge(name string, most int) error {
	return fault.New(fault.BatchTooLarge, "the file is larger than the %d bytes of a call", most).At(name, 0)
}

// unreadable returns the FILE_ERROR of a file that cannot be read. The name is one that the user
// typed, or relative to it.
func unreadable(name string, err error) error {
	return fault.New(fault.FileError, "%q cannot be read%s", name, why(err)).Because(err)
}

// why returns the system's reason without the path, which may be absolute, as the end of a message.
// It is "" for an error without a known reason.
func why(err error) string {
	var number syscall.Errno
	switch {
	case errors.As(err, &number):
		return ": " + number.Error()
	case errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrChecksum):
		return ": it is not a complete .zip file"
	}
	return ""
}
