package localapp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"sync"
	"time"

	"rookery/internal/auth"
	"rookery/internal/config"
	"rookery/internal/fault"
)

const (
	// holderCalls is how many calls run at once in a process that holds a place for other programs.
	holderCalls = 1024

	// yieldPath is the path of a Holder that a server calls to get the place.
	yieldPath = "/yield"

	// takePatience is how long a server waits for a Holder to yield: until its calls have ended,
	// and a little longer.
	takePatience = grace + 10*time.Second

	// silence is how long a server waits for a process that has the place and does not say where it
	// is called.
	silence = 5 * time.Second

	// takePause is the time between two tries of a server to get the place.
	takePause = 20 * time.Millisecond
)

// A Holder is an App that other programs of the same user call while it is open: over loopback,
// with a key that is in a file beside the database. Who can read the file could open the database
// itself.
type Holder struct {
	URL string // of the listener
	Key string // the bearer token of every request

	app    *App
	server *http.Server
	leave  func()
	stop   func()

	yielded chan struct{}
	yield   func()
}

// Hold serves the App to other programs of the same user, who are then auth.LocalCaller, until it
// is closed. The Holder closes the App.
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
	go func() { _ = h.server.Serve(a.limited(l)) }() // it ends with Close; a caller notices any other end
	return h, nil
}

// caller authenticates a request by the key.
func (h *Holder) caller(r *http.Request) (auth.Caller, error) {
	if !showsKey(r, h.Key) {
		return auth.Caller{}, auth.Refused()
	}
	return auth.LocalCaller(), nil
}

// showsKey reports whether a request has a key as its bearer token.
func showsKey(r *http.Request, key string) bool {
	shown := r.Header.Get("Authorization")
	return subtle.ConstantTimeCompare([]byte(shown), []byte("Bearer "+key)) == 1
}

// yielding adds the request that makes the Holder yield.
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

// Yielded is closed when a server wants the place: then the Holder must be closed.
func (h *Holder) Yielded() <-chan struct{} { return h.yielded }

// Close finishes the calls in flight, makes everything durable and releases the place. Calls that
// take longer than 30 seconds are cut off.
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

// Vault is the name of the folder's vault; empty for a data directory.
func (h *Holder) Vault() string { return h.app.vault }

// Next returns the server that holds the place after the Holder was closed; nil: none announced
// itself yet.
func (h *Holder) Next() *InUse {
	at, err := readAddress(h.app.dir)
	if err != nil {
		return nil
	}
	return h.app.inUseAt(at)
}

// Take opens a place as Open does, for a server. A Holder that has it yields it. A process that has
// it and cannot be called may be about to become one, or to end.
func Take(ctx context.Context, cfg Config) (*App, error) {
	end, silent := time.Now().Add(takePatience), time.Now().Add(silence)
	for {
		app, err := Open(ctx, cfg)
		var busy *InUse
		now := time.Now()
		switch {
		case !errors.As(err, &busy) || now.After(end):
			return app, err
		case busy.Key != "":
			busy.askToYield(ctx)
			silent = time.Now().Add(silence)
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

// askToYield asks a Holder for the place. If it does not answer it has released the place, or is
// about to.
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
		_ = resp.Body.Close() // that it came is all
	}
}
