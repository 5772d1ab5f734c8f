// Package localapp is the composition root of one process that holds a data directory, or serves a
// person's folder in place: the embedded engine, the catalogue over it, and the server on loopback.
package localapp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/bolttable"
	"rookery/internal/config"
	"rookery/internal/fault"
	"rookery/internal/fileblob"
	"rookery/internal/folder"
	"rookery/internal/hosted"
	"rookery/internal/metric"
	"rookery/internal/repo"
	"rookery/internal/table"
	"rookery/internal/team"
	"rookery/internal/tool"
	"rookery/internal/watch"
)

// Config says where the data is. Data is required, or Folder and State.
type Config struct {
	Data       string       // the data directory; it is made where there is none
	Folder     string       // a folder that is served in place: it is the only vault
	State      string       // where the databases of such folders lie
	CacheBytes int64        // held of texts and of past states, half each; 0: 128 MiB
	Log        *slog.Logger // nil: nothing is logged
	Now        func() time.Time
	ReadOnly   bool // every mutation is refused

	// Reading says that no call will change anything, though none is refused: nothing of ours is put into Folder.
	Reading bool

	// Private refuses a data directory, or the state of a folder, for which other users of the machine have
	// any permission.
	Private bool

	// Server is what the file of a hosted server says; its Data is not looked at. The zero value serves
	// everybody on loopback.
	Server config.Config

	// Verifier verifies the tokens of issuers; nil: one that asks them over the network.
	Verifier *auth.Verifier

	Version string // of the program, as metrics show it

	// Servers is a directory in which the servers of a person leave their ports and directories, so that
	// another one whose port is taken can say by which. Empty: nothing is left there.
	Servers string

	// Progress is told how many files of the folder are taken in, while that takes long. It is called
	// by one goroutine at a time. Nil: nobody is told.
	Progress func(done, total int)

	rebuilds bool // the vaults that lie in the folder are about to be made anew

	// after has calls wait for the first reading of a folder; nil: time.After.
	after func(time.Duration) <-chan time.Time

	space func(dir string) (free, total uint64, err error) // of a disk; nil: fileblob.Space

	between func(table.Table, blob.Folder) (table.Table, blob.Folder) // see stores

	waited func(tenant string, passed int) // see access.ShareOptions; nil: only metrics are told

	sleeps bool               // nothing is done between calls, and no folder is followed
	outer  []tool.Interceptor // see hosted.Options
}

// DefaultCacheBytes is how many bytes are cached if nobody says how many.
const DefaultCacheBytes = 128 << 20

// minSpace is how many bytes a disk must have left for the server to be ready.
const minSpace = 32 << 20

// database is the file of the table in the data directory.
const database = "rookery.db"

// lockPatience is how long to wait for another process to let the data directory go (DESIGN §5).
const lockPatience = 100 * time.Millisecond

// An App is an open data directory, or a folder that is served.
type App struct {
	Catalogue *tool.Catalogue

	place
	servers string // see Config
	shown   string // the data directory or the folder, as it was named

	log    *slog.Logger
	table  *bolttable.Table
	bucket *fileblob.Bucket
	folder *folder.Folder   // nil: a data directory is open
	files  *fileblob.Bucket // of the folder
	teams  *team.Teams

	watches watch.Hub // of all folders

	workers *workers // of jobs

	server  config.Config
	door    door
	hosted  *hosted.Host
	admit   func(*http.Request) (auth.Caller, error) // authenticates a request; nil: the gate does
	metrics *metric.Metrics

	space  func(dir string) (free, total uint64, err error)
	waited func(tenant string, passed int)

	version    string     // see Config
	backing    sync.Mutex // held while a backup is made
	background sync.WaitGroup
}

// Open opens a data directory, or a folder to serve it. While another process has it the error is an
// *InUse.
func Open(ctx context.Context, cfg Config) (*App, error) {
	cfg.CacheBytes = cmp.Or(cfg.CacheBytes, DefaultCacheBytes)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.after == nil {
		cfg.after = time.After
	}
	if cfg.space == nil {
		cfg.space = fileblob.Space
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &App{
		space: cfg.space, waited: cfg.waited, log: cfg.Log, servers: cfg.Servers,
		shown: cmp.Or(cfg.Folder, cfg.Data), version: cfg.Version,
	}
	err := a.enter(cfg)
	if err == nil && cfg.Private {
		err = a.shield()
	}
	if err == nil {
		err = a.openTable(cfg)
	}
	if err == nil {
		err = a.compose(ctx, cfg)
	}
	if err != nil {
		_ = a.Close() // the first error is the one to tell
		return nil, err
	}
	return a, nil
}

// openTable opens the database.
func (a *App) openTable(cfg Config) error {
	if !cfg.rebuilds {
		if err := a.checkLoss(); err != nil {
			return err
		}
	}
	db, err := bolttable.Open(filepath.Join(a.dir, database),
		bolttable.Options{Now: cfg.Now, LockTimeout: lockPatience})
	if err != nil {
		return a.unopened(err)
	}
	a.table = db
	return nil
}

// unopened is the error for a database that cannot be opened.
func (p place) unopened(err error) error {
	var system *fs.PathError
	switch {
	case errors.Is(err, bolttable.ErrLocked):
		return p.inUse()
	case errors.Is(err, bolttable.ErrDamaged):
		return fault.New(fault.IndexError, "%v", err).Fix("%s", p.restore())
	case errors.Is(err, bolttable.ErrFormat):
		return fault.New(fault.IndexIncompatible, "%v", err).
			Fix("run the release that wrote it, or a newer one")
	case errors.As(err, &system):
		return fault.New(fault.FileError, "%s cannot be opened: %v", database, system.Err).
			Fix("rookery doctor %s", p.option).Because(err)
	}
	return fmt.Errorf("open the database: %w", err)
}

// compose puts the parts together.
func (a *App) compose(ctx context.Context, cfg Config) error {
	if err := a.forget(); err != nil {
		return err
	}
	var err error
	a.bucket, err = fileblob.OpenWith(a.dir, fileblob.Options{Private: true})
	if err != nil {
		return fmt.Errorf("open the data directory: %w", err)
	}
	tables, bucket := a.stores(cfg)
	o := team.Options{
		Table: tables, Bucket: bucket,
		Texts: repo.NewTexts(cfg.CacheBytes / 2), Pasts: repo.NewPasts(cfg.CacheBytes / 2),
		Memory: memoryOf(cfg), Limits: limitsOf(cfg),
		Log: cfg.Log, Now: cfg.Now,
		Makes: true, Background: !cfg.sleeps, Folders: !cfg.sleeps,
		Compact:   a.table.Compact,
		PublicURL: cfg.Server.PublicURL, Issuers: hosted.IssuersFor(cfg.Server),
		Kinds: hosted.Jobs, Parts: hosted.Parts(), Alone: !cfg.sleeps,
	}
	a.workers = newWorkers(cfg)
	if !cfg.sleeps {
		o.Queue = a.workers
	}
	if err := a.serveFolder(&o, cfg); err != nil {
		return err
	}
	a.teams = team.NewTeams(o)
	a.workers.teams = a.teams
	a.metrics = metric.New(cfg.Version)
	if err := a.host(cfg); err != nil {
		return err
	}
	if err := a.makeTeam(ctx, cfg); err != nil {
		return err
	}
	if err := a.hosted.MakeTenants(ctx); err != nil {
		return err
	}
	return a.teams.Wake(ctx)
}

// stores are the table and the bucket of the tenants. A test may stand between, to make them fail.
func (a *App) stores(cfg Config) (table.Table, blob.Bucket) {
	if cfg.between == nil {
		return a.table, a.bucket
	}
	return cfg.between(a.table, a.bucket)
}

// makeTeam makes the tenant where there is none, and the vault of the folder that is served.
func (a *App) makeTeam(ctx context.Context, cfg Config) error {
	if err := a.teams.Make(ctx, auth.Local); err != nil {
		return err
	}
	if _, err := a.teams.Team(ctx, auth.Local); err != nil {
		return err
	}
	if a.folder == nil || cfg.rebuilds {
		return nil
	}
	a.logFolder(ctx)
	return a.makeVault(ctx)
}

// Tools are all tools of the product, over these tenants. Nil will do to read what they are.
func Tools(t *team.Teams) []*tool.Tool { return hosted.Tools(t, nil) }

// Ready is an error while the data cannot be read, or nothing can be written because a disk is full. Then it
// is UNAVAILABLE with the reason "disk".
func (a *App) Ready(ctx context.Context) error {
	t, err := a.teams.Team(ctx, auth.Local)
	if err == nil {
		_, _, err = t.State(ctx)
	}
	if err != nil {
		return err
	}
	dirs := []string{a.dir}
	if a.folder != nil {
		dirs = append(dirs, a.shown)
	}
	for _, dir := range dirs {
		if free, _, err := a.space(dir); err == nil && free < minSpace {
			return fault.New(fault.Unavailable, "the disk is full").With("reason", "disk").
				Fix("make room on the disk of the data: at least %d MiB", minSpace>>20)
		}
	}
	return nil
}

// Close makes everything durable and lets the data directory, or the folder, go.
func (a *App) Close() error {
	a.background.Wait()
	if a.hosted != nil {
		a.hosted.Close()
	}
	if a.workers != nil {
		a.workers.Close()
	}
	if a.teams != nil {
		a.teams.Close()
	}
	var errs []error
	for _, files := range []*fileblob.Bucket{a.files, a.bucket} {
		if files != nil {
			errs = append(errs, files.Close())
		}
	}
	if a.table != nil {
		errs = append(errs, a.table.Close())
	}
	if a.folder != nil {
		errs = append(errs, a.folder.Close())
	}
	return errors.Join(errs...)
}
