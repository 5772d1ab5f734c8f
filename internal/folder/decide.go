package folder

import (
	"os"
	"path/filepath"
	"strings"

	"rookery/internal/vault"
)

// A verdict is what a folder is found to be.
type verdict struct {
	mark   mark    // what the folder says
	id     string  // what it shall be; empty: one is to be made
	known  *record // of the state of the id; nil if there is none yet
	path   string  // to be recorded
	origin Origin
	from   string
}

// decide finds out what the folder is. Nobody needs to have it for that.
func (t *top) decide() (verdict, error) {
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
		v.origin, v.path = Known, r.Path // which stays when this path, of a mount, goes
	case !stays(r):
		v.origin, v.from = Moved, r.Path
	default:
		return t.byPlace(verdict{mark: m, origin: Copied, from: r.Path})
	}
	return v, nil
}

// byPlace finishes the verdict on a folder that has no id of its own: it is known if a state is of
// this very directory at this path, else what the verdict says.
func (t *top) byPlace(v verdict) (verdict, error) {
	r, err := t.states.of(t, v.mark.id)
	if err != nil {
		return verdict{}, err
	}
	if r == nil {
		v.path = t.path
		return v, nil
	}
	return verdict{mark: v.mark, id: r.ID, known: r, path: r.Path, origin: Known}, nil
}

// node says which directory of the disk the folder is.
func (t *top) node() string { return nodeOf(t.info) }

// stays reports whether the folder of a record is at its path: something with its id, or the very
// directory that has lost its id. A folder that cannot be read is not there.
func stays(r *record) bool {
	root, err := os.OpenRoot(r.Path)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(".")
	if err != nil {
		return false
	}
	m, err := (&top{root: root}).mark()
	if err != nil {
		return false
	}
	return m.id == r.ID || m.id == "" && r.Node != "" && r.Node == nodeOf(info)
}

// record is what is to be kept of the folder.
func (v verdict) record(node string) record {
	return record{
		Format: recordFormat, ID: v.id, Path: v.path, Node: node, Vault: v.vault(),
	}
}

// vault is the name of the folder's vault.
func (v verdict) vault() string {
	if v.known != nil {
		return v.known.Vault
	}
	return vaultName(filepath.Base(v.path))
}

// vaultName is the name of the vault of a folder that is called so: its slug, as far as a vault can
// be called that.
func vaultName(folder string) string {
	const longest = 63
	name := strings.ReplaceAll(vault.Slug(folder), "_", "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	if vault.CheckName(name) != nil {
		return "vault"
	}
	return name
}
