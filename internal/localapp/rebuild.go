package localapp

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tenant"
)

// Rebuild rebuilds the vaults that are in the folder of a data directory but not in its database:
// all of them, if the database is lost. For a folder that is served it rebuilds the vault from the
// segments in its state. It returns no vaults if there is nothing to rebuild. Only vaults of the
// tenant `local` are rebuilt.
func Rebuild(ctx context.Context, cfg Config) ([]tenant.Rebuilt, error) {
	cfg.rebuilds = true
	if cfg.Folder != "" {
		if err := Served(cfg); err != nil {
			return nil, err
		}
	}
	a, err := Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	all, err := a.rebuild(ctx)
	return all, errors.Join(err, a.Close())
}

// rebuild rebuilds the vaults of an open App. It returns READ_ONLY if the folder cannot be written,
// because the audit log has to be generated again. It is called before any vault is opened.
func (a *App) rebuild(ctx context.Context) ([]tenant.Rebuilt, error) {
	if a.folder != nil && a.folder.ReadOnly {
		return nil, fault.New(fault.ReadOnly, "the folder cannot be written, and its audit log must be "+
			"rebuilt").Fix(mayWrite)
	}
	t, err := a.teams.Tenant(ctx, auth.Local)
	if err != nil {
		return nil, err
	}
	return t.Rebuild(ctx, eventlog.Call{
		Who: eventlog.Who{Principal: auth.LocalCaller().Principal}, Tool: "rebuild",
	})
}

// checkLoss returns INDEX_NOT_FOUND if a place has vaults but no database, or an empty file in its
// place. A new database would hide those vaults, and their names could be given to new ones. It
// looks at the tenant `local` only.
func (p place) checkLoss() error {
	file, err := os.Stat(filepath.Join(p.dir, database))
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && file.Size() > 0 {
		return nil
	}
	own := filepath.Join(p.dir, "tenants", auth.Local)
	var lost []string
	// Those in ~* are of a tenant that was emptied and started again.
	for _, vaults := range []string{"vaults/*", "~*/vaults/*"} {
		found, err := fs.Glob(os.DirFS(own), vaults)
		if err != nil {
			return err // never: the patterns are well-formed
		}
		for _, dir := range found {
			if holdsVault(filepath.Join(own, filepath.FromSlash(dir))) {
				lost = append(lost, path.Base(dir))
			}
		}
	}
	slices.Sort(lost)
	lost = slices.Compact(lost)
	if len(lost) == 0 {
		return nil
	}
	what := "the data directory has files of vaults"
	if p.vault != "" {
		what = "the state of the folder has the history of its vault"
	}
	return fault.New(fault.IndexNotFound, "%s, and no database: %s", what, strings.Join(lost, ", ")).
		Fix("rebuild the vaults from them: rookery rebuild %s", p.option).
		Fix("or restore %s from a backup", database)
}

// holdsVault reports whether a folder of a vault contains notes or segments, in any of its
// incarnations. An empty folder is not a vault that was lost.
func holdsVault(dir string) bool {
	for _, what := range []string{"notes", "*/segment"} {
		found, err := filepath.Glob(filepath.Join(dir, what, "*"))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
