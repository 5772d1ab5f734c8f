package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/config"
	"github.com/rookeryhq/rookery/internal/control"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/localapp"
)

// A server is the command that serves a data directory, or a folder. Its fields are the values of
// its flags; log is the format of the log. All settings of a hosted server are in a file or in the
// environment (package config); the flags are those that a person types.
type server struct {
	app *clitool.App

	file   string
	listen string
	port   int
	cache  byteSize
	memory byteSize
	mcp    bool
	demo   bool
	shared bool
	log    string
}

// command returns the command. cache and memory are given as sizes such as 2GiB.
func (s *server) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the local data directory or a folder over HTTP and MCP",
		Long: "Serve the local data directory over HTTP and MCP on loopback. Authentication is off until an " +
			"API\ntoken exists. With --config FILE, or the same keys as ROOKERY_… in the environment, " +
			"serve it on a\nnetwork, with TLS and authentication.\n\nWith --vault DIR, serve a folder of " +
			"notes in place: it is the only vault, and edits with other\nprograms are synced. Its history " +
			"is stored in the user's state directory.\n\nWith --mcp and without an address, serve MCP over " +
			"stdin and stdout as rookery mcp does, also while a\nserver has the directory open.",
		Example: "rookery serve --data ./data\nrookery serve --data ./data --mcp\n" +
			"rookery serve --vault ./notes\nrookery serve --config rookery-server.yaml",
		Args: cobra.NoArgs,
		RunE: s.run,
	}
	clitool.Uses(c, "data", "vault", "readonly")
	flags := c.Flags()
	flags.StringVar(&s.file, "config", "", "configuration file of the server: authentication, "+
		"public URL, TLS")
	flags.StringVar(&s.listen, "listen", "", "address to listen on (default "+
		localapp.DefaultListen+")")
	flags.IntVar(&s.port, "port", 0, "port of 127.0.0.1 to listen on")
	s.cache = localapp.DefaultCacheBytes
	flags.Var(&s.cache, "cache-bytes", "memory limit of the caches: half for texts, half for "+
		"earlier versions of vaults")
	flags.Var(&s.memory, "memory", "memory limit of all open vaults of a data directory "+
		"together, such as 2GiB (default half of the\nmachine's memory)")
	flags.BoolVar(&s.mcp, "mcp", false, "serve MCP over stdin and stdout, unless an address is given")
	flags.StringVar(&s.log, "log-format", "", "form of the log on stderr: text or json (default text on "+
		"a terminal, else json)")
	flags.BoolVar(&s.shared, "shared-data", false, "serve the data even if other users of this "+
		"machine have permissions for it")
	flags.BoolVar(&s.demo, "demo", false, "create the vault demo if there is no vault yet")
	return c
}

// run serves until it is interrupted. localapp.OpenForServer makes a `rookery mcp` that has the directory
// open yield it; another server keeps it, and is an error.
func (s *server) run(c *cobra.Command, _ []string) error {
	target, cfg, err := s.config(c)
	if err != nil {
		return err
	}
	if s.stdio() {
		return s.serveStdio(c, target, cfg)
	}
	app, err := localapp.OpenForServer(c.Context(), cfg)
	if err != nil {
		return err
	}
	defer app.Close() // all data is durable; an error of the last sync is in the log
	defer localapp.BoundHeap(cfg, os.Getenv)()
	if s.demo {
		if err := app.Demo(c.Context()); err != nil {
			return err
		}
	}
	return s.http(c.Context(), app)
}

// stdio reports whether MCP is served over stdin and stdout: --mcp without an address. With an
// address, --mcp has no effect, because a server over HTTP always has the endpoint /mcp.
func (s *server) stdio() bool { return s.mcp && s.listen == "" && s.port == 0 }

// config returns the selected target, and the configuration to serve it with. It refuses lines that
// would not have the effect that they seem to have: a server as the target, the name of a vault in
// --vault, which selects nothing, and --demo for a folder.
//
// --readonly is a property of the server over HTTP, and of the messages over stdin, because the
// process may relay these to a server for others. The data directory is that of the line or, if the
// line has none, of the file. A directory that other users can read is refused, unless
// --shared-data is set (Private).
func (s *server) config(c *cobra.Command) (clitool.Target, localapp.Config, error) {
	hosted, err := s.hosted()
	if err != nil {
		return clitool.Target{}, localapp.Config{}, err
	}
	target, cfg, err := connector{s.app}.local(c)
	switch {
	case err != nil:
		return target, cfg, err
	case target.Server != "" && (s.stdio() || c.Root().PersistentFlags().Changed("server")):
		return target, cfg, fault.New(fault.InvalidParameter, "serve opens a directory on this "+
			"machine, but --server or ROOKERY_SERVER names a server").
			Fix("relay MCP to that server: rookery mcp --server URL").
			Fix("or name the directory: --data DIR")
	case target.Vault != "" && c.Root().PersistentFlags().Changed("vault"):
		return target, cfg, fault.New(fault.InvalidParameter, "serve takes the path of a folder "+
			"in --vault, and %q is a name; all vaults of a data directory are served", target.Vault).
			Fix("serve a folder: rookery serve --vault ./%s", target.Vault).
			Fix("or leave --vault out")
	case cfg.Folder != "" && s.demo:
		return target, cfg, fault.New(fault.InvalidParameter, "--demo creates a vault in a data "+
			"directory, and cannot be used with a folder").Fix("leave --demo out")
	}
	if cfg.Log, err = logger(s.app, s.log); err != nil {
		return target, cfg, err
	}
	cfg.ReadOnly, cfg.CacheBytes = target.ReadOnly && !s.stdio(), int64(s.cache)
	cfg.Server, cfg.Version = hosted, version()
	cfg.Private = !s.shared
	cfg.Servers = connector{s.app}.servers()
	if target.Data == "" && target.Folder == "" {
		cfg.Data = cmp.Or(hosted.Data, cfg.Data)
	}
	return target, cfg, nil
}

// loadConfig reads the configuration from a server's file and the environment. An empty file means
// the environment only. `doctor` uses it too, so that it examines the data that the server would
// serve.
func loadConfig(app *clitool.App, file string) (config.Config, error) {
	env := app.Env
	if env == nil {
		env = func(string) string { return "" }
	}
	return config.Load(file, env)
}

// hosted returns the configuration from the server's file, the environment and the flags. The flags
// override the environment, which overrides the file.
func (s *server) hosted() (config.Config, error) {
	hosted, err := loadConfig(s.app, s.file)
	if err != nil {
		return hosted, err
	}
	hosted.Listen = cmp.Or(s.listen, hosted.Listen)
	hosted.Memory = cmp.Or(config.Size(s.memory), hosted.Memory)
	if s.port != 0 {
		hosted.Listen = fmt.Sprintf("127.0.0.1:%d", s.port)
	}
	return hosted, nil
}

// http serves an open App until ctx ends. The greeting is printed after the listener is open, so a
// program that waits for it can connect at once.
func (s *server) http(ctx context.Context, app *localapp.App) error {
	l, err := app.Listen(ctx)
	if err != nil {
		return err
	}
	if err := s.greet(app, l); err != nil {
		return err
	}
	return app.Serve(ctx, l, version())
}

// greet prints the URL of the server, and commands to try, on standard output. The examples have
// the name of the vault, if there is one, and the name by which this program was called. News about
// a folder comes first.
func (s *server) greet(app *localapp.App, l net.Listener) error {
	url := app.URL(l)
	vault := cmp.Or(app.Vault(), "VAULT")
	if s.demo {
		vault = "demo"
	}
	news := ""
	if lines := app.StartMessages(); len(lines) > 0 {
		news = control.Escape(strings.Join(lines, "\n")) + "\n\n"
	}
	_, err := fmt.Fprintf(s.app.Out, `Rookery serves at %[1]s

%[4]s  curl -s %[1]s/v1/vaults/%[2]s/objects
  %[3]s --server %[1]s --vault %[2]s object list
  MCP endpoint: %[1]s/mcp     documentation: %[1]s/docs

Stop with Ctrl-C.
`, url, vault, os.Args[0], news)
	return err
}

// A byteSize is a number of bytes as a flag, written in bytes or in KiB, MiB or GiB. A flag without
// a default is 0 if it was not given. Set accepts no 0, so 0 cannot be given to mean "no limit".
type byteSize int64

var _ pflag.Value = (*byteSize)(nil)

// Set parses a size such as 134217728, 128MiB or "1 GiB", by the same rules as the keys of a
// server's configuration file.
func (b *byteSize) Set(text string) error {
	n, err := config.ParseSize(text)
	if err == nil {
		*b = byteSize(n)
	}
	return err
}

// String returns the size in the largest unit of which it is a whole number. Set parses the text of
// a positive size to the same size. Help shows it as the default of the flag.
func (b *byteSize) String() string {
	n, unit := *b, 0
	for unit < 3 && n > 0 && n%1024 == 0 {
		n, unit = n/1024, unit+1
	}
	return fmt.Sprintf("%d%s", n, []string{"", "KiB", "MiB", "GiB"}[unit])
}

// Type returns the name of a size in help texts.
func (b *byteSize) Type() string { return "SIZE" }
