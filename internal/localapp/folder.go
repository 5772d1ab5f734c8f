package localapp

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/checkout"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vaultdir"
)

// makeVault creates the vault of the folder that is served, if it does not exist. It does not wait
// for the files of the folder: the checkout ingests them afterwards. The vault is opened by the
// first call, or by warm.
func (a *App) makeVault(ctx context.Context) error {
	t, err := a.teams.Tenant(ctx, auth.Local)
	if err != nil {
		return err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return err
	}
	if _, made := s.Vault(a.folder.Vault); made {
		return nil
	}
	_, err = t.Create(ctx, eventlog.Call{
		Who: eventlog.Who{Principal: auth.LocalCaller().Principal}, Tool: "team_vault_create",
	}, tenant.NewVault{Name: a.folder.Vault}, func(tenant.Entry) any { return nil })
	return err
}

// refuseWrites returns an interceptor that refuses every mutation with READ_ONLY if the folder cannot
// be written. f is nil for a data directory. Without it, a write would be acknowledged, and its
// file could not be written.
func refuseWrites(f *vaultdir.Folder) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			if f != nil && f.ReadOnly && c.Needs().Kind.Changes() {
				return tool.Reply{}, fault.New(fault.ReadOnly, "the served folder cannot be written, so its "+
					"vault is read-only, and %s is a change",
					c.Tool.Name).
					Fix(mayWrite + ", and start the server again")
			}
			return next(ctx, c)
		}
	}
}

// mayWrite is the fix for a folder that cannot be written.
const mayWrite = "give the user that runs rookery write permission for the folder and everything in it"

// Served returns NOT_FOUND if the folder of a Config was never served, or the error for a folder
// that cannot be found. It changes nothing.
func Served(cfg Config) error {
	f, err := vaultdir.Find(cfg.Folder, cfg.State)
	if err == nil && f.State == "" {
		return fault.New(fault.NotFound, "the folder has no history yet").
			Fix("rookery serve " + folderOption)
	}
	return err
}

// Vault returns the name of the vault of the folder that is served, or "" for a data directory.
func (a *App) Vault() string { return a.vault }

// CaughtUp waits until all changes that were made in the folder before the call are ingested, or
// until the removal guard holds them back. It returns nil at once for a data directory, and
// UNAVAILABLE if the reading of the folder failed. A command that reads a folder calls it first, so
// that its answer is of the files as they are.
func (a *App) CaughtUp(ctx context.Context) error {
	if a.folder == nil {
		return nil
	}
	_, c, err := a.checkout(ctx)
	if err != nil {
		return err
	}
	if err := c.Ready(ctx); err != nil {
		return fault.New(fault.Unavailable, "the folder was not read completely").Because(err)
	}
	return nil
}

// checkout returns the vault of the folder that is served, and its checkout. It must not be called
// for a data directory. The vault stays in use until ctx ends.
func (a *App) checkout(ctx context.Context) (*repo.Vault, *checkout.Checkout, error) {
	t, err := a.teams.Tenant(ctx, auth.Local)
	if err != nil {
		return nil, nil, err
	}
	v, err := t.Vault(ctx, a.vault)
	if err != nil {
		return nil, nil, err
	}
	c, err := t.Folder(ctx, a.vault)
	return v, c, err
}

// StartMessages returns the sentences that a server shows about its folder when it starts: its vault, where
// its history is, and the Changes. It returns nil for a data directory.
func (a *App) StartMessages() []string {
	if a.folder == nil {
		return nil
	}
	all := []string{
		fmt.Sprintf("The folder %s is the vault %q.", a.folder.Path, a.vault),
		fmt.Sprintf("Its history is in %s.", a.folder.State),
	}
	return append(all, a.Changes()...)
}

// Changes returns the part of News that is not the same at every start: whether the folder was
// moved or is a copy, and whether it is read-only. It returns nil if there is nothing to say.
func (a *App) Changes() []string {
	if a.folder == nil {
		return nil
	}
	var all []string
	switch a.folder.Origin {
	case vaultdir.Moved:
		all = append(all, fmt.Sprintf("It was moved here from %s, and keeps its history.",
			a.folder.From))
	case vaultdir.Copied:
		all = append(all, fmt.Sprintf("It is a copy of %s, which still exists: it has its own history from "+
			"now on.", a.folder.From))
	}
	if a.folder.ReadOnly {
		all = append(all, "It cannot be written, so it is served read-only.")
	}
	return all
}

// logFolder logs the vault and the origin of the folder that is served, without its path.
func (a *App) logFolder(ctx context.Context) {
	f := a.folder
	a.log.InfoContext(ctx, "a folder is served in place", slog.String("vault", a.vault),
		slog.String("state", filepath.Base(f.State)), slog.String("origin", f.Origin.String()),
		slog.Bool("read_only", f.ReadOnly))
}
