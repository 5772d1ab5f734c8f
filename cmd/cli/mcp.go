package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/bridge"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/credential"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// An mcp is the command that relays MCP between stdin and stdout and an endpoint
// (docs/design/0023-mcp-over-stdio.md). It contains no MCP server: package bridge sends each line
// to an endpoint over HTTP. The command chooses the endpoint, which is that of a server or of the
// local process that has the directory open.
//
// path, toolset and tools are the flags of these names. They select the tools that the client sees.
type mcp struct {
	app *clitool.App

	path    string
	toolset []string
	tools   []string
}

// command returns the command. It has no flags for the form of answers, because its output is the
// protocol.
func (m *mcp) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP over stdin and stdout, for a client that starts a program",
		Long: "Serve MCP over stdin and stdout, one message a line. The messages go to the " +
			"server of --server, of\n$ROOKERY_SERVER or of the configuration. Without one they " +
			"go to the local data directory, or with\n--vault DIR to a folder of notes: through " +
			"the server that has it open, else in this process. Several\nclients can use one " +
			"directory at once, each with its own process.\n\nThe tools are those of /mcp, the " +
			"few that an agent needs first. --toolset, --tools and --path select\nothers. If " +
			"the server does not answer, the call fails: the process continues, and works again " +
			"when\nthe server is back. Logs go to stderr.",
		Example: "rookery mcp\nrookery mcp --vault ./notes --readonly\n" +
			"rookery mcp --server https://notes.example.com --vault team --toolset raven,team",
		Args: cobra.NoArgs,
		RunE: m.run,
	}
	clitool.Uses(c, "server", "token", "data", "vault", "agent", "session", "readonly")
	flags := c.Flags()
	flags.StringVar(&m.path, "path", "", "path of the endpoint, such as /mcp/x/all (default "+bridge.Path+")")
	flags.StringSliceVar(&m.toolset, "toolset", nil,
		"all tools of these sets: "+strings.Join(m.sets(), ", ")+", or all")
	flags.StringSliceVar(&m.tools, "tools", nil, "only these tools, by their names")
	_ = c.RegisterFlagCompletionFunc("toolset", cobra.FixedCompletions(append(m.sets(), allSets),
		cobra.ShellCompDirectiveNoFileComp)) // it fails only for a flag that does not exist
	_ = c.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(m.names(),
		cobra.ShellCompDirectiveNoFileComp)) // the same
	_ = c.RegisterFlagCompletionFunc("path", cobra.NoFileCompletions) // the same
	return c
}

// allSets selects all sets of tools.
const allSets = "all"

// sets returns the names of the sets of tools, sorted. A set is a family of tools in the catalogue.
// It may be completed in a shell, without a call to a server.
func (m *mcp) sets() []string {
	var all []string
	for _, t := range m.app.Tools {
		all = append(all, t.Family.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// names returns the names of all tools.
func (m *mcp) names() []string {
	var all []string
	for _, t := range m.app.Tools {
		all = append(all, t.Name)
	}
	return all
}

// run relays messages until stdin ends. Nothing but messages may be written to stdout, and stderr
// is for warnings, so the progress of reading a folder is off.
func (m *mcp) run(c *cobra.Command, _ []string) error {
	t, err := m.app.Target(c)
	if err != nil {
		return err
	}
	o, err := m.options(t)
	if err != nil {
		return err
	}
	n := connector{m.app}
	address, err := n.server(t)
	if err != nil {
		return err
	}
	if address != "" {
		return m.relay(c.Context(), o, &remote{connector: n, target: t, address: address})
	}
	cfg, err := n.config(t)
	if err != nil {
		return err
	}
	cfg.Log, cfg.Progress = o.Log, nil
	return m.relayLocal(c.Context(), o, newLocal(n, t, cfg))
}

// relayLocal relays to a data directory, or a folder, and releases it at the end. It returns the
// first error.
func (m *mcp) relayLocal(ctx context.Context, o bridge.Options, l *local) error {
	err := m.relay(ctx, o, l)
	if closed := l.Close(); err == nil {
		err = closed
	}
	return err
}

// relay relays until stdin ends. It finds the server first, which opens a local directory, so that
// a wrong path or option ends the program with a message that a person sees. It returns an error at
// once if the endpoint refuses the options, but not if the server does not answer: clients restart
// a program that exits, or give up, while a server that is being restarted comes back. Options are
// checked only if they differ from the default, because each check costs a call.
func (m *mcp) relay(ctx context.Context, o bridge.Options, s bridge.Server) error {
	signal.Ignore(syscall.SIGPIPE) // a client that has exited is an error of a write
	o.Server = s
	_, err := s.Find(ctx, nil)
	switch {
	case err != nil && !fault.Is(err, fault.Unavailable):
		return err
	case err == nil && (o.Path != bridge.Path || o.Tools != ""):
		if err := bridge.Check(ctx, o); err != nil {
			return err
		}
	}
	return bridge.Run(ctx, o, m.app.In, m.app.Out)
}

// options returns the options of the bridge, except for its server. The set of tools is part of the
// path of the endpoint: /mcp for the default tools, /mcp/x/ and the names of sets for --toolset,
// and /mcp/x/all for --tools, which then filters them. --path is the path itself; together with
// --toolset it is refused. The log is JSON on stderr, with warnings and errors only, because
// clients show stderr to a person or store it.
func (m *mcp) options(t clitool.Target) (bridge.Options, error) {
	o := bridge.Options{
		Path: bridge.Path, Tools: strings.Join(m.tools, ","), ReadOnly: t.ReadOnly,
		Agent: t.Agent, Session: t.Session, Vault: t.Vault, Catalogue: m.app.Tools,
		Log: slog.New(slog.NewJSONHandler(m.app.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	rest, below := strings.CutPrefix(m.path, bridge.Path)
	switch {
	case m.path != "" && len(m.toolset) > 0:
		return o, fault.New(fault.InvalidParameter, "--path and --toolset both select the tools").
			Fix("leave one of them out")
	case m.path != "" && (!below || rest != "" && rest[0] != '/' || strings.ContainsAny(rest, "?#%")):
		return o, fault.New(fault.InvalidParameter, "--path is %s, or a path below it", bridge.Path).
			Fix("--path %s/x/%s", bridge.Path, allSets)
	case m.path != "":
		o.Path = m.path
	case len(m.toolset) > 0:
		o.Path += "/x/" + url.PathEscape(strings.Join(m.toolset, ","))
	case len(m.tools) > 0:
		o.Path += "/x/" + allSets
	}
	return o, nil
}

// serveStdio runs `serve --mcp` without an address: it relays MCP to the selected directory. It
// differs from `mcp` in its configuration: with --config or --demo, this process must open the
// directory itself. If another process has it open, that process would not follow these flags, so
// the call is refused.
func (s *server) serveStdio(c *cobra.Command, t clitool.Target, cfg localapp.Config) error {
	m := &mcp{app: s.app}
	o, err := m.options(t)
	if err != nil {
		return err
	}
	cfg.Log = o.Log
	l := newLocal(connector{s.app}, t, cfg)
	l.demo = s.demo
	if s.file != "" {
		l.alone = "--config"
	}
	return m.relayLocal(c.Context(), o, l)
}

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
