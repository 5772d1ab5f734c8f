package vaultdir

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/vault"
)

// A verdict says how a folder relates to the known states. It is the input of a claim: which id the
// folder must get and what to record.
type verdict struct {
	mark   mark    // the id that the folder contains
	id     string  // the id that it must get; empty: a new one
	known  *record // the record of the state of the id; nil if there is none yet
	path   string  // the path to record
	origin Origin
	from   string
}

// decide finds out how the folder relates to the known states, by its id file and the records. It
// needs no lock and writes nothing. The verdict can be outdated when the caller uses it, so settle
// checks it under the lock of the state.
func (t *servedDir) decide() (verdict, error) {
	m, err := t.mark()
	if err != nil {
		return verdict{}, err
	}
	if m.id == "" {
		return t.byPlace(verdict{mark: m, origin: New})
	}
	r, err := t.states.read(m.id)
	v := verdict{mark: m, id: m.id, known: r, path: t.path}
	switch {
	case err != nil:
		return verdict{}, err
	case r == nil:
		v.origin = New
	case t.is(r.Path):
		v.origin, v.path = Known, r.Path // the recorded path stays valid if t.path, of a mount, goes away
	case !isAtPath(r):
		v.origin, v.from = Moved, r.Path
	default:
		return t.byPlace(verdict{mark: m, origin: Copied, from: r.Path})
	}
	return v, nil
}

// byPlace completes the verdict on a folder that has no id of its own. If a state records this path
// and this directory of the disk, the folder is Known and gets the id of that state. Otherwise v
// stays as it is.
func (t *servedDir) byPlace(v verdict) (verdict, error) {
	r, err := t.states.forFolder(t, v.mark.id)
	if err != nil {
		return verdict{}, err
	}
	if r == nil {
		v.path = t.path
		return v, nil
	}
	return verdict{mark: v.mark, id: r.ID, known: r, path: r.Path, origin: Known}, nil
}

// node identifies the directory of the folder on its disk; see nodeOf.
func (t *servedDir) node() string { return nodeOf(t.info) }

// isAtPath reports whether the folder of a record is still at its path: a folder with the id of the
// record, or the same directory without an id. A folder that cannot be read counts as absent. It
// decides between Moved and Copied.
func isAtPath(r *record) bool {
	root, err := os.OpenRoot(r.Path)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return false
	}
	m, err := (&servedDir{root: root}).mark()
	if err != nil {
		return false
	}
	return m.id == r.ID || m.id == "" && r.Node != "" && r.Node == nodeOf(info)
}

// record returns the record to store for the folder. node is the directory of the folder on its
// disk.
func (v verdict) record(node string) record {
	return record{
		Format: recordFormat, ID: v.id, Path: v.path, Node: node, Vault: v.vault(),
	}
}

// vault returns the name of the folder's vault: the recorded one, or one made from the path. A name
// that was recorded stays when the folder is renamed.
func (v verdict) vault() string {
	if v.known != nil {
		return v.known.Vault
	}
	return vaultName(filepath.Base(v.path))
}

// vaultName returns a valid vault name for a folder with a name: its slug, with hyphens for
// underscores and at most 63 bytes long, or "vault" if that is not valid.
func vaultName(folder string) string {
	const longest = 63
	name := strings.ReplaceAll(vault.Slug(folder), "_", "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	if vault.CheckName(name) != nil {
		return "vault"
	}
	return name
}

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
