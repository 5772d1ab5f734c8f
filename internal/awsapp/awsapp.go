// Package awsapp is the composition root of the functions that answer requests in AWS Lambda: the engine over the
// stores of a deployment, the whole catalogue, and the way from an event of an HTTP API to the handler that every
// server has.
//
// A function is frozen between calls: nothing of it runs then (docs/design/0031). Where the event and its answer
// differ from what net/http serves, docs/design/0036 says how they are made the same.
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

	"rookery/internal/auth"
	"rookery/internal/blob"
	"rookery/internal/config"
	"rookery/internal/fault"
	"rookery/internal/hosted"
	"rookery/internal/job"
	"rookery/internal/repo"
	"rookery/internal/stream"
	"rookery/internal/table"
	"rookery/internal/team"
	"rookery/internal/tool"
)

// Options are what an App is made with. Server, Table and Bucket are required.
type Options struct {
	Server config.Config // its public URL is required
	Part   Part

	Table  table.Table // of the deployment; it names the tenants
	Bucket blob.Bucket // of the deployment

	// Stores are the table and the bucket of one tenant, such as those that its own credentials open; see
	// team.Options. Nil: Table and Bucket.
	Stores func(ctx context.Context, tenant string) (table.Table, blob.Bucket, error)

	Queue  job.Queue // of long work; nil: jobs run in the calls that begin them
	Memory int64     // bytes that the process may have; 0: open vaults have no bound

	// Begin is called at the beginning of each call, such as to close connections that the peer has closed while
	// the process was frozen. Nil: nothing is.
	Begin func()

	// Metrics makes the log line of a call one of CloudWatch's embedded metric format. Nil: it has no metrics.
	Metrics *Metrics

	Verifier *auth.Verifier // of the tokens of issuers; nil: one that fetches their keys over the network
	Meter    hosted.Meter   // nil: nothing is counted
	Log      *slog.Logger   // nil: nothing is logged
	Now      func() time.Time
	Clocked  func() (known func() bool) // see team.Options; nil: Now is always right
	Version  string                     // of the program

	outer []tool.Interceptor // see hosted.Options
}

// An App answers the events of one function. It is safe for concurrent use.
type App struct {
	opt   Options
	teams *team.Teams
	host  *hosted.Host
	later *later

	handler func(escaped bool) http.Handler // see handlers
	adapter *httpadapter.HandlerAdapterV2
}

// New composes an App. Nothing is read yet.
func New(o Options) (*App, error) {
	o = o.withDefaults()
	a := &App{opt: o, later: newLater()}
	a.teams = team.NewTeams(tenants(o, a.later.run))
	var err error
	a.host, err = hosted.New(hosted.Options{
		Teams: a.teams, Tables: a.teams.Table, Server: o.Server, Closed: true, Verifier: o.Verifier,
		Outer: o.outer, Meter: o.Meter, Measure: o.Metrics.measure(o.Now), Log: o.Log, Now: o.Now,
	})
	if err != nil {
		return nil, err
	}
	only, err := o.Part.families(a.host.Catalogue)
	if err != nil {
		return nil, err
	}
	a.handler = a.handlers(only)
	a.adapter = httpadapter.NewV2(http.HandlerFunc(a.restored))
	return a, nil
}

// withDefaults returns the Options with what is nil and may be.
func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Begin == nil {
		o.Begin = func() {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// defaultMemory is how many bytes caches are made for where it is not known how many there are.
const defaultMemory = 1 << 30

// namedFiles is how many files of each kind a control item names: every read of a vault reads them.
const namedFiles = 10

// tenants are what the tenants of the deployment are made with. Later runs what a call leaves to be done; nil: the
// call does.
func tenants(o Options, later func(func())) team.Options {
	caches := cmp.Or(o.Memory, defaultMemory) / 16
	var followers []string
	if o.Queue != nil { // without it there is no function that follows
		followers = stream.Cursors()
	}
	return team.Options{
		Table: o.Table, Bucket: o.Bucket, Stores: o.Stores, Registry: o.Table,
		Texts: repo.NewTexts(caches), Pasts: repo.NewPasts(caches),
		Memory: team.NewMemory(cmp.Or(int64(o.Server.Memory), o.Memory/2)),
		Limits: repo.Limits{Things: cmp.Or(int(o.Server.Limits.VaultIndexed), repo.MaxHostedThings)},
		Named:  namedFiles, Items: true, Log: o.Log, Now: o.Now, Clocked: o.Clocked, Later: later,
		Followers: followers,
		PublicURL: o.Server.PublicURL, Issuers: hosted.IssuersFor(o.Server),
		Kinds: hosted.Jobs, Parts: hosted.Parts(), Queue: o.Queue, Rests: rests, NoLocal: true,
	}
}

// rests are what is still kept elsewhere of what is erased at a time: by the services, which forget it by
// themselves.
func rests(at time.Time) []repo.Rest {
	const day = 24 * time.Hour
	return []repo.Rest{
		{What: "keys of items in the stream of the table", Until: at.Add(day)},
		{What: "names of vaults in messages that could not be worked on", Until: at.Add(14 * day)},
		{What: "backups of the table, where it can be restored to a point in time", Until: at.Add(35 * day)},
	}
}

// handlers returns the handler of paths as a gateway sends them, decoded, and that of paths which are still
// escaped. Each is made when it is first needed.
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

// Handler is everything that a server of this product answers, as a function has it that no gateway is in front of.
func (a *App) Handler() http.Handler { return a.handler(true) }

// trusted is nil for every request: what comes to a function came over TLS to the gateway, and only the gateway
// may call it.
func trusted(*http.Request) *fault.Fault { return nil }

// ready is an error while the table cannot be read.
func (a *App) ready(ctx context.Context) error {
	_, err := a.opt.Table.Get(ctx, table.Key{Part: "~tenants", Sort: "~"})
	if errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// Close finishes what calls have left to be done. No call may be made after it.
func (a *App) Close() {
	a.later.wait(patience)
	a.host.Close()
	a.teams.Close()
}
