package localapp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"github.com/rookeryhq/rookery/internal/fault"
)

// ownPaths are the patterns of the paths in a place that Rookery creates, from the directory down to
// the folders of each vault. Files below these are the notes, which people may edit with any
// program, and segments.
var ownPaths = []string{
	".", "*", "tenants/*", "tenants/*/*", "tenants/*/vaults/*", "tenants/*/vaults/*/*",
	"tenants/*/~*/*", "tenants/*/~*/vaults/*", "tenants/*/~*/vaults/*/*",
}

// otherUsers are the permission bits of the group and of other users.
const otherUsers fs.FileMode = 0o077

// exposed returns the first directory or file of the place that other users of the machine have
// permissions for, its mode, and the number of such paths. first is relative to the place. Symbolic
// links are not followed. It returns zero values on Windows. Only the paths of ours are examined,
// so its cost depends on the number of vaults, not on that of notes.
func (p place) exposed() (first string, mode fs.FileMode, count int, err error) {
	if runtime.GOOS == "windows" {
		return "", 0, 0, nil
	}
	root := os.DirFS(p.dir)
	for _, pattern := range ownPaths {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return "", 0, 0, err
		}
		for _, name := range names {
			info, err := fs.Lstat(root, name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				return "", 0, 0, err
			case info.Mode().Perm()&otherUsers == 0, !info.IsDir() && !info.Mode().IsRegular():
				continue
			}
			if count++; count == 1 {
				first, mode = name, info.Mode().Perm()
			}
		}
	}
	return first, mode, count, nil
}

// shield returns FILE_ERROR if other users of the machine have permissions for files of the place,
// or if the permissions cannot be read. It names the first of these files and the command that
// corrects them.
func (p place) shield() error {
	name, mode, count, err := p.exposed()
	if err != nil {
		return fault.New(fault.FileError, "the permissions of the data cannot be read").Because(err)
	}
	if count == 0 {
		return nil
	}
	return fault.New(fault.FileError, "%s", p.openTo(name, mode, count)).
		Fix("remove the permissions of others: %s", p.closing()).
		Fix("or serve it as it is: --shared-data")
}

// openTo returns the message about the permissions of other users: the first path, its mode, and
// how many more there are.
func (p place) openTo(name string, mode fs.FileMode, count int) string {
	what := "the directory of the data"
	if name != "." {
		what = name + " in the directory of the data"
	}
	if count > 1 {
		what += fmt.Sprintf(" (and %d more)", count-1)
	}
	return fmt.Sprintf("other users of this machine have permissions for %s (%#o); directories must be "+
		"0700 and files 0600", what, mode)
}

// closing returns the command that removes the permissions of other users.
func (p place) closing() string { return "chmod -R go-rwx " + p.dir }
