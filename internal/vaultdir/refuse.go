package vaultdir

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
)

// database is the name of the file that identifies a data directory.
const database = "rookery.db"

// refuse returns the error for a folder that cannot be served, or nil. A folder that contains too
// much, such as a home directory, would be read as a whole. Directories are compared, not names, so
// another name of such a folder is refused too.
func (t *servedDir) refuse() error {
	if filepath.Dir(t.path) == t.path {
		return t.refused("is the root of the file system; name the folder of notes in it")
	}
	if home, err := os.UserHomeDir(); err == nil && t.contains(home) {
		return t.refused("is your home directory, or has it in it, and would be " +
			"read whole; name the folder of notes in it")
	}
	if t.contains(string(t.states)) {
		return t.refused("contains the states of all served folders; name a folder of notes elsewhere")
	}
	if home, err := os.Stat(string(t.states)); err == nil && contains(home, t.path) {
		return t.refused("is among the states of served folders; name a folder of notes elsewhere")
	}
	if t.hasData() {
		return t.refused("belongs to a data directory of rookery, which is served as a whole").
			Fix("rookery serve --data DIR")
	}
	return nil
}

// refused returns INVALID_PARAMETER for the folder; why completes the sentence.
func (t *servedDir) refused(why string) *fault.Fault {
	return fault.New(fault.InvalidParameter, "the folder %s %s", t.typed, why)
}

// contains reports whether path is inside the folder, or is the folder. The path need not exist.
func (t *servedDir) contains(path string) bool { return contains(t.info, resolved(path)) }

// contains reports whether path is inside dir, or is dir. It compares directories, not names, so
// other names and mounts of dir count. The path must have no symbolic links. It reads the
// information of each parent once.
func contains(dir fs.FileInfo, path string) bool {
	for at := range ancestors(path) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, dir) {
			return true
		}
	}
	return false
}

// ancestors yields a path and all its parents, the path first.
func ancestors(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(path) && filepath.Dir(path) != path {
			path = filepath.Dir(path)
		}
	}
}

// resolved returns a path without symbolic links. Its last elements need not exist.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real
	case filepath.Dir(path) == path:
		return path
	}
	return filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
}

// hasData reports whether the folder is a data directory, or is inside the vaults of one.
func (t *servedDir) hasData() bool {
	for at := range ancestors(t.path) {
		below := strings.TrimPrefix(t.path, at)
		inVaults := strings.HasPrefix(filepath.ToSlash(below)+"/", "/tenants/")
		if (below == "" || inVaults) && isDataDir(at) {
			return true
		}
	}
	return false
}

// isDataDir reports whether a directory contains a database of Rookery, or the vaults that remain
// after it was lost.
func isDataDir(path string) bool {
	dir := os.DirFS(path)
	if info, err := fs.Stat(dir, database); err == nil && info.Mode().IsRegular() {
		return true
	}
	vaults, err := fs.Glob(dir, "tenants/*/vaults")
	return err == nil && len(vaults) > 0
}

// IsState reports whether a directory is the state of a folder. Such a directory is not a data
// directory: its notes are in the folder, and only the folder can be served.
func IsState(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, recordFile))
	return err == nil && info.Mode().IsRegular()
}
