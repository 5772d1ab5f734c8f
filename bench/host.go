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

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/bolttable"
	conf "github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fileblob"
	"github.com/rookeryhq/rookery/internal/hosted"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
	"github.com/rookeryhq/rookery/internal/localcloud"
	"github.com/rookeryhq/rookery/internal/metric"
	"github.com/rookeryhq/rookery/internal/repo"
	"github.com/rookeryhq/rookery/internal/tenant"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A host is a data directory with two catalogues over it: whole with the middleware of a hosted
// server, composed as the server does, and bare without any. They share vaults and caches, so the
// difference in cost is that of the middleware.
type host struct {
	whole, bare *tool.Catalogue

	teams  *tenant.Registry
	server conf.Config
	hosted *hosted.Host
	table  *bolttable.Table
	bucket *fileblob.Bucket
}

// The settings of a host.
const (
	hostURL  = "https://rookery.example.test" // the audience of its tokens
	hostRate = 1_000_000                      // calls per minute: rates are counted, but never reached
)

// openHost opens a data directory. The issuer at the given URL issues tokens of admins of the
// tenant `local`. more are tools in addition to those of the product.
func openHost(ctx context.Context, dir, issuer string, more ...*tool.Tool) (h *host, err error) {
	h = &host{server: hostConfig(issuer)}
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
	h.teams = tenant.NewRegistry(tenant.Options{
		Table: h.table, Bucket: h.bucket, Log: log, Now: time.Now, Background: true, Folders: true,
		Texts: repo.NewTexts(archiveTexts), Snapshots: repo.NewSnapshotCache(archiveTexts),
		Compact: h.table.Compact, PublicURL: hostURL, Kinds: hosted.Jobs,
		Parts: hosted.Parts(), Issuers: hosted.IssuersFor(h.server),
	})
	if err = h.teams.Make(ctx, auth.Local); err != nil {
		return h, err
	}
	return h, h.compose(log, more)
}

// hostConfig returns the configuration of a host.
func hostConfig(issuer string) conf.Config {
	return conf.Config{
		PublicURL: hostURL,
		Limits:    conf.Limits{MutationsPerMinute: hostRate, ReadsPerMinute: hostRate},
		Issuers: []conf.Issuer{{
			Issuer: issuer, JWKSURL: issuer + localcloud.KeysPath, Algorithms: []string{"RS256"},
			Tenant: auth.Local, Role: auth.Admin,
		}},
	}
}

// compose creates the two catalogues.
func (h *host) compose(log *slog.Logger, more []*tool.Tool) error {
	var err error
	h.hosted, err = hosted.New(hosted.Options{
		Teams: h.teams, Tables: h.teams.Table, Server: h.server, Closed: true, Background: true,
		Meter: metric.New("bench"), More: more, Log: log,
	})
	if err != nil {
		return err
	}
	h.whole = h.hosted.Catalogue
	h.bare, err = tool.NewCatalogue(h.whole.Tools(), tool.Options{Log: log})
	return err
}

// Close closes the data directory.
func (h *host) Close() error {
	if h.hosted != nil {
		h.hosted.Close()
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

// bareHeader is the header that selects the catalogue without middleware. All requests have it, so
// that its cost is the same for both.
const bareHeader = "X-Bench-Bare"

// serve serves both catalogues on a listener until the context ends.
func (h *host) serve(ctx context.Context, l net.Listener) error {
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	whole := h.hosted.Handler(hosted.Serving{Server: h.server})
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

// hostCommand is the first argument that makes this program serve as a host. The data directory and
// the issuer follow.
const hostCommand = "serve-host"

// serveHost runs this process as a host.
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
