package localapp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/fault"
)

const (
	// holderCalls is how many calls run at once in a Holder.
	holderCalls = 1024

	// yieldPath is the path of a Holder that a server calls to make it yield the place.
	yieldPath = "/yield"

	// yieldTimeout is how long a server waits for a Holder to yield: the grace of its calls and a
	// little longer.
	yieldTimeout = grace + 10*time.Second

	// announceTimeout is how long a server waits for a process that has the place open and has no address
	// file.
	announceTimeout = 5 * time.Second

	// takePause is the time between two attempts of a server to open the place.
	takePause = 20 * time.Millisecond
)

// A Holder is an open App that other programs of the same user can call over loopback, with the key
// in the address file beside the database. A program that can read that file could also open the
// database itself.
//
// The `rookery mcp` of an MCP client is a Holder: it needs the database in its own process, and
// commands that run beside it call it. A server that starts makes it yield the place; the Holder
// then closes, and calls the server.
type Holder struct {
	URL string // of the listener
	Key string // the bearer token of every request

	app    *App
	server *http.Server
	leave  func()
	stop   func()

	// yielded is closed by yield, which may be called more than once.
	yielded chan struct{}
	yield   func()
}

// Hold serves the App to other programs of the same user, as auth.LocalCaller, until the Holder is
// closed. Close of the Holder closes the App. The listener is on a free port of loopback, and every
// request needs the key, also if authentication is off: any user of the machine can reach the port.
func (a *App) Hold(ctx context.Context, version string) (*Holder, error) {
	l, err := address{hostport: "127.0.0.1:0", option: "--listen"}.listen(ctx)
	if err != nil {
		return nil, err
	}
	h := &Holder{Key: rand.Text(), app: a, yielded: make(chan struct{})}
	h.yield = sync.OnceFunc(func() { close(h.yielded) })
	a.limitServer(config.Config{MaxCalls: holderCalls})
	a.admit = h.caller
	h.URL = a.URL(l)
	if h.leave, err = a.announce(ctx, l, h.Key); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	h.server = a.newServer(h.yielding(a.Handler(version, a.hosts(l))))
	h.stop = a.warmUp(context.WithoutCancel(ctx))
	go func() { _ = h.server.Serve(a.limited(l)) }() // it ends at Close; callers notice every other end
	return h, nil
}

// caller authenticates a request by the key. The caller of every authenticated request is
// auth.LocalCaller.
func (h *Holder) caller(r *http.Request) (auth.Caller, error) {
	if !showsKey(r, h.Key) {
		return auth.Caller{}, auth.Refused()
	}
	return auth.LocalCaller(), nil
}

// showsKey reports whether a request has a key as its bearer token, in constant time.
func showsKey(r *http.Request, key string) bool {
	shown := r.Header.Get("Authorization")
	return subtle.ConstantTimeCompare([]byte(shown), []byte("Bearer "+key)) == 1
}

// yielding adds the route that makes the Holder yield: POST /yield, which requires the key and
// answers 202 at once. The owner of the Holder learns of it through Yielded and closes it.
func (h *Holder) yielding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != yieldPath || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		if _, err := h.caller(r); err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		h.yield()
	})
}

// Yielded returns a channel that is closed when a server wants the place. Then the Holder must be
// closed.
func (h *Holder) Yielded() <-chan struct{} { return h.yielded }

// Close waits for the calls in flight, makes everything durable and releases the place. It cuts off
// calls that take longer than 30 seconds. The address file is removed before the database is
// released, so a server that waits for the place never reads an old one.
func (h *Holder) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := h.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = h.server.Close()
	}
	h.stop()
	h.leave()
	return errors.Join(err, h.app.Close())
}

// Vault returns the name of the folder's vault, or "" for a data directory.
func (h *Holder) Vault() string { return h.app.vault }

// Next returns the server that has the place after the Holder was closed, or nil if none has
// announced itself yet. The caller asks again after a moment.
func (h *Holder) Next() *InUse {
	at, err := readAddress(h.app.dir)
	if err != nil {
		return nil
	}
	return h.app.inUseAt(at)
}

// OpenForServer opens a place as Open does, for a server. It makes a Holder that has the place yield it. It
// waits a few seconds for a process without an address file, because such a process may be about to
// announce itself, or to end. It returns an *InUse if another server has the place, and UNAVAILABLE
// if ctx ends. It tries every takePause, because the lock of the database has no queue.
//
// The outcome depends on what the address file says. With a key, the process is a Holder and is
// asked to yield, again and again until it has. With a URL and no key, it is another server, which
// keeps the place. Without a file, the process is a command, which ends soon, or is just starting.
func OpenForServer(ctx context.Context, cfg Config) (*App, error) {
	end, silent := time.Now().Add(yieldTimeout), time.Now().Add(announceTimeout)
	for {
		app, err := Open(ctx, cfg)
		var busy *InUse
		now := time.Now()
		switch {
		case !errors.As(err, &busy) || now.After(end):
			return app, err
		case busy.Key != "":
			busy.askToYield(ctx)
			silent = time.Now().Add(announceTimeout)
		case busy.Server != "" || now.After(silent):
			return app, err
		}
		select {
		case <-time.After(takePause):
		case <-ctx.Done():
			return nil, fault.New(fault.Unavailable, "interrupted").Because(ctx.Err())
		}
	}
}

// askToYield asks a Holder to yield the place. It ignores errors: a Holder that does not answer has
// released the place, or is about to. Asking twice does no harm.
func (e *InUse) askToYield(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Server+yieldPath, nil)
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+e.Key)
	resp, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = resp.Body.Close() // the response itself is enough
	}
}
