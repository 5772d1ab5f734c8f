package metric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Path is the path of the metrics in Handler.
const Path = "/metrics"

// Handler returns a handler that answers GET Path in the text format of Prometheus, and other
// requests with 404 or 405. It does not authenticate, so it belongs on a separate listener that
// cannot be reached from the internet.
func (m *Metrics) Handler() http.Handler {
	scrape := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4,
		Timeout:             10 * time.Second,
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		scrape.ServeHTTP(w, r)
	})
	return mux
}

// Serve serves Handler on the listener until the context ends, and closes the listener. It returns
// nil after the context has ended.
func (m *Metrics) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler:           m.Handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    8 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // the last scrape is cut off
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
