// Package localapp is the composition root of one process that holds a data directory: the embedded
// engine, the catalogue over it, and the server on loopback.
package localapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"rookery/internal/access"
	"rookery/internal/auth"
	"rookery/internal/bolttable"
	"rookery/internal/fault"
	"rookery/internal/fileblob"
	"rookery/internal/repo"
	"rookery/internal/team"
	"rookery/internal/tool"
	"rookery/internal/tools/raven"
	teamtools "rookery/internal/tools/team"
)

// Config says where the data is. Only Data is required.
type Config struct {
	Data       string       // the data directory; it is made where there is none
	CacheBytes int64        // held of texts and of past states, half each; 0: 128 MiB
	Log        *slog.Logger // nil: nothing is logged
	Now        func() time.Time
	ReadOnly   bool // every mutation is refused

	rebuilds bool // the vaults that lie in the folder are about to be made anew
}

// DefaultCacheBytes is how many bytes are cached if nobody says how many.
const DefaultCacheBytes = 128 << 20

// database is the file of the table in the data directory.
const database = "rookery.db"

// lockPatience is how long to wait for another process to let the data directory go (DESIGN §5).
const lockPatience = 100 * time.Millisecond

// An App is an open data directory.
type App struct {
	Catalogue *tool.Catalogue

	dir    string
	log    *slog.Logger
	table  *bolttable.Table
	bucket *fileblob.Bucket
	teams  *team.Teams
}

// Open opens a data directory. While another process has it the error is an *InUse.
func Open(ctx context.Context, cfg Config) (*App, error) {
	cfg.CacheBytes = cmp.Or(cfg.CacheBytes, DefaultCacheBytes)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if err := fileblob.Make(cfg.Data); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	if !cfg.rebuilds {
		if err := checkLoss(cfg.Data); err != nil {
			return nil, err
		}
	}
	table, err := openTable(cfg)
	if err != nil {
		return nil, err
	}
	a := &App{dir: cfg.Data, log: cfg.Log, table: table}
	if err := a.compose(ctx, cfg); err != nil {
		_ = a.Close() // the first error is the one to tell
		return nil, err
	}
	return a, nil
}

// openTable opens the database of a data directory.
func openTable(cfg Config) (*bolttable.Table, error) {
	db, err := bolttable.Open(filepath.Join(cfg.Data, database),
		bolttable.Options{Now: cfg.Now, LockTimeout: lockPatience})
	var system *fs.PathError
	switch {
	case errors.Is(err, bolttable.ErrLocked):
		return nil, inUse(cfg.Data)
	case errors.Is(err, bolttable.ErrDamaged):
		return nil, fault.New(fault.IndexError, "%v", err).Fix(restore)
	case errors.Is(err, bolttable.ErrFormat):
		return nil, fault.New(fault.IndexIncompatible, "%v", err).
			Fix("run the release that wrote it, or a newer one")
	case errors.As(err, &system):
		return nil, fault.New(fault.FileError, "%s cannot be opened: %v", database, system.Err).
			Fix("rookery doctor --data DIR").Because(err)
	case err != nil:
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// compose puts the parts together.
func (a *App) compose(ctx context.Context, cfg Config) error {
	if err := a.forget(); err != nil {
		return err
	}
	var err error
	if a.bucket, err = fileblob.Open(cfg.Data); err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	a.teams = team.NewTeams(team.Options{
		Table: a.table, Bucket: a.bucket,
		Texts: repo.NewTexts(cfg.CacheBytes / 2), Pasts: repo.NewPasts(cfg.CacheBytes / 2),
		Log: cfg.Log, Now: cfg.Now, Folders: true,
		Compact: a.table.Compact,
	})
	if err := a.teams.Make(ctx, auth.Local); err != nil {
		return err
	}
	if _, err := a.teams.Team(ctx, auth.Local); err != nil {
		return err
	}
	a.Catalogue, err = tool.NewCatalogue(Tools(a.teams), tool.Options{
		Now: cfg.Now, Log: cfg.Log,
		Interceptors: []tool.Interceptor{readOnly(cfg.ReadOnly), access.Check(a.vaults)},
	})
	return err
}

// Tools are all tools of the product, over these tenants. Nil will do to read what they are.
func Tools(t *team.Teams) []*tool.Tool {
	var all []*tool.Tool
	all = append(raven.Tools(t, func() []*tool.Tool { return all }), teamtools.Tools(t)...)
	return all
}

// vaults lists the vaults of the caller's tenant for the check of access.
func (a *App) vaults(ctx context.Context, c auth.Caller) ([]string, error) {
	t, err := a.teams.Team(ctx, c.Tenant)
	if err != nil {
		return nil, err
	}
	s, _, err := t.State(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range s.Vaults() {
		if e.Status == repo.Active {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// readOnly makes every call a read-only one, if the deployment is.
func readOnly(on bool) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			c.Caller.ReadOnly = c.Caller.ReadOnly || on
			return next(ctx, c)
		}
	}
}

// Ready is an error while the data cannot be read.
func (a *App) Ready(ctx context.Context) error {
	_, err := a.vaults(ctx, auth.LocalCaller())
	return err
}

// Close makes everything durable and lets the data directory go.
func (a *App) Close() error {
	var err error
	if a.teams != nil {
		a.teams.Close()
	}
	if a.bucket != nil {
		err = a.bucket.Close()
	}
	return errors.Join(err, a.table.Close())
}
