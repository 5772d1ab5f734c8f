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

// A root is the folder that is watched, and how the files in it are reached.
type root struct {
	base string   // paths begin with it
	dir  *os.File // keeps base true when the folder is moved; nil where that cannot be had
	id   identity // what base led to at the start
}

// openRoot holds a folder by a descriptor if its files can be reached that way, or else by name.
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

// openFolder opens a folder that may be read.
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

// descriptorPath is a name that leads to an open folder wherever it is moved. Only Linux has one.
func descriptorPath(dir *os.File, info fs.FileInfo) (string, bool) {
	if runtime.GOOS != "linux" {
		return "", false
	}
	base := fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
	there, err := os.Stat(base)
	return base, err == nil && os.SameFile(info, there)
}

// abs is where a path of the tree is found.
func (r *root) abs(name string) string {
	if name == "" {
		return r.base
	}
	return filepath.Join(r.base, filepath.FromSlash(name))
}

// rel is the path in the tree of what was found. ok is false for what is not in the tree.
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
	return filepath.ToSlash(rest), os.IsPathSeparator(r.base[len(r.base)-1])
}

// stat looks at what a name is, never through a link; the root's own name may be one.
func (r *root) stat(name string) (fs.FileInfo, error) {
	if name == "" {
		return os.Stat(r.base)
	}
	return os.Lstat(r.abs(name))
}

// lost says why there is nothing to watch any longer, or nothing. A held root that was removed is
// kept by its descriptor, without a name; one that is known by name is lost with the name.
func (r *root) lost() (reason string) {
	if r.dir != nil {
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

func (r *root) close() {
	if r.dir != nil {
		r.dir.Close() // nothing was written
	}
}
