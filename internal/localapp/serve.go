package localapp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/hosted"
)

// DefaultListen is the default address of a server.
const DefaultListen = "127.0.0.1:7780"

// Listen opens a listener on a loopback address. It refuses any other address with
// INVALID_PARAMETER, because authentication is off. addr is HOST:PORT; port 0 is a free one.
func Listen(addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.New(fault.InvalidParameter, "--listen must be HOST:PORT").
			Fix("--listen %s", DefaultListen)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fault.New(fault.InvalidParameter,
			"without authentication Rookery listens on loopback only").
			Fix("--listen %s", DefaultListen)
	}
	return address{hostport: addr, option: "--listen"}.listen(context.Background())
}

// Handler returns the handler of all requests of the server: HTTP, MCP, documentation and health.
// hosts are the accepted names of the server; a request with another Host is refused, so that a web
// page cannot reach a server on loopback under a name of its own.
func (a *App) Handler(version string, hosts []string) http.Handler {
	return a.hosted.Handler(hosted.Serving{
		Version: version, Hosts: hosts, Server: a.server, Authenticate: a.admit, Ready: a.Ready,
		Waited: a.waited,
	})
}

// hostsOf returns the names of a listener on loopback: the three by which programs of the machine
// reach it, with its port.
func hostsOf(l net.Listener) []string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return []string{"localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port}
}

// grace is how long calls in flight may go on when the server stops.
const grace = 30 * time.Second

// Serve serves requests of a listener until the context ends. l was opened by a.Listen, or is
// another listener, without TLS and metrics. Serve then waits for the calls in flight, and cuts off
// those that take longer than the grace, such as a call whose body does not arrive. It returns an
// error if serving fails earlier. The address file exists while it serves. The App stays open; the
// caller closes it.
//
// It announces the server before the first request is accepted, warms up the vault of a folder
// meanwhile, and logs the start, the stop and the end. At the stop, new connections are refused at
// once, and idle ones closed.
func (a *App) Serve(ctx context.Context, l net.Listener, version string) error {
	leave, err := a.announce(ctx, l, "")
	if err != nil {
		return err
	}
	defer leave()
	ctx, stop := context.WithCancel(ctx)
	defer a.serveMetrics(ctx)()
	defer stop()
	s := a.newServer(a.Handler(version, a.hosts(l)))
	defer a.warmUp(ctx)()
	failed := make(chan error, 1)
	go func() { failed <- a.serveOn(s, a.limited(l)) }()
	a.log.InfoContext(ctx, "the server has started", slog.String("release", version), slog.String("url", a.URL(l)))
	defer a.log.InfoContext(context.WithoutCancel(ctx), "the server has stopped")
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	a.log.InfoContext(context.WithoutCancel(ctx), "the server is stopping: running calls are finished")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err = s.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		a.log.WarnContext(ctx, "calls that did not end in time are cut off")
		err = s.Close()
	}
	if err != nil {
		return fmt.Errorf("stop serving: %w", err)
	}
	return nil
}

// newServer returns an HTTP server with the timeouts of all servers of this package. They bound how
// long a slow client can occupy a connection; the limits of package access bound the rest.
func (a *App) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		// This is for all steps until an answer begins: the body, the wait and the call. From then
		// on the deadline is extended as the client reads.
		WriteTimeout:   150 * time.Second,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		HTTP2:          streams(),
		// Errors of a connection before its first request contain addresses and are not needed
		// every day, so they are logged at debug level.
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

// warmUp starts warm in the background. The function that it returns cancels it and does not wait;
// Close of the App does.
func (a *App) warmUp(ctx context.Context) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	a.background.Go(func() { a.warm(ctx) })
	return stop
}

// warm makes the vault of a folder that is served searchable, so that the first search need not
// wait until all notes are read. It ignores errors: a later call reports them. It opens nothing in
// a data directory, where each vault is opened by its first call, so that the start does not depend
// on the vaults.
func (a *App) warm(ctx context.Context) {
	if a.folder == nil {
		return
	}
	if v, _, err := a.checkout(ctx); err == nil {
		_, _ = v.Searchable(ctx)
	}
}
