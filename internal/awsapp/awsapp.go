// Package awsapp is the composition root of the functions in AWS Lambda: the engine over the stores
// of a deployment, the whole catalogue, and an adapter from the events of an HTTP API to the
// handler that every server has.
//
// A function is frozen between calls: none of its goroutines run then (docs/design/0031).
// docs/design/0036 lists the differences between an event and a request of net/http, and how they
// are resolved.
//
// There are five kinds of functions, each with its own program: those that answer requests (Serve,
// for everything or for one family of tools), the consumer of the queue of jobs (ServeJobs), of the
// stream of the table (ServeStream) and of the bucket's events (ServeIngest), and one that a
// schedule invokes (ServeJanitor). They share the table, the bucket and the queues, and nothing
// else.
//
// A write goes through them like this. A call commits to the table. The stream reports which vaults
// have new commits, and the follower queues them. The consumer of the queue writes the notes as
// objects, moves commits into segments, and trims the table. Edits of objects by other programs
// come back as events of the bucket, and become commits. The schedule finds changes that were
// missed.
//
// Because a function is frozen between calls, nothing may depend on a timer or a goroutine: work is
// either part of a call, or a message. Because it may never be thawed, a call is answered only when
// its effects are durable.
package awsapp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/blob"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/eventlog"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/stream"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Options are the options of New. Server, Table and Bucket are required.
type Options struct {
	Server config.Config // PublicURL is required
	Part   Part

	Table  table.Table // of the deployment; it contains the list of tenants
	Bucket blob.Bucket // of the deployment

	// Stores returns the table and the bucket of one tenant, such as stores with the tenant's own
	// credentials; see tenant.Options. If it is nil, all tenants use Table and Bucket.
	Stores func(ctx context.Context, tenant string) (table.Table, blob.Bucket, error)

	Queue  job.Queue // of jobs; nil: jobs run in the calls that start them
	Memory int64     // of the process in bytes; 0: open vaults have no bound

	// Begin is called at the beginning of each call. It can close connections that the peer has
	// closed while the process was frozen. It may be nil.
	Begin func()

	// Metrics adds CloudWatch metrics (embedded metric format) to the log line of a call. It may be
	// nil.
	Metrics *Metrics

	Verifier *auth.Verifier // of the tokens of issuers; nil: the default, which fetches their keys over the network
	Log      *slog.Logger   // nil: no log
	Now      func() time.Time
	Clocked  func() (known func() bool) // see tenant.Options; nil: Now is always correct
	Version  string                     // of the program

	outer []tool.Interceptor // see hosted.Options
}

// An App answers the events of one function. It is safe for concurrent use, which matters where a
// process handles several events at once.
type App struct {
	opt   Options
	teams *tenant.Registry
	host  *hosted.Host
	later *background

	handler func(escaped bool) http.Handler // see handlers
	adapter *httpadapter.HandlerAdapterV2
}

// New returns an App. It reads nothing from the stores.
func New(o Options) (*App, error) {
	o = o.withDefaults()
	a := &App{opt: o, later: newBackground()}
	a.teams = tenant.NewRegistry(tenants(o, a.later.run))
	var err error
	a.host, err = hosted.New(hosted.Options{
		Teams: a.teams, Tables: a.teams.Table, Server: o.Server, Closed: true, Verifier: o.Verifier,
		Outer: o.outer, Measure: o.Metrics.measure(o.Now), Log: o.Log, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	only, err := o.Part.families(a.host.Catalogue)
	if err != nil {
		return nil, err
	}
	a.handler = a.handlers(only)
	a.adapter = httpadapter.NewV2(http.HandlerFunc(a.serveRestored))
	return a, nil
}

// withDefaults returns the Options with defaults for optional fields that are nil.
func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Begin == nil {
		o.Begin = func() {}
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// defaultMemory is the memory in bytes for which caches are sized if Options.Memory is 0.
const defaultMemory = 1 << 30

// namedFiles is how many files of each kind a control item names. It is small because every read of
// a vault reads the control item.
const namedFiles = 10

// tenants returns the options of the deployment's tenants. later runs work that a call leaves
// behind; nil: the call runs it. Caches get a sixteenth of the memory each, and open vaults half of
// it. Images of small logs are items of the table, which saves a request to the bucket at each cold
// start.
func tenants(o Options, later func(func())) tenant.Options {
	caches := cmp.Or(o.Memory, defaultMemory) / 16
	var followers []string
	if o.Queue != nil { // without a queue there is no function that follows the logs
		followers = stream.Cursors()
	}
	return tenant.Options{
		Table: o.Table, Bucket: o.Bucket, Stores: o.Stores, Registry: o.Table,
		Texts: repo.NewTexts(caches), Snapshots: repo.NewSnapshotCache(caches),
		Memory:   tenant.NewMemory(cmp.Or(int64(o.Server.Memory), o.Memory/2)),
		Limits:   repo.Limits{Things: cmp.Or(int(o.Server.Limits.VaultIndexed), repo.MaxHostedThings)},
		MaxNamed: namedFiles, Items: true, Log: o.Log, Now: o.Now, CheckClock: o.Clocked, Later: later,
		Followers: followers,
		PublicURL: o.Server.PublicURL, Issuers: hosted.IssuersFor(o.Server),
		Kinds: hosted.Jobs, Parts: hosted.Parts(), Queue: o.Queue, RemainingCopies: remainsAfter, NoLocal: true,
	}
}

// remainsAfter returns the places in AWS that still contain data that was erased at a time, and
// when the services delete it. The times are those that AWS documents for its services, and the
// retention of the deployment's queues.
func remainsAfter(at time.Time) []eventlog.Rest {
	const day = 24 * time.Hour
	return []eventlog.Rest{
		{What: "keys of items in the stream of the table", Until: at.Add(day)},
		{What: "names of vaults in messages that could not be processed", Until: at.Add(14 * day)},
		{What: "backups of the table, where it can be restored to a point in time", Until: at.Add(35 * day)},
	}
}

// handlers returns a function that returns one of two handlers: the one for escaped paths, or the
// one for paths that the gateway has decoded. Each is created at its first use, because a function
// has one kind of gateway, and creating a handler delays a cold start.
func (a *App) handlers(only []*tool.Family) func(escaped bool) http.Handler {
	of := func(decoded bool) func() http.Handler {
		return sync.OnceValue(func() http.Handler {
			return a.host.Handler(hosted.Serving{
				Version: a.opt.Version, Hosts: a.opt.Server.Hosts(), Server: a.opt.Server, Only: only,
				Peer: trusted, Decoded: decoded, Ready: a.ready,
			})
		})
	}
	decoding, plain := of(true), of(false)
	return func(escaped bool) http.Handler {
		if escaped {
			return plain()
		}
		return decoding()
	}
}

// Handler returns the handler of all requests, as it is without a gateway before it.
func (a *App) Handler() http.Handler { return a.handler(true) }

// trusted returns nil for every request: the gateway accepts only TLS, and only the gateway may
// call the function.
func trusted(*http.Request) *fault.Fault { return nil }

// ready returns an error if the table cannot be read. It reads a key that no item has, which costs
// one request.
func (a *App) ready(ctx context.Context) error {
	_, err := a.opt.Table.Get(ctx, table.Key{Part: "~tenants", Sort: "~"})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// Close waits for work that calls have left behind, for up to laterTimeout, and closes the App. No
// call may follow it. In Lambda it is not called: the process is killed.
func (a *App) Close() {
	a.later.wait(laterTimeout)
	a.host.Close()
	a.teams.Close()
}
