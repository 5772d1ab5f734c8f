package main

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/bridge"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// A remote is a server with a fixed address. Its token may change: a person may log in again while
// an MCP client runs, and the client need not be restarted. client is nil until the first Find; mu
// protects it.
type remote struct {
	connector
	target  clitool.Target
	address string

	mu     sync.Mutex
	client *httptool.Client
}

var _ bridge.Server = (*remote)(nil)

// Patience returns 0, because there is no other server.
func (r *remote) Patience() time.Duration { return 0 }

// Find returns the client of the server. After a failure, it uses the token that is stored now. It
// returns the failed client again if the token is the same, and its connections with it; the bridge
// then knows that there is no other. A client that must not send its token to the address is an
// error here, before any message.
func (r *remote) Find(ctx context.Context, failed *httptool.Client) (*httptool.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil && r.client != failed {
		return r.client, nil
	}
	if _, err := credential.ParseServer(r.address); err != nil {
		return nil, err
	}
	client, err := r.connector.client(ctx, r.target, r.address)
	if err != nil {
		return nil, err
	}
	if r.client != nil && r.client.Token == client.Token {
		return r.client, nil
	}
	client.HTTP = &http.Client{Transport: pooled()}
	if err := client.Check(); err != nil {
		return nil, err
	}
	r.client = client
	return client, nil
}

// pooled returns a transport that keeps a connection for each concurrent call of a bridge. The
// default transport keeps two per host, and would open and close connections all the time.
func pooled() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = bridge.MaxCalls
	return t
}

const (
	// handover is how long a message waits while one process closes a directory and another opens
	// it.
	handover = 10 * time.Second

	// deference is how long a process that had to release a directory waits for the server that
	// wanted it.
	deference = 3 * time.Second

	// firstReading is how long the first message waits until a folder has been read.
	firstReading = 3 * time.Second

	// look is the time between two attempts to open a directory that another process has open.
	look = 20 * time.Millisecond
)

// A local is a data directory, or a folder, of this machine (docs/design/0023-mcp-over-stdio.md):
// the server that has it open, or else this process, which then serves it to other processes. So
// several MCP clients can use one directory, each with its own process, in any order of start and
// end.
//
// The lock of the database decides. Find tries to open the directory. If that succeeds, this
// process is the holder: it listens on loopback, and calls itself over HTTP like everyone else. If
// another process has the lock, Find returns a client of that process, whose address is in
// serve.json. When the holder ends, the next failed call of another process leads to Find again,
// and the first process that gets the lock is the new holder.
//
// A server comes before holders: `rookery serve` makes the holder yield. The holder then closes the
// directory, and for a short time (until) it waits for the server to announce itself and does not
// open the directory again.
//
// turn protects demo and the fields after turn. holder is nil if another process has the directory
// open, or none.
type local struct {
	connector
	target clitool.Target
	config localapp.Config
	alone  string // the flag that other processes do not support; empty: none
	demo   bool   // create the vault demo

	turn   chan struct{} // a mutex with one slot, for locking with a context
	holder *localapp.Holder
	client *httptool.Client // nil if it is unknown
	last   *localapp.Holder // the holder that a server asked to yield
	until  time.Time        // the end of the time in which the server comes first
}

var _ bridge.Server = (*local)(nil)

// newLocal returns a local for a target and its configuration. It opens nothing.
func newLocal(n connector, t clitool.Target, cfg localapp.Config) *local {
	return &local{connector: n, target: t, config: cfg, turn: make(chan struct{}, 1)}
}

// Patience returns the time that a process needs to close the directory, so a message is repeated
// until another process has opened it.
func (l *local) Patience() time.Duration { return handover }

// Find returns the client of the process that has the directory open, which may be this one. failed
// is a client that did not work, or nil; it is returned again while this process is the holder,
// because then the directory is open and another attempt changes nothing.
//
// A process that has the lock but has no address yet is about to announce itself, or about to end.
// Find tries again every 20 ms, for at most handover. It returns UNAVAILABLE if ctx ends while
// another goroutine has the lock.
func (l *local) Find(ctx context.Context, failed *httptool.Client) (*httptool.Client, error) {
	end := time.Now().Add(handover)
	if err := l.lock(ctx); err != nil {
		return nil, err
	}
	defer l.unlock()
	if l.client != nil && (l.client != failed || l.holder != nil) {
		return l.client, nil
	}
	for {
		client, err := l.find(ctx, failed)
		if err == nil || !waits(err) || time.Now().After(end) {
			l.client = client
			return client, err
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// waits reports whether another process has the directory open and cannot be called yet. All other
// errors of find are final.
func waits(err error) bool {
	var busy *localapp.InUse
	return errors.As(err, &busy) && busy.Server == ""
}

// find makes one attempt of Find. While the server comes first, it only looks whether the server
// has announced itself, and does not touch the lock. The caller has the lock of l.
func (l *local) find(ctx context.Context, failed *httptool.Client) (*httptool.Client, error) {
	if time.Now().Before(l.until) {
		if next := l.last.Next(); next != nil {
			l.until = time.Time{}
			return l.reach(ctx, next, failed)
		}
		return nil, &localapp.InUse{Vault: l.last.Vault()}
	}
	app, err := localapp.Open(ctx, l.config)
	var busy *localapp.InUse
	switch {
	case errors.As(err, &busy) && busy.Server != "":
		return l.reach(ctx, busy, failed)
	case err != nil:
		return nil, err
	}
	return l.hold(ctx, app)
}

// reach returns the client of another process; failed if it is the same client, so the bridge knows
// that nothing has changed. It returns INVALID_PARAMETER if the line has a flag that only the
// process with the directory can follow.
func (l *local) reach(
	ctx context.Context, busy *localapp.InUse, failed *httptool.Client,
) (*httptool.Client, error) {
	flag := l.alone
	if l.demo {
		flag = "--demo"
	}
	if flag != "" {
		return nil, fault.New(fault.InvalidParameter, "another process has the directory open, "+
			"and %s has no effect on it", flag).Fix("leave %s out", flag)
	}
	client, err := l.other(ctx, l.target, busy)
	if err != nil {
		return nil, err
	}
	if failed != nil && failed.Base == client.Base && failed.Token == client.Token {
		return failed, nil
	}
	if client.HTTP == nil {
		client.HTTP = &http.Client{Transport: pooled()}
	}
	return client, nil
}

// hold serves an open directory to this process and to others, and returns a client of it. If it
// returns an error, app is closed. It waits a moment for a folder to be read, so that the first
// answers are about all of its notes; a large folder continues in the background. The flag --demo
// is followed once, and then removed.
func (l *local) hold(ctx context.Context, app *localapp.App) (*httptool.Client, error) {
	if l.demo {
		if err := app.Demo(ctx); err != nil {
			return nil, errors.Join(err, app.Close())
		}
		l.demo = false
	}
	h, err := app.Hold(ctx, version())
	if err != nil {
		return nil, errors.Join(err, app.Close())
	}
	l.holder = h
	go l.yield(h)
	reading, cancel := context.WithTimeout(ctx, firstReading)
	defer cancel()
	_ = app.CaughtUp(reading) // a longer reading continues while calls are served
	return &httptool.Client{
		Base: h.URL, Token: h.Key, HTTP: &http.Client{Transport: pooled()},
	}, nil
}

// yield releases the directory when a server wants it. It runs in a goroutine for each holder, and
// waits until the holder is asked to yield. Close may have closed the holder meanwhile; then there
// is nothing to do. It notes the end of the time in which the server comes first.
func (l *local) yield(h *localapp.Holder) {
	<-h.Yielded()
	_ = l.lock(context.Background()) // this context never ends
	defer l.unlock()
	if l.holder != h {
		return
	}
	l.holder, l.client = nil, nil
	if err := h.Close(); err != nil {
		l.config.Log.Error("the directory was not closed cleanly", "cause", err)
	}
	l.last, l.until = h, time.Now().Add(deference)
}

// Close waits for the calls of other processes and releases the directory. It does nothing if this
// process does not have it. It must be called after the last Find.
func (l *local) Close() error {
	_ = l.lock(context.Background()) // this context never ends
	defer l.unlock()
	if l.holder == nil {
		return nil
	}
	h := l.holder
	l.holder, l.client = nil, nil
	return h.Close()
}

// lock acquires l, or returns UNAVAILABLE if ctx ends first. A sync.Mutex could not be given up
// when the client cancels a call.
func (l *local) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "interrupted").Because(ctx.Err())
	}
}

func (l *local) unlock() { <-l.turn }
