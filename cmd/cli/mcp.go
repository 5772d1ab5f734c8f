package main

import (
	"context"
	"log/slog"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/bridge"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
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
