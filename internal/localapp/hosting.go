package localapp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/tool"
)

// host creates the catalogue and all middleware between a request and the tools, over the tenants.
// Package hosted does most of it, as for every deployment; the additions here are about folders: a
// folder that cannot be written, and one that is being read for the first time.
func (a *App) host(cfg Config) error {
	a.limitServer(cfg.Server)
	var err error
	a.hosted, err = hosted.New(hosted.Options{
		Teams: a.teams, Background: !cfg.sleeps,
		Tables: a.teams.Table,
		Server: a.server, Closed: !cfg.Server.Local(false), Verifier: cfg.Verifier, ReadOnly: cfg.ReadOnly,
		Outer: append(slices.Clone(cfg.outer), refuseWrites(a.folder)),
		Inner: []tool.Interceptor{a.firstReading(cfg.after)},
		Meter: a.metrics, Log: cfg.Log, Now: cfg.Now,
	})
	if err != nil {
		return err
	}
	a.Catalogue = a.hosted.Catalogue
	return nil
}

// A listener is the TLS configuration of a server, and its listener of the metrics. Listen sets it;
// the listener of the server itself is passed to Serve.
type listener struct {
	tls     *tls.Config  // nil: the server has no TLS
	metrics net.Listener // nil: the metrics are not served
}

// Listen opens the listener of the server, and that of the metrics. It refuses an address other
// than loopback if authentication is off, or if a token could be read on its way. A certificate
// that cannot be used and an address of the metrics that is in use are errors too, so both are
// found before the server is announced. If the second listener cannot be opened, the first is
// closed.
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

// hasTokens reports whether the local tenant has valid API tokens. Then a server is not open to
// everyone on loopback, and may listen on other addresses.
func (a *App) hasTokens(ctx context.Context) (bool, error) {
	t, err := a.teams.Tenant(ctx, auth.Local)
	if err != nil {
		return false, err
	}
	s, err := t.Current(ctx)
	return err == nil && s.HasTokens(t.Now()), err
}

// URL returns the URL of the server: the public one, if the server has TLS or is behind a trusted
// proxy, and otherwise that of the listener. It ends without a slash.
func (a *App) URL(l net.Listener) string {
	if a.server.PublicURL != "" && (a.server.TLS != (config.TLS{}) || len(a.server.TrustedProxies) > 0) {
		return a.server.PublicURL
	}
	return "http://" + l.Addr().String()
}

// hosts returns the accepted names of the server: that of its public URL and, on loopback, those of
// the listener. A listener that is not a TCP one, as in tests, counts as loopback.
func (a *App) hosts(l net.Listener) []string {
	hosts := a.server.Hosts()
	if at, ok := l.Addr().(*net.TCPAddr); !ok || at.IP.IsLoopback() {
		hosts = append(hosts, hostsOf(l)...)
	}
	return hosts
}

// serveMetrics serves the metrics on their own listener, if there is one, until the context ends.
// The function that it returns waits for that end. The metrics need no authentication, so their
// listener should be reachable by the monitoring only.
func (a *App) serveMetrics(ctx context.Context) (wait func()) {
	if a.door.metrics == nil {
		return func() {}
	}
	a.gauge()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.metrics.Serve(ctx, a.door.metrics); err != nil {
			a.log.ErrorContext(ctx, "the metrics are not served", "cause", err)
		}
	}()
	return func() { <-done }
}

// gauge adds the metrics of the machine and of the stored data. A value that cannot be read is NaN.
// Each is computed when the metrics are read, so it costs nothing otherwise.
func (a *App) gauge() {
	a.metrics.Gauge("database_bytes", "Size of the file of the database.", func() float64 {
		info, err := os.Stat(filepath.Join(a.dir, database))
		if err != nil {
			return math.NaN()
		}
		return float64(info.Size())
	})
	a.metrics.Gauge("disk_free_bytes", "Free bytes on the disk of the data.", func() float64 {
		free, _, err := a.space(a.dir)
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	})
	a.metrics.Gauge("unfolded_commits", "Commits that are in no segment yet, of the open vault that has most.",
		func() float64 { return float64(a.teams.Uncompacted()) })
	if a.door.tls == nil {
		return
	}
	a.metrics.Gauge("certificate_expiry_timestamp_seconds", "When the certificate of the server ends, in Unix time.",
		func() float64 {
			c, err := a.door.tls.GetCertificate(nil)
			if err != nil || c.Leaf == nil {
				return math.NaN()
			}
			return float64(c.Leaf.NotAfter.Unix())
		})
}

// serveOn serves requests of a listener until the server is closed, with TLS if there is a
// certificate. The certificate is that of the TLS configuration, which loads it again when its file
// changes.
func (a *App) serveOn(s *http.Server, l net.Listener) error {
	if s.TLSConfig = a.door.tls; s.TLSConfig == nil {
		return s.Serve(l)
	}
	return s.ServeTLS(l, "", "")
}
