// Package hosted composes everything between a request and the tools: authentication, shares,
// audit, rates, the catalogue with its interceptors, and the handler. All programs that serve the
// product use it with their own stores, so that they do not differ in an order that security
// depends on (docs/design/0032).
package hosted

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/access"
	"github.com/rookeryhq/rookery/internal/audit"
	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/job"
	"github.com/rookeryhq/rookery/internal/limit"
	"github.com/rookeryhq/rookery/internal/table"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tools/memory"
	"github.com/rookeryhq/rookery/internal/tools/notes"
	"github.com/rookeryhq/rookery/internal/tools/orient"
	"github.com/rookeryhq/rookery/internal/tools/raven"
	teamtools "github.com/rookeryhq/rookery/internal/tools/team"
	"github.com/rookeryhq/rookery/internal/tools/tree"
)

// Options are the options of a Host. Teams and Tables are required.
type Options struct {
	Teams *tenant.Registry

	// Tables returns the table of a tenant, which contains the rates of its principals.
	Tables func(ctx context.Context, tenant string) (table.Table, error)

	// Server is the configuration of the server: its issuers, admins, rates and limits.
	Server config.Config

	// Closed says that every call needs a token: no request is authenticated as auth.LocalCaller.
	Closed bool

	// Background says that the process lives between calls. The audit is then archived
	// periodically.
	Background bool

	Verifier *auth.Verifier // of tokens of issuers; nil: one that fetches their keys over the network
	ReadOnly bool           // refuse all mutations, even if Server allows them

	// More are tools of the program, in addition to those of the product.
	More []*tool.Tool

	// Outer are interceptors of the program that get every call that is audited and metered, before
	// the call is authorized. Inner get the authorized calls, immediately before their tools.
	Outer, Inner []tool.Interceptor

	// Measure adds attributes to the log line of a call; see audit.Options.
	Measure func() func(audit.EndedCall) []slog.Attr

	Meter Meter            // nil: no metrics
	Log   *slog.Logger     // nil: no logging
	Now   func() time.Time // nil: time.Now
}

// A Meter counts calls and requests.
type Meter interface {
	httptool.Meter
	Interceptor() tool.Interceptor
	Waited(tenant string, passed int) // see access.ShareOptions
}

// A Host is the composition for the tenants of one deployment. It must be closed.
type Host struct {
	Catalogue *tool.Catalogue
	Gate      *access.Gate
	Auditor   *audit.Auditor
	Limiter   *limit.Limiter

	opt Options
}

// New returns a Host, and starts its background work if Options.Background is set.
func New(o Options) (*Host, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{
		opt:     o,
		Auditor: audit.New(audit.Options{Tenants: o.Teams, Log: o.Log, Now: o.Now, Measure: o.Measure}),
		Limiter: limit.New(limit.Options{
			Tables: o.Tables, Now: o.Now,
			Rates: limit.Rates{
				MutationsPerMinute: o.Server.Limits.MutationsPerMinute,
				ReadsPerMinute:     o.Server.Limits.ReadsPerMinute,
			},
		}),
	}
	// newGate reads the options from h.
	h.Gate = h.newGate()
	if o.Background {
		h.Auditor.Start()
	}
	var err error
	all := slices.Concat(Tools(o.Teams, h.Limiter), o.More)
	h.Catalogue, err = tool.NewCatalogue(all, tool.Options{
		Now: o.Now, Log: o.Log, Interceptors: h.interceptors(),
	})
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// Close ends the background work. No calls may be made after it.
func (h *Host) Close() {
	h.Auditor.Close()
	h.Limiter.Close()
}

// interceptors returns the interceptors of every call, outermost first. A call is audited and
// metered whatever its result. Calls without permission are rate-limited too.
func (h *Host) interceptors() []tool.Interceptor {
	vaults := access.NewDirectory(h.opt.Teams)
	all := []tool.Interceptor{releaseVaults, h.Auditor.Interceptor()}
	if h.opt.Meter != nil {
		all = append(all, h.opt.Meter.Interceptor())
	}
	return slices.Concat(all, h.opt.Outer, []tool.Interceptor{
		readOnly(h.opt.ReadOnly || h.opt.Server.ReadOnly),
		h.Limiter.After(access.Check(vaults)), access.Claim(vaults),
	}, h.opt.Inner)
}

// releaseVaults releases the open vaults that a call uses when the call ends.
func releaseVaults(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		ctx, end := tenant.Using(ctx)
		defer end()
		return next(ctx, c)
	}
}

// readOnly makes every call read-only if on is set.
func readOnly(on bool) tool.Interceptor {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
			c.Caller.ReadOnly = c.Caller.ReadOnly || on
			return next(ctx, c)
		}
	}
}

// Tools returns all tools of the product, for the tenants t. l provides the rates; nil: no rates. t
// may be nil to read only the descriptions of the tools.
func Tools(t *tenant.Registry, l teamtools.Limiter) []*tool.Tool {
	var all []*tool.Tool
	whole := func() []*tool.Tool { return all }
	all = slices.Concat(raven.Tools(t, whole), notes.Tools(t, memory.Reader(t)),
		orient.Tools(t), memory.Tools(t), tree.Tools(t),
		teamtools.Tools(t, teamtools.Options{All: whole, Limiter: l}))
	return all
}

// Jobs returns the kinds of jobs of the tools, in a tenant.
func Jobs(t *tenant.Tenant) []job.Kind {
	return append(raven.Jobs(t), teamtools.Jobs(t)...)
}

// Parts returns the partitions of a tenant beside its logs, for tenant.Options. They are erased
// with the tenant.
func Parts() []string { return slices.Concat(audit.Parts(), limit.Parts()) }

// newGate returns the authentication of requests. The number of requests that wait for the keys of
// an issuer is limited to a quarter of the calls that may run at once.
func (h *Host) newGate() *access.Gate {
	o := h.opt
	verifier := o.Verifier
	if verifier == nil {
		calls := cmp.Or(o.Server.MaxCalls, config.DefaultCalls)
		verifier = auth.NewVerifier(auth.Options{Now: o.Now, Queue: max(1, calls/4)})
	}
	return access.NewGate(access.GateOptions{
		Tenants: o.Teams, OpenTenant: h.openTenant, Verifier: verifier, PublicURL: o.Server.PublicURL,
		Issuers: issuersOf(o.Server), AllowLocalTenant: namesTenant(o.Server, auth.Local),
		Closed: o.Closed, Now: o.Now, Log: o.Log,
	})
}
