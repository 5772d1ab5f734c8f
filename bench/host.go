package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"rookery/internal/access"
	"rookery/internal/audit"
	"rookery/internal/auth"
	"rookery/internal/bolttable"
	"rookery/internal/fileblob"
	"rookery/internal/httptool"
	"rookery/internal/limit"
	"rookery/internal/localapp"
	"rookery/internal/metric"
	"rookery/internal/repo"
	"rookery/internal/table"
	"rookery/internal/team"
	"rookery/internal/tool"
)

// A host is a data directory with two catalogues over it: one with all that stands between a request and a
// tool on a hosted server, composed as the server does, and one with nothing. They share vaults and
// caches, so whatever differs is the cost of what stands in between.
type host struct {
	whole, bare *tool.Catalogue

	teams   *team.Teams
	gate    *access.Gate
	metrics *metric.Metrics

	auditor *audit.Auditor
	table   *bolttable.Table
	bucket  *fileblob.Bucket
}

// Of a host.
const (
	hostURL  = "https://rookery.example.test" // by which tokens name it
	hostRate = 1_000_000                      // calls a minute: limits are kept, and nobody comes to them
)

// openHost opens a data directory. An issuer at a URL on loopback makes tokens of admins of the tenant
// `local`. More tools stand beside those of the product.
func openHost(ctx context.Context, dir, issuer string, more ...*tool.Tool) (h *host, err error) {
	h = &host{metrics: metric.New("bench")}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	if err := fileblob.Make(dir); err != nil {
		return h, err
	}
	if h.bucket, err = fileblob.Open(dir); err != nil {
		return h, err
	}
	db := filepath.Join(dir, "rookery.db")
	if h.table, err = bolttable.Open(db, bolttable.Options{Now: time.Now}); err != nil {
		return h, err
	}
	h.teams = team.NewTeams(team.Options{
		Table: h.table, Bucket: h.bucket, Log: log, Now: time.Now, Background: true, Folders: true,
		Texts: repo.NewTexts(archiveTexts), Pasts: repo.NewPasts(archiveTexts),
		Compact: h.table.Compact, PublicURL: hostURL, Kinds: localapp.Jobs,
	})
	if err = h.teams.Make(ctx, auth.Local); err != nil {
		return h, err
	}
	h.gate = access.NewGate(access.GateOptions{
		Teams: h.teams, Verifier: auth.NewVerifier(auth.Options{}), PublicURL: hostURL, Closed: true,
		Issuers: []access.Issuer{{
			Issuer: auth.Issuer{URL: issuer, JWKS: issuer + jwksPath, Algorithms: []string{"RS256"}},
			Tenant: auth.Local, Role: auth.Admin,
		}},
		Log: log,
	})
	h.auditor = audit.New(audit.Options{Teams: h.teams, Log: log})
	h.auditor.Start()
	return h, h.compose(log, more)
}

// compose makes the two catalogues.
func (h *host) compose(log *slog.Logger, more []*tool.Tool) error {
	limiter := limit.New(limit.Options{
		Tables: func(_ context.Context, tenant string) (table.Table, error) {
			return table.Sub(h.table, tenant), nil
		},
		Rates: limit.Rates{MutationsPerMinute: hostRate, ReadsPerMinute: hostRate},
	})
	all := append(localapp.Tools(h.teams), more...)
	var err error
	h.whole, err = tool.NewCatalogue(all, tool.Options{Log: log, Interceptors: []tool.Interceptor{
		h.auditor.Interceptor(), h.metrics.Interceptor(), access.Check(access.Of(h.teams)),
		limiter.Intercept,
	}})
	if err != nil {
		return err
	}
	h.bare, err = tool.NewCatalogue(all, tool.Options{Log: log})
	return err
}

// Close lets the data directory go.
func (h *host) Close() error {
	if h.auditor != nil {
		h.auditor.Close()
	}
	if h.teams != nil {
		h.teams.Close()
	}
	var errs []error
	if h.table != nil {
		errs = append(errs, h.table.Close())
	}
	if h.bucket != nil {
		errs = append(errs, h.bucket.Close())
	}
	return errors.Join(errs...)
}

// bareHeader is the header of requests that are to meet nothing in between. It is there for all, so that
// it costs both the same.
const bareHeader = "X-Bench-Bare"

// serve answers on a listener until the context ends, by one catalogue or the other.
func (h *host) serve(ctx context.Context, l net.Listener) error {
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	whole := httptool.New(h.whole, httptool.Options{
		Authenticate: h.gate.Caller, Log: log, Audited: true, Meter: h.metrics,
		Resource: access.Resource{PublicURL: hostURL},
	})
	bare := httptool.New(h.bare, httptool.Options{Log: log})
	s := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(bareHeader) == "1" {
				bare.ServeHTTP(w, r)
				return
			}
			whole.ServeHTTP(w, r)
		}),
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Shutdown(context.WithoutCancel(ctx)) })
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// hostCommand is the word by which this program is told to be a host, with its data and its issuer.
const hostCommand = "serve-host"

// serveHost is that process.
func serveHost(ctx context.Context, data, issuer string) (err error) {
	h, err := openHost(ctx, data, issuer)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	l, err := localapp.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("Rookery is measured at http://%s\n", l.Addr())
	return h.serve(ctx, l)
}
