// Package hosted composes everything between a request and the tools: authentication, shares, audit, rates,
// the catalogue with its interceptors, and the handler. Every program that serves the product uses it, over
// its own stores, so that no two of them differ in an order that security depends on (docs/design/0032).
package hosted

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"rookery/internal/access"
	"rookery/internal/audit"
	"rookery/internal/auth"
	"rookery/internal/config"
	"rookery/internal/httptool"
	"rookery/internal/job"
	"rookery/internal/limit"
	"rookery/internal/table"
	"rookery/internal/team"
	"rookery/internal/tool"
	"rookery/internal/tools/memory"
	"rookery/internal/tools/notes"
	"rookery/internal/tools/orient"
	"rookery/internal/tools/raven"
	teamtools "rookery/internal/tools/team"
	"rookery/internal/tools/tree"
)

// Options are what a Host is made with. Teams and Tables are required.
type Options struct {
	Teams *team.Teams

	// Tables returns the table of a tenant, which has the rates of its principals.
	Tables func(ctx context.Context, tenant string) (table.Table, error)

	// Server is the configuration of the server: its issuers, admins, rates and limits.
	Server config.Config

	// Closed says that every call needs a token: no request is auth.LocalCaller, wherever it comes from.
	Closed bool

	// Background says that the process lives between calls: the audit is archived from time to time.
	Background bool

	Verifier *auth.Verifier // of the tokens of issuers; nil: one that fetches their keys over the network
	ReadOnly bool           // every mutation is refused, also where Server allows them

	// More are tools of the program beside those of the product.
	More []*tool.Tool

	// Outer are interceptors of the program that see every call that is audited and counted, before it is
	// known whether the caller may make it. Inner see the calls that may be made, next to their tools.
	Outer, Inner []tool.Interceptor

	// Measure adds attributes to the log line of a call; see audit.Options.
	Measure func() func(audit.Ended) []slog.Attr

	Meter Meter            // nil: nothing is counted
	Log   *slog.Logger     // nil: nothing is logged
	Now   func() time.Time // nil: time.Now
}

// A Meter counts calls and requests.
type Meter interface {
	httptool.Meter
	Interceptor() tool.Interceptor
	Waited(tenant string, passed int) // see access.ShareOptions
}

// A Host is the composition over the tenants of one deployment. Close ends its work in the background.
type Host struct {
	Catalogue *tool.Catalogue
	Gate      *access.Gate
	Auditor   *audit.Auditor
	Limiter   *limit.Limiter

	opt Options
}

// New composes a Host.
func New(o Options) (*Host, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{
		opt:     o,
		Auditor: audit.New(audit.Options{Teams: o.Teams, Log: o.Log, Now: o.Now, Measure: o.Measure}),
		Limiter: limit.New(limit.Options{
			Tables: o.Tables, Now: o.Now,
			Rates: limit.Rates{
				MutationsPerMinute: o.Server.Limits.MutationsPerMinute,
				ReadsPerMinute:     o.Server.Limits.ReadsPerMinute,
			},
		}),
	}
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

// Close finishes what runs in the background. No call may be made after it.
func (h *Host) Close() {
	h.Auditor.Close()
	h.Limiter.Close()
}

// interceptors are those of every call, the outermost first: a call is audited and counted whatever becomes of
// it, and a caller without permission uses up no more than the rate of its refusals.
func (h *Host) interceptors() []tool.Interceptor {
	vaults := access.Of(h.opt.Teams)
	all := []tool.Interceptor{using, h.Auditor.Interceptor()}
	if h.opt.Meter != nil {
		all = append(all, h.opt.Meter.Interceptor())
	}
	return slices.Concat(all, h.opt.Outer, []tool.Interceptor{
		readOnly(h.opt.ReadOnly || h.opt.Server.ReadOnly),
		h.Limiter.Behind(access.Check(vaults)), access.Claim(vaults),
	}, h.opt.Inner)
}

// using ends what a call uses of open vaults when the call ends.
func using(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Reply, error) {
		ctx, end := team.Using(ctx)
		defer end()
		return next(ctx, c)
	}
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

// Tools are all tools of the product, over these tenants. A Limiter keeps the rates; nil: there are none. Nil
// tenants will do to read what the tools are.
func Tools(t *team.Teams, l teamtools.Limiter) []*tool.Tool {
	var all []*tool.Tool
	whole := func() []*tool.Tool { return all }
	all = slices.Concat(raven.Tools(t, whole), notes.Tools(t, memory.Reader(t)), orient.Tools(t), memory.Tools(t), tree.Tools(t),
		teamtools.Tools(t, teamtools.Options{All: whole, Limiter: l}))
	return all
}

// Jobs are the kinds of jobs that the tools have, in a tenant.
func Jobs(t *team.Team) []job.Kind {
	return append(raven.Jobs(t), teamtools.Jobs(t)...)
}

// Parts are the partitions of a tenant that are kept beside its logs, for team.Options: they are erased with it.
func Parts() []string { return slices.Concat(audit.Parts(), limit.Parts()) }

// newGate makes the authentication of requests. At most a quarter as many of them as calls run at once wait for
// the keys of an issuer.
func (h *Host) newGate() *access.Gate {
	o := h.opt
	verifier := o.Verifier
	if verifier == nil {
		calls := cmp.Or(o.Server.MaxCalls, config.DefaultCalls)
		verifier = auth.NewVerifier(auth.Options{Now: o.Now, Queue: max(1, calls/4)})
	}
	return access.NewGate(access.GateOptions{
		Teams: o.Teams, Enter: h.enter, Verifier: verifier, PublicURL: o.Server.PublicURL,
		Issuers: issuersOf(o.Server), Guests: named(o.Server, auth.Local),
		Closed: o.Closed, Now: o.Now, Log: o.Log,
	})
}
