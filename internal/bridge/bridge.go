// Package bridge relays MCP messages between a pair of streams and the Streamable HTTP endpoint of
// a server (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports).
//
// Each line of the input is one message, or one batch. It is the body of one request, unchanged,
// and the body of the answer is one line of the output, unchanged. The bridge keeps no session, so
// the server may change between two messages.
//
// # A message
//
// One goroutine reads lines (stream.go); a second parses each and starts its answer (relay and take
// in this file), so that messages are answered concurrently. The answer of a message is a request
// to the server (stream.go) whose response is converted to lines (message.go). A client that
// cancels a request ends the HTTP request of its message. The bridge reads only the parts of a
// message that it needs (message.go): ids, the method, and the tools that it calls. Everything else
// is for the server to check.
//
// # When a server is lost
//
// A local server can be replaced at any time: it was restarted, or another process took its place.
// A message without an answer is sent again to the server that Find returns next, if that is safe:
// if the server did not receive it, if it changes nothing, or if each of its calls has an
// idempotency key. Otherwise the client gets an error, because the change may have been made.
package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// Path is the path of the endpoint whose tools are those that an agent needs first.
const Path = "/mcp"

// Options configure a bridge: the server, the endpoint, and values that are added to each message.
// Server is required.
type Options struct {
	Server Server
	Path   string // of the endpoint; empty: Path

	Tools    string // only these tools, separated by commas; empty: those of the path
	ReadOnly bool   // no mutations
	Agent    string // the agent that acts under the principal; empty: the principal's own
	Session  string // the session whose view state is used; empty: the default session
	Vault    string // for calls that name no vault; empty: none

	// Catalogue contains the tools that the bridge knows. It needs them to find those that take a
	// vault, and those that only read and can be called again. The server may have other tools.
	Catalogue []*tool.Tool

	Log *slog.Logger // nil: nothing is logged
}

// A Server finds the server that messages go to. It is safe for concurrent use.
type Server interface {
	// Find returns the client of the server. failed is the client that got no answer, or whose
	// token was refused; nil: none. Find returns the same client again if there is no other yet.
	// An error means that there is no server; it is the answer to the message.
	Find(ctx context.Context, failed *httptool.Client) (*httptool.Client, error)

	// Patience returns how long a message waits for another server while the one that was found
	// does not answer; 0 if there can be no other, as for a server with a fixed address.
	Patience() time.Duration
}

const (
	// MaxCalls is the largest number of messages that are with the server at once. It is less than
	// the number of concurrent calls that a server permits one caller.
	MaxCalls = 32

	// maxWaiting is the largest number of messages that were read and are not answered. Beyond it,
	// the input is not read, which makes the client wait.
	maxWaiting = 1024

	// grace is how long calls have to finish when the program must stop or the output is closed.
	grace = 5 * time.Second
)

// A bridge relays the messages of one pair of streams. queue bounds the messages that were read and
// have no answer yet, and calls those that are with the server.
type bridge struct {
	opt    Options
	header http.Header // of every request
	calls  chan struct{}
	queue  chan struct{}
	known  catalogue

	output
	flights

	suspect atomic.Pointer[httptool.Client] // the client of a server that lost a message; nil: none did

	mu      sync.Mutex
	version string // of the protocol, in the answer to `initialize`; empty before that
}

// newBridge returns a bridge that writes to out, with the defaults of the options. It starts
// nothing.
func newBridge(o Options, out io.Writer) *bridge {
	o.Path = cmp.Or(o.Path, Path)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &bridge{
		opt: o, header: o.header(), known: o.Catalogue,
		calls: make(chan struct{}, MaxCalls), queue: make(chan struct{}, maxWaiting),
	}
	b.output = output{to: out, closed: make(chan struct{})}
	b.flights = flights{all: map[string]*flight{}}
	return b
}

// header returns the headers that every request has. Options that are empty send no header, so the
// server uses its own defaults. The caller owns the map.
func (o Options) header() http.Header {
	h := http.Header{"Accept": {"application/json, text/event-stream"}}
	for name, value := range map[string]string{
		"X-Mcp-Tools": o.Tools, "X-Agent-Id": o.Agent, "X-Session-Id": o.Session,
	} {
		if value != "" {
			h.Set(name, value)
		}
	}
	if o.ReadOnly {
		h.Set("X-Mcp-Readonly", "true")
	}
	return h
}

// Run relays messages until the input ends, then answers those that were read, and returns. It ends
// early with the context and when the output is closed: calls then have 5 seconds to finish, and
// are cancelled after that. The error is that of the input; nil at its end.
//
// Requests do not end with ctx at once, because a call that is cut off may have changed the vault
// without an answer.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	b := newBridge(o, out)
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	lines := make(chan line)
	go read(in, lines, work.Done())
	var calls sync.WaitGroup
	err := b.relay(ctx, lines, func(m *message) <-chan struct{} {
		done := make(chan struct{})
		calls.Go(func() {
			defer close(done)
			b.answer(work, m)
		})
		return done
	})
	finished := make(chan struct{})
	go func() {
		calls.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return err
	case <-ctx.Done():
	case <-b.closed:
	}
	stop := time.AfterFunc(grace, cancel)
	defer stop.Stop()
	<-finished
	return err
}

// Check returns the fault of options that the endpoint refuses, such as a set of tools that it does
// not have. It returns nil if the endpoint does not answer, or answers with any other fault: the
// messages then get their own errors. It sends one request.
func Check(ctx context.Context, o Options) error {
	b := newBridge(o, io.Discard)
	_, a, err := b.send(ctx, parse([]byte(`{"jsonrpc":"2.0","id":0,"method":"tools/list"}`)))
	if err != nil {
		return nil //nolint:nilerr // each message has the error that it meets
	}
	f, _ := refusalIn([][]byte{a.Body})
	if s := f.Status(); f.Code != "" && (s == fault.StatusNotFound || s == fault.StatusInvalidArgument) {
		return f
	}
	return nil
}

// relay reads messages and starts the answer to each, until there are no more, ctx ends or the
// output is closed. start starts an answer, and returns a channel that is closed when it was
// written. The error is that of the input; the end of the input is none.
func (b *bridge) relay(
	ctx context.Context, lines <-chan line, start func(*message) <-chan struct{},
) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.closed:
			return nil
		case l, ok := <-lines:
			if !ok || errors.Is(l.err, io.EOF) {
				return nil
			}
			if l.err != nil {
				return l.err
			}
			if err := b.take(ctx, l, start); err != nil {
				return nil //nolint:nilerr // the program was told to stop, which is no error
			}
		}
	}
}

// take parses the message of a line and starts its answer. It returns an error only if ctx ended.
// It waits while maxWaiting messages have no answer. After `initialize`, it also waits for the
// answer, which contains the version of the protocol that the next messages need. A cancellation is
// not sent to the server: it ends the request here.
func (b *bridge) take(
	ctx context.Context, l line, start func(*message) <-chan struct{},
) error {
	if len(l.text) == 0 {
		return nil
	}
	m := parse(l.text)
	m.cut = l.cut
	if id := m.cancels; id != nil {
		b.cancel(id)
		return nil
	}
	select {
	case b.queue <- struct{}{}:
	case <-b.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	// The message is registered before its answer starts, so that a cancellation on the next line
	// finds it.
	m.flight = b.begin(m.ids)
	done := start(m)
	if m.method != initialize {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answer sends a message to the server and writes the lines of the answer. A message whose requests
// were all cancelled has no answer. At most MaxCalls messages are sent at once; the others wait
// here, and leave the queue when they are answered or cancelled.
func (b *bridge) answer(ctx context.Context, m *message) {
	defer func() { <-b.queue }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.bind(m.flight, cancel)
	defer b.end(m.ids, m.flight)
	select {
	case b.calls <- struct{}{}:
		defer func() { <-b.calls }()
	case <-ctx.Done():
		return
	}
	lines := b.exchange(ctx, m)
	if m.flight.isCancelled() {
		return
	}
	for _, l := range lines {
		b.write(l)
	}
}

// negotiated returns the version of the protocol in the answer to `initialize`; empty before that.
func (b *bridge) negotiated() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// negotiate stores the version in the answer to `initialize`. An answer without one changes
// nothing.
func (b *bridge) negotiate(answer []byte) {
	var a struct {
		Result struct{ ProtocolVersion string }
	}
	if json.Unmarshal(answer, &a) == nil && a.Result.ProtocolVersion != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.version = a.Result.ProtocolVersion
	}
}
