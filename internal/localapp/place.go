package localapp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rookeryhq/rookery/internal/backup"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// A place is where the database of an App is: in a data directory, or in the state of a folder. It
// has what messages need to name it on a command line.
type place struct {
	dir    string
	option string // the option that names it on a command line
	vault  string // name of the folder's vault; empty for a data directory
}

// The command line options that name a data directory or a folder.
const (
	dataOption   = "--data DIR"
	folderOption = "--vault DIR"
)

// workDir, in the state of a folder, contains temporary files that will be moved into the folder.
const workDir = "work"

// dataPlace returns the place of a data directory.
func dataPlace(dir string) place { return place{dir: dir, option: dataOption} }

// folderPlace returns the place of the state of a folder. vault is the name of the folder's vault.
func folderPlace(state, vault string) place {
	return place{dir: state, option: folderOption, vault: vault}
}

// claimPlace creates the data directory if needed, or claims the folder. The error is an *InUse if
// another process serves the folder; that of a data directory is found when its database is opened.
// A data directory and a folder together are INVALID_PARAMETER.
func (a *App) claimPlace(cfg Config) error {
	switch {
	case cfg.Folder == "" && vaultdir.IsState(cfg.Data):
		return isState()
	case cfg.Folder == "":
		a.place = dataPlace(cfg.Data)
		if err := fileblob.Make(cfg.Data); err != nil {
			return fault.New(fault.FileError, "the data directory cannot be created: %v", backup.Bare(err)).
				Because(err).Fix("name one that you can write: %s", dataOption)
		}
		return nil
	case cfg.Data != "":
		return fault.New(fault.InvalidParameter, "a data directory and a folder are given, and only one of "+
			"them can be served").Fix("leave --data out, or name a vault of the data directory: --vault NAME")
	}
	open := vaultdir.Open
	if cfg.Reading {
		open = vaultdir.OpenToRead
	}
	f, err := open(cfg.Folder, cfg.State)
	var busy *vaultdir.InUse
	switch {
	case errors.As(err, &busy):
		return servedElsewhere(cfg, busy)
	case err != nil:
		return err
	}
	a.folder, a.place = f, folderPlace(f.State, f.Vault)
	return nil
}

// isState returns the error for a directory that is the state of a folder, not a data directory.
func isState() *fault.Fault {
	return fault.New(fault.InvalidParameter, "the directory is the state of a served folder, not a data "+
		"directory").Fix("name the folder: rookery serve --vault DIR")
}

// servedElsewhere returns the error for a folder that another process serves. It contains the name
// of the folder's vault, for calls to that process. If the folder cannot be found any more, it
// returns that error.
func servedElsewhere(cfg Config, busy *vaultdir.InUse) error {
	f, err := vaultdir.Find(cfg.Folder, cfg.State)
	if err != nil {
		return err // the folder was just moved, or its id has changed
	}
	return folderPlace(busy.State, f.Vault).inUse()
}

// serveFolder opens the folder that is served, if there is one, and sets the options of the tenant
// for it. For a data directory it sets only the watcher of its vaults. Temporary files are written
// to the state of the folder, so that the folder has only its own files.
func (a *App) serveFolder(o *tenant.Options, cfg Config) error {
	f := a.folder
	if f == nil {
		o.Watch = func(key string, enter func(string) bool) (blob.Watch, error) {
			return a.watches.Open(filepath.Join(a.dir, filepath.FromSlash(key)), enter)
		}
		return nil
	}
	var err error
	a.files, err = fileblob.OpenWith(f.Path, fileblob.Options{
		Work: filepath.Join(f.State, workDir), ReadOnly: f.ReadOnly,
	})
	if err != nil {
		return fmt.Errorf("open the served folder: %w", err)
	}
	o.Served = &tenant.Served{
		Vault: f.Vault, Files: a.files, ReadOnly: f.ReadOnly, Progress: cfg.Progress,
		Watch: func(enter func(string) bool) (blob.Watch, error) {
			return a.watches.Open(f.Path, enter)
		},
		Away: away(f.Path),
	}
	return nil
}

// away returns a function that reports whether path no longer leads to the folder that it leads to
// now: the folder was moved or removed, or another one is in its place. It returns nil if there is
// no such folder.
func away(path string) func() bool {
	was, err := os.Stat(path)
	if err != nil {
		return nil // the folder is gone already, and sweeps report it
	}
	return func() bool {
		is, err := os.Stat(path)
		return err != nil || !os.SameFile(was, is)
	}
}

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
