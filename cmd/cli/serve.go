package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"rookery/internal/clitool"
	"rookery/internal/localapp"
)

// A server is the command that serves a data directory.
type server struct {
	app       *clitool.App
	in        io.Reader
	out, errs io.Writer
	env       func(string) string

	listen string
	port   int
	cache  byteSize
	mcp    bool
	demo   bool
}

func (s *server) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the local data directory over HTTP and MCP",
		Long: "Serve the local data directory over HTTP and MCP, on loopback: nobody is asked who " +
			"they are.\nWith --mcp, speak MCP over stdin and stdout instead, unless an address is " +
			"given as well.",
		Example: "rookery serve --data ./data\nrookery serve --data ./data --mcp",
		Args:    cobra.NoArgs,
		RunE:    s.run,
	}
	flags := c.Flags()
	flags.StringVar(&s.listen, "listen", "", "address to listen on (default "+
		localapp.DefaultListen+")")
	flags.IntVar(&s.port, "port", 0, "port of 127.0.0.1 to listen on")
	s.cache = localapp.DefaultCacheBytes
	flags.Var(&s.cache, "cache-bytes", "how much memory caches may hold: half of it texts, half what "+
		"vaults were at earlier versions")
	flags.BoolVar(&s.mcp, "mcp", false, "speak MCP over stdin and stdout")
	flags.BoolVar(&s.demo, "demo", false, "make the vault demo if there is no vault yet")
	return c
}

func (s *server) run(c *cobra.Command, _ []string) error {
	target, dir, err := connector{s.env}.local(s.app, c)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(s.errs, nil))
	app, err := localapp.Open(c.Context(), localapp.Config{
		Data: dir, Log: log, ReadOnly: target.ReadOnly, CacheBytes: int64(s.cache),
	})
	if err != nil {
		return err
	}
	defer app.Close() // what matters is durable; an error of the last sync is in the log
	if s.demo {
		if err := app.Demo(c.Context()); err != nil {
			return err
		}
	}
	if s.mcp && s.listen == "" && s.port == 0 {
		return app.ServeStdio(c.Context(), s.in, s.out, version())
	}
	return s.http(c.Context(), app)
}

func (s *server) http(ctx context.Context, app *localapp.App) error {
	addr := cmp.Or(s.listen, localapp.DefaultListen)
	if s.port != 0 {
		addr = fmt.Sprintf("127.0.0.1:%d", s.port)
	}
	l, err := localapp.Listen(addr)
	if err != nil {
		return err
	}
	if err := s.greet(l); err != nil {
		return err
	}
	return app.Serve(ctx, l, version())
}

// greet says what to try next.
func (s *server) greet(l net.Listener) error {
	url := "http://" + l.Addr().String()
	vault := "VAULT"
	if s.demo {
		vault = "demo"
	}
	_, err := fmt.Fprintf(s.out, `Rookery serves at %[1]s

  curl -s %[1]s/v1/vaults/%[2]s/objects
  %[3]s --server %[1]s --vault %[2]s object list
  MCP endpoint: %[1]s/mcp     documentation: %[1]s/docs

Stop with Ctrl-C.
`, url, vault, os.Args[0])
	return err
}
