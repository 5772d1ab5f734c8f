package localapp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"rookery/internal/access"
	"rookery/internal/audit"
	"rookery/internal/auth"
	"rookery/internal/config"
	"rookery/internal/limit"
	"rookery/internal/team"
)

// maxCalls is how many calls run at once by default. At most a quarter as many requests wait for the keys of
// an issuer.
const maxCalls = 256

// host makes what stands between a request and the tools: who calls, and how often.
func (a *App) host(cfg Config) {
	a.limitServer(cfg.Server)
	verifier := cfg.Verifier
	if verifier == nil {
		verifier = auth.NewVerifier(auth.Options{Now: cfg.Now, Queue: max(1, a.server.MaxCalls/4)})
	}
	a.gate = access.NewGate(access.GateOptions{
		Teams: a.teams, Verifier: verifier, PublicURL: cfg.Server.PublicURL,
		Issuers: issuersOf(cfg.Server), Guests: named(cfg.Server, auth.Local),
		Closed: !cfg.Server.Local(false), Now: cfg.Now, Log: cfg.Log,
	})
	a.admit = a.gate.Caller
	a.auditor = audit.New(audit.Options{Teams: a.teams, Log: cfg.Log, Now: cfg.Now})
	a.auditor.Start()
	a.limiter = limit.New(limit.Options{
		Tables: a.teams.Table,
		Rates: limit.Rates{
			MutationsPerMinute: cfg.Server.Limits.MutationsPerMinute,
			ReadsPerMinute:     cfg.Server.Limits.ReadsPerMinute,
		},
		Now: cfg.Now,
	})
}

// issuersOf are the issuers of the server's file as the gate knows them.
func issuersOf(c config.Config) []access.Issuer {
	var all []access.Issuer
	for _, i := range c.Issuers {
		all = append(all, access.Issuer{
			Issuer: auth.Issuer{
				URL: i.Issuer, JWKS: i.JWKSURL, Algorithms: i.Algorithms,
			},
			Audience: i.Audience, Tenant: i.Tenant, TenantClaim: i.TenantClaim,
			RolesClaim: i.RolesClaim, Role: i.Role, Claims: i.Claims,
		})
	}
	return all
}

// named reports whether the server's file names a tenant, so that there is one to come into.
func named(c config.Config, tenant string) bool {
	return slices.ContainsFunc(c.Issuers, func(i config.Issuer) bool { return i.Tenant == tenant }) ||
		slices.ContainsFunc(c.FirstAdmins, func(a config.Admin) bool { return a.Tenant == tenant })
}

// resource is what the server is to clients of OAuth.
func (a *App) resource() access.Resource {
	r := access.Resource{PublicURL: a.server.PublicURL}
	for _, i := range a.server.Issuers {
		if !slices.Contains(r.Issuers, i.Issuer) {
			r.Issuers = append(r.Issuers, i.Issuer)
		}
	}
	return r
}

// issuersFor are the URLs of the server's issuers whose tokens may lead to a tenant.
func issuersFor(c config.Config) func(tenant string) []string {
	return func(tenant string) []string {
		var all []string
		for _, i := range c.Issuers {
			if i.TenantClaim != "" || i.Tenant == tenant {
				all = append(all, i.Issuer)
			}
		}
		return all
	}
}

// makeTenants makes the tenants that the server's file names, and their first admins.
func (a *App) makeTenants(ctx context.Context) error {
	for _, i := range a.server.Issuers {
		if i.Tenant == "" {
			continue
		}
		if err := a.teams.Make(ctx, i.Tenant); err != nil {
			return err
		}
	}
	for _, first := range a.server.FirstAdmins {
		if err := a.teams.Make(ctx, first.Tenant); err != nil {
			return err
		}
		t, err := a.teams.Team(ctx, first.Tenant)
		if err != nil {
			return err
		}
		m := team.Member{Issuer: first.Issuer, Subject: first.Subject}
		if err := t.Begin(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// A door is what a server has beside the listener of its calls.
type door struct {
	tls     *tls.Config  // nil: calls come without it
	metrics net.Listener // nil: nobody is told of them
}

// Listen opens the listener of the server, if it may listen there: elsewhere than on loopback only where
// nobody can come in without a token, nor read one on its way. A certificate that cannot be used, and a
// place of the metrics that is taken, are told before anybody is told of the server.
func (a *App) Listen(ctx context.Context) (net.Listener, error) {
	tokens, err := a.hasTokens(ctx)
	if err != nil {
		return nil, err
	}
	c := a.server
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	if err := c.Check(tokens); err != nil {
		return nil, err
	}
	if a.door.tls, err = c.TLSConfig(time.Now, a.log); err != nil {
		return nil, err
	}
	l, err := address{c.Listen, "--listen", a.servers}.listen(ctx)
	if err != nil || c.MetricsListen == "" {
		return l, err
	}
	metrics := address{c.MetricsListen, "metrics_listen:", a.servers}
	if a.door.metrics, err = metrics.listen(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// hasTokens reports whether the local tenant has API tokens.
func (a *App) hasTokens(ctx context.Context) (bool, error) {
	t, err := a.teams.Team(ctx, auth.Local)
	if err != nil {
		return false, err
	}
	s, err := t.Current(ctx)
	return err == nil && s.HasTokens(t.Now()), err
}

// URL is where the server is reached that answers on a listener: by everybody, or from this machine.
func (a *App) URL(l net.Listener) string {
	if a.server.PublicURL != "" && (a.server.TLS != (config.TLS{}) || len(a.server.TrustedProxies) > 0) {
		return a.server.PublicURL
	}
	return "http://" + l.Addr().String()
}

// hosts are the names that the server is called by: that of its public URL and, on loopback, its own.
func (a *App) hosts(l net.Listener) []string {
	hosts := a.server.Hosts()
	if at, ok := l.Addr().(*net.TCPAddr); !ok || at.IP.IsLoopback() {
		hosts = append(hosts, hostsOf(l)...)
	}
	return hosts
}

// serveMetrics serves the metrics on their own listener, if they have one, until the context ends. The
// function waits for the end.
func (a *App) serveMetrics(ctx context.Context) (wait func()) {
	if a.door.metrics == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.metrics.Serve(ctx, a.door.metrics); err != nil {
			a.log.ErrorContext(ctx, "the metrics are not served", "cause", err)
		}
	}()
	return func() { <-done }
}

// serveOn answers on a listener, with TLS where there is a certificate.
func (a *App) serveOn(s *http.Server, l net.Listener) error {
	if s.TLSConfig = a.door.tls; s.TLSConfig == nil {
		return s.Serve(l)
	}
	return s.ServeTLS(l, "", "")
}
