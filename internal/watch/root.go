package watch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A root is the folder at the top of a tree, with the path by which its files are accessed.
type root struct {
	base string   // prefix of all absolute paths
	dir  *os.File // keeps base valid if the folder is moved; nil if it is accessed by name
	id   identity // of the folder at Open; set only if dir is nil
}

// openRoot opens a folder. It keeps a descriptor if files can be accessed through it and byName
// is not set; otherwise it accesses them by name.
//
// Symbolic links in the path are resolved once, so a link that changes later does not matter.
func openRoot(name string, byName bool) (*root, error) {
	full, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if full, err = filepath.EvalSymlinks(full); err != nil {
		return nil, err
	}
	dir, err := openFolder(full)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err != nil {
		dir.Close()
		return nil, err
	}
	if base, ok := descriptorPath(dir, info); ok && !byName {
		return &root{base: base, dir: dir}, nil
	}
	return &root{base: full, id: identityOf(info)}, dir.Close()
}

// openFolder opens a folder; it fails for anything else, and without read permission.
func openFolder(name string) (*os.File, error) {
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// descriptorPath returns a path that leads to an open folder even after it is moved; false if
// there is none. Only Linux has such paths.
func descriptorPath(dir *os.File, info fs.FileInfo) (string, bool) {
	if runtime.GOOS != "linux" {
		return "", false
	}
	base := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	// /proc can be missing, or belong to another process namespace.
	there, err := os.Stat(base)
	return base, err == nil && os.SameFile(info, there)
}

// abs returns the absolute path of a slash path in the tree; "" is the root.
func (r *root) abs(name string) string {
	if name == "" {
		return r.base
	}
	return filepath.Join(r.base, filepath.FromSlash(name))
}

// rel returns the slash path in the tree of an absolute path; false if it is not in the tree.
func (r *root) rel(found string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(found, r.base)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "", true
	case os.IsPathSeparator(rest[0]):
		return filepath.ToSlash(rest[1:]), true
	}
	// Only a root of the file system ends with a separator; otherwise found is a sibling whose
	// name begins with the name of the root.
	return filepath.ToSlash(rest), os.IsPathSeparator(r.base[len(r.base)-1])
}

// stat returns information about a file. It does not follow a symbolic link, except for the root.
func (r *root) stat(name string) (fs.FileInfo, error) {
	if name == "" {
		return os.Stat(r.base)
	}
	return os.Lstat(r.abs(name))
}

// lost returns the reason why the root is lost; "" if it is not. A root with a descriptor is lost
// when it is removed; one that is accessed by name is lost when the name no longer leads to the
// same folder.
func (r *root) lost() (reason string) {
	if r.dir != nil {
		// A removed folder can still be examined by its descriptor, but has no links.
		info, err := r.dir.Stat()
		if err == nil && nameless(info) {
			return reasonRemoved
		}
		return ""
	}
	info, err := os.Stat(r.base)
	if err != nil || !info.IsDir() || identityOf(info) != r.id {
		return reasonMoved
	}
	return ""
}

// close closes the descriptor of the root.
func (r *root) close() {
	if r.dir != nil {
		r.dir.Close() // nothing was written
	}
}
