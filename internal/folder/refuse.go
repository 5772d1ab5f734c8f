package folder

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"rookery/internal/fault"
)

// database is the file by which a data directory is known.
const database = "rookery.db"

// refuse is the fault of a folder that notes cannot be served from.
func (t *top) refuse() error {
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

func (t *top) refused(why string) *fault.Fault {
	return fault.New(fault.InvalidParameter, "the folder %s %s", t.typed, why)
}

// contains reports whether a path is, or would be, that of the folder or of a thing in it.
func (t *top) contains(path string) bool { return contains(t.info, resolved(path)) }

// contains reports whether a path without links is that of a directory or of a thing in it, whatever
// other names and mounts lead there.
func contains(dir fs.FileInfo, path string) bool {
	for at := range upwards(path) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, dir) {
			return true
		}
	}
	return false
}

// upwards yields a path and all that it lies in.
func upwards(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(path) && filepath.Dir(path) != path {
			path = filepath.Dir(path)
		}
	}
}

// resolved is a path without links. Its last parts need not exist.
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

// hasData reports whether the folder is a data directory, or lies among the vaults of one.
func (t *top) hasData() bool {
	for at := range upwards(t.path) {
		below := strings.TrimPrefix(t.path, at)
		inVaults := strings.HasPrefix(filepath.ToSlash(below)+"/", "/tenants/")
		if (below == "" || inVaults) && isDataDir(at) {
			return true
		}
	}
	return false
}

// isDataDir reports whether a directory has a database of ours, or the vaults that are left when it
// was lost.
func isDataDir(path string) bool {
	dir := os.DirFS(path)
	if info, err := fs.Stat(dir, database); err == nil && info.Mode().IsRegular() {
		return true
	}
	vaults, err := fs.Glob(dir, "tenants/*/vaults")
	return err == nil && len(vaults) > 0
}

// IsState reports whether a directory is the state of a folder. It is no data directory: its notes lie
// in the folder, and it is served through that alone.
func IsState(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, recordFile))
	return err == nil && info.Mode().IsRegular()
}
