package localapp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
