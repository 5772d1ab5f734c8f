// Package localapp is the composition root of one process that opens a data directory, or serves
// the folder of a person in place. It connects the embedded database, the catalogue of tools, and
// the server on loopback.
//
// Its parts are connected in this order: the place, which is locked (place.go); the database, the
// bucket and the folder; the tenants, with their workers (localapp.go, jobs.go, memory.go); the
// catalogue with its middleware (hosting.go); and, if the process serves, the listeners (serve.go,
// taken.go, direct.go), the address file (address.go) and the operator's listener (operator.go).
// Close releases them in the opposite order.
//
// Two processes never have one place open. The second one learns the address of the first from a
// file, and calls it. An App can be used in three ways: a command opens it, makes its calls and
// closes it; a server serves it (Serve); and the process of an MCP client holds it until a server
// wants it (Hold).
//
// # Layout of a data directory
//
//	rookery.db                                   the database: the logs of tenants and vaults
//	serve.json                                   the address file of a running server
//	tenants/NAME/vaults/VAULT/notes/             the notes of a vault, as files
//	tenants/NAME/vaults/VAULT/N/segment/         segments of incarnation N of the vault
//	tenants/NAME/tenant/                         segments of the tenant's own log
//	tenants/NAME/refusals/                       archives of refused calls
//	tenants/NAME/~N/                             the same of a later tenant with the name
//	.rookery/                                    files that are being written, or were displaced
//
// The state of a folder that is served has the same layout, without notes, and in addition the
// directory work, with the files that are being written to the folder. The database and the files
// beside it belong together: a backup contains both, and they are restored together.
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

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/bolttable"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/metric"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/vaultdir"
	"github.com/rookeryhq/rookery/internal/watch"
)

// Config contains the settings of an App. Data is required, or Folder and State.
type Config struct {
	Data       string       // the data directory; it is created if it does not exist
	Folder     string       // a folder to serve in place, as the only vault
	State      string       // the directory for the databases of such folders
	CacheBytes int64        // size of the caches of texts and of past states, half each; 0: DefaultCacheBytes
	Log        *slog.Logger // nil: no log
	Now        func() time.Time
	ReadOnly   bool // every mutation is refused

	// Reading says that no call will change anything, although none is refused. Then no file of
	// Rookery is put into Folder.
	Reading bool

	// Private refuses a data directory, or the state of a folder, that other users of the machine
	// have any permission for.
	Private bool

	// Server is the configuration of a hosted server; its Data is ignored. The zero value serves
	// every caller on loopback.
	Server config.Config

	// Verifier verifies the tokens of issuers; nil: one that asks the issuers over the network.
	Verifier *auth.Verifier

	Version string // version of the program, for metrics

	// Servers is a directory where the servers of a person record their ports and directories, so
	// that another server whose port is in use can report which server has it. If it is empty,
	// nothing is recorded.
	Servers string

	// Progress receives the number of files of the folder that are ingested, when that takes long.
	// It is called by one goroutine at a time. It may be nil.
	Progress func(done, total int)

	rebuilds bool // the vaults in the folder are about to be rebuilt

	// after is the timer of calls that wait for the first reading of a folder; nil: time.After.
	after func(time.Duration) <-chan time.Time

	space func(dir string) (free, total uint64, err error) // space on the disk of dir, in bytes; nil: fileblob.Space

	between func(table.Table, blob.Folder) (table.Table, blob.Folder) // see stores

	waited func(tenant string, passed int) // see access.ShareOptions; nil: only metrics receive it

	sleeps bool               // nothing runs between calls, and no folder is watched
	outer  []tool.Interceptor // see hosted.Options
}

// DefaultCacheBytes is the default size of the caches, in bytes.
const DefaultCacheBytes = 128 << 20

// minSpace is the number of free bytes on a disk below which the server is not ready.
const minSpace = 32 << 20

// database is the name of the database file in the data directory.
const database = "rookery.db"

// lockPatience is the time that Open waits for another process to release the data directory
// (DESIGN §5).
const lockPatience = 100 * time.Millisecond

// An App is an open data directory, or a folder that is served. Its methods may be called
// concurrently, except Listen, Serve, Hold and Close.
type App struct {
	Catalogue *tool.Catalogue

	place
	servers string // see Config
	shown   string // the data directory or the folder, as the caller named it

	log    *slog.Logger
	table  *bolttable.Table
	bucket *fileblob.Bucket
	folder *vaultdir.Folder // nil if a data directory is open
	files  *fileblob.Bucket // of the folder; nil if a data directory is open
	teams  *tenant.Registry

	watches watch.Hub // of all folders

	workers *workers // of jobs

	server  config.Config
	door    listener
	hosted  *hosted.Host
	admit   func(*http.Request) (auth.Caller, error) // authenticates a request; nil: the gate does that
	metrics *metric.Metrics

	space  func(dir string) (free, total uint64, err error)
	waited func(tenant string, passed int)

	version    string     // see Config
	backing    sync.Mutex // held during a backup
	background sync.WaitGroup
}

// Open opens a data directory, or a folder to serve it. If another process has it open, the error
// is an *InUse, and nothing was changed. Other errors are faults with fixes for a person who
// started the program: a damaged or lost database, a newer format, missing permissions. The caller
// must close the App. Vaults are opened by the calls that use them, so the time does not depend on
// their number or size, except the vault of a folder, which is created if it is new.
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
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	a := &App{
		space: cfg.space, waited: cfg.waited, log: cfg.Log, servers: cfg.Servers,
		shown: cmp.Or(cfg.Folder, cfg.Data), version: cfg.Version,
	}
	err := a.claimPlace(cfg)
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
		_ = a.Close() // the caller needs the first error
		return nil, err
	}
	return a, nil
}

// openTable opens the database. Unless the vaults are being rebuilt, it first checks that the
// database has not been lost. Opening locks the file, which is the lock of the whole place.
func (a *App) openTable(cfg Config) error {
	if !cfg.rebuilds {
		if err := a.checkLoss(); err != nil {
			return err
		}
	}
	db, err := bolttable.Open(filepath.Join(a.dir, database),
		bolttable.Options{Now: cfg.Now, LockTimeout: lockPatience})
	if err != nil {
		return a.openFault(err)
	}
	a.table = db
	return nil
}

// openFault returns the error for a database that cannot be opened.
func (p place) openFault(err error) error {
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

// compose creates the parts of the App, connects them, and starts the background work. The caller
// has the lock of the database. On an error, Close releases the parts that were created.
//
// The tenant `local` is created first, then the vault of a folder, then the tenants of the
// configuration; Wake finally wakes the workers for the erasures that an earlier process did not
// finish.
func (a *App) compose(ctx context.Context, cfg Config) error {
	if err := a.removeStaleAddress(); err != nil {
		return err
	}
	var err error
	a.bucket, err = fileblob.OpenWith(a.dir, fileblob.Options{Private: true})
	if err != nil {
		return fmt.Errorf("open the data directory: %w", err)
	}
	tables, bucket := a.stores(cfg)
	o := tenant.Options{
		Table: tables, Bucket: bucket,
		Texts: repo.NewTexts(cfg.CacheBytes / 2), Snapshots: repo.NewSnapshotCache(cfg.CacheBytes / 2),
		Memory: memoryOf(cfg), Limits: limitsOf(cfg),
		Log: cfg.Log, Now: cfg.Now,
		CreateMissing: true, Background: !cfg.sleeps, Folders: !cfg.sleeps,
		Compact:   a.table.Compact,
		PublicURL: cfg.Server.PublicURL, Issuers: hosted.IssuersFor(cfg.Server),
		Kinds: hosted.Jobs, Parts: hosted.Parts(), SoleProcess: !cfg.sleeps,
	}
	a.workers = newWorkers(cfg)
	if !cfg.sleeps {
		o.Queue = a.workers
	}
	if err := a.serveFolder(&o, cfg); err != nil {
		return err
	}
	a.teams = tenant.NewRegistry(o)
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

// stores returns the table and the bucket of the tenants. A test may wrap them, to make them fail.
func (a *App) stores(cfg Config) (table.Table, blob.Bucket) {
	if cfg.between == nil {
		return a.table, a.bucket
	}
	return cfg.between(a.table, a.bucket)
}

// makeTeam creates the tenant if there is none, and the vault of the folder that is served. It
// opens the tenant in any case, so that an unreadable log is found at the start.
func (a *App) makeTeam(ctx context.Context, cfg Config) error {
	if err := a.teams.Make(ctx, auth.Local); err != nil {
		return err
	}
	if _, err := a.teams.Tenant(ctx, auth.Local); err != nil {
		return err
	}
	if a.folder == nil || cfg.rebuilds {
		return nil
	}
	a.logFolder(ctx)
	return a.makeVault(ctx)
}

// Tools returns all tools of the product, for the tenants of t. If only their descriptions are
// needed, t may be nil.
func Tools(t *tenant.Registry) []*tool.Tool { return hosted.Tools(t, nil) }

// Ready returns an error if the data cannot be read, or if a disk has less than minSpace left. In
// the second case the error is UNAVAILABLE with the reason "disk". It is the readiness check of the
// server: it costs one read of the database. A disk whose space is unknown counts as ready.
func (a *App) Ready(ctx context.Context) error {
	t, err := a.teams.Tenant(ctx, auth.Local)
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

// Close stops the background work, makes all writes durable, and releases the data directory or the
// folder. It must not be called before Serve has returned. It also closes an App whose opening
// failed halfway.
//
// The order matters: calls first, then jobs, which make calls, then the tenants, whose checkouts
// write files and the database, then the files, and last the database, whose lock is that of the
// place.
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
