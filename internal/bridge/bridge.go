// Package bridge relays MCP messages between a pair of streams and the Streamable HTTP endpoint of
// a server (https://modelcontextprotocol.io/specification/2026-07-28/basic/transports).
//
// Each line of the input is one message, or one batch. It is the body of one request, unchanged,
// and the body of the answer is one line of the output, unchanged. The bridge keeps no session, so
// the server may change between two messages.
package bridge

import (
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

// Options say where messages go and what is added to them. Server is required.
type Options struct {
	Server Server
	Path   string // of the endpoint; empty: Path

	Tools    string // only these tools, separated by commas; empty: those of the path
	ReadOnly bool   // no mutations
	Agent    string // who acts under the principal; empty: the principal's own agent
	Session  string // whose view state is used; empty: the default session
	Vault    string // for calls that name no vault; empty: none

	// Catalogue is what the bridge knows of the tools: those that take a vault, and those that only
	// read.
	Catalogue []*tool.Tool

	Log *slog.Logger // nil: nothing is logged
}

// A Server finds the server that messages go to. It is safe for concurrent use.
type Server interface {
	// Find returns the client of the server. Failed is a client that got no answer, or whose token
	// was refused; nil: none. The same client is returned again if there is no other yet.
	Find(ctx context.Context, failed *httptool.Client) (*httptool.Client, error)

	// Patience is how long a message waits for another server while the one that was found does not
	// answer; 0: there is no other.
	Patience() time.Duration
}

const (
	// MaxCalls is how many messages are with the server at once: less than one caller may have
	// there.
	MaxCalls = 32

	// maxWaiting is how many messages are read before one of them is answered.
	maxWaiting = 1024

	// grace is how long calls have to finish when the program must stop or the output is closed.
	grace = 5 * time.Second
)

// A bridge is one pair of streams.
type bridge struct {
	opt    Options
	header http.Header // of every request
	calls  chan struct{}
	queue  chan struct{}
	known  catalogue

	output
	flights

	doubted atomic.Pointer[httptool.Client] // of the server that lost a message; nil: none did

	mu      sync.Mutex
	version string // of the protocol, as the server answered `initialize`; empty: it did not
}

// newBridge makes the bridge of an output.
func newBridge(o Options, out io.Writer) *bridge {
	if o.Path == "" {
		o.Path = Path
	}
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

// header returns what every request carries.
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

// Run relays until the input ends, then answers the messages that were read. It ends early with the
// context and when the output is closed: calls then have 5 seconds to finish. An error is that of
// the input.
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
// not have. Nothing is known of an endpoint that does not answer.
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

// relay reads messages and starts the answer to each, until there are no more.
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

// take starts the answer to the message of a line. The next message waits for the answer to
// `initialize`, which says the version of the protocol.
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

// answer sends a message to the server and writes the answer.
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

// negotiated returns the version of the protocol that the server answered; empty: it did not yet.
func (b *bridge) negotiated() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.version
}

// negotiate keeps the version in the answer to `initialize`.
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
