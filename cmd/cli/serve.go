package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rookeryhq/rookery/internal/auth"
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

// The formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logger returns the logger of a server: JSON lines, or short lines for people. Without a format, a
// terminal gets short lines and everything else gets JSON, so a service manager needs no flag.
// Short lines are coloured on a terminal, unless NO_COLOR is set or TERM is dumb. An unknown format
// is INVALID_PARAMETER.
func logger(a *clitool.App, format string) (*slog.Logger, error) {
	switch {
	case format == logJSON, format == "" && !a.Progress:
		return slog.New(slog.NewJSONHandler(a.Err, nil)), nil
	case format == logText, format == "":
		env := a.Env
		if env == nil {
			env = func(string) string { return "" }
		}
		colour := a.Progress && env("NO_COLOR") == "" && env("TERM") != "dumb"
		return slog.New(&lineHandler{out: a.Err, colour: colour, turn: &sync.Mutex{}}), nil
	}
	return nil, fault.New(fault.InvalidParameter, "--log-format must be %s or %s", logText, logJSON).
		With("allowed", []string{logText, logJSON})
}

// A lineHandler writes a record as one short line: the time, the tool or request, its outcome, its
// duration, and then the other attributes as key=value. It omits attributes that are the same in
// most lines, or that only relate lines to each other:
//
//	09:41:07 raven_set ok 3.1ms vault=notes
//	09:41:09 GET /docs 200 2ms
//	09:41:12 ERROR the log could not be compacted vault=notes cause="no space left on device"
//
// Attributes of groups have the names of the groups as a prefix, with dots. WithAttrs and WithGroup
// return a copy; all copies share turn, the mutex of out, so lines are never mixed. It is safe for
// concurrent use.
type lineHandler struct {
	out    io.Writer
	colour bool
	turn   *sync.Mutex

	attrs []slog.Attr
	group string // the prefix of attribute names, with a dot
}

var _ slog.Handler = (*lineHandler)(nil)

// Enabled implements slog.Handler: it reports whether the level is at least info.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// WithAttrs implements slog.Handler. The attributes are flattened now and not for each record. The
// slice is cloned, because two handlers that are made from one must not append to the same array.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		next.attrs = appendFlat(next.attrs, h.group, a)
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group += name + "."
	return &next
}

// Handle implements slog.Handler: it writes the line of a record in one Write, and returns its
// error. The time is local, because people read the line. Attributes without a text are omitted.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendFlat(attrs, h.group, a)
		return true
	})
	var parts []string
	if !r.Time.IsZero() {
		parts = append(parts, h.paint(dim, r.Time.Local().Format("15:04:05")))
	}
	parts = append(parts, h.head(r, &attrs)...)
	for _, a := range attrs {
		if text := textOf(a.Value); text != "" {
			parts = append(parts, a.Key+"="+text)
		}
	}
	h.turn.Lock()
	defer h.turn.Unlock()
	_, err := fmt.Fprintln(h.out, strings.Join(parts, " "))
	return err
}

// The keys of the attributes that have fixed places in a line.
const (
	keyTool, keyCode, keyMS        = "tool", "code", "ms"
	keyMethod, keyRoute, keyStatus = "method", "route", "status"
	keyTenant, keyPrincipal        = "tenant", "principal"
	keyAgent, keyRequest           = "agent", "request_id"
)

// head returns the beginning of a line, and removes the attributes that it contains or makes
// redundant: of a call its tool, code and duration, of a request its method, route and status, and
// otherwise the level, if it is above info, and the message.
//
// The id of a request is kept for an internal error only, where it is needed to find the other
// lines about it. An agent with the name of its principal, the local principal and the local tenant
// say nothing on a machine with one user, so they are removed.
func (h *lineHandler) head(r slog.Record, attrs *[]slog.Attr) []string {
	has := func(key string) bool { return value(*attrs, key) != "" }
	var parts []string
	switch {
	case r.Level > slog.LevelInfo:
		return []string{h.paint(colourOf(r.Level), r.Level.String()), clean(r.Message)}
	case has(keyTool) && has(keyCode):
		code := take(attrs, keyCode)
		parts = []string{take(attrs, keyTool), h.outcome(code), take(attrs, keyMS) + "ms"}
		if code != string(fault.Internal) {
			take(attrs, keyRequest)
		}
	case has(keyMethod) && has(keyStatus):
		parts = []string{take(attrs, keyMethod), take(attrs, keyRoute), take(attrs, keyStatus),
			take(attrs, keyMS) + "ms"}
		take(attrs, keyRequest)
	default:
		return []string{clean(r.Message)}
	}
	principal := value(*attrs, keyPrincipal)
	drop(attrs, keyAgent, principal)
	drop(attrs, keyPrincipal, auth.Local)
	drop(attrs, keyTenant, auth.Local)
	return parts
}

// outcome returns the code of a call, coloured unless the call succeeded: red for an error of the
// server, and yellow for one of the caller.
func (h *lineHandler) outcome(code string) string {
	switch {
	case code == "ok":
		return code
	case fault.Code(code).Status() == fault.StatusInternal:
		return h.paint(red, code)
	}
	return h.paint(yellow, code)
}

// The colours of a terminal (ECMA-48, SGR).
const (
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// colourOf returns the colour of a level above info.
func colourOf(level slog.Level) string {
	if level >= slog.LevelError {
		return red
	}
	return yellow
}

// paint returns a text in a colour, or unchanged if the handler uses no colours.
func (h *lineHandler) paint(colour, text string) string {
	if !h.colour {
		return text
	}
	return colour + text + plain
}

// value returns the text of the first attribute with a key, or "". The key includes the names of
// groups.
func value(attrs []slog.Attr, key string) string {
	i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return ""
	}
	return textOf(attrs[i].Value)
}

// take removes all attributes with a key, and returns the text of the first, or "".
func take(attrs *[]slog.Attr, key string) string {
	text := value(*attrs, key)
	*attrs = slices.DeleteFunc(*attrs, func(a slog.Attr) bool { return a.Key == key })
	return text
}

// drop removes an attribute if it has this text. It is for values that are the default.
func drop(attrs *[]slog.Attr, key, text string) {
	if value(*attrs, key) == text {
		take(attrs, key)
	}
}

// appendFlat appends an attribute, or those of a group with its name as a prefix. It resolves
// LogValuers, and follows the rules of slog: an attribute without a key and a value is ignored, and
// a group without a name is inlined.
func appendFlat(attrs []slog.Attr, group string, a slog.Attr) []slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() != slog.KindGroup {
		if a.Key == "" && v.Any() == nil {
			return attrs
		}
		return append(attrs, slog.Attr{Key: group + a.Key, Value: v})
	}
	if a.Key != "" {
		group += a.Key + "."
	}
	for _, inner := range v.Group() {
		attrs = appendFlat(attrs, group, inner)
	}
	return attrs
}

// textOf returns a value on one line, in quotes if it contains blanks, quotes or unprintable
// characters, so that a value can neither end early nor control the terminal. An error is shown by
// its message; a fault within it by that of the fault. Milliseconds, which are floating-point
// numbers, have at most one decimal.
func textOf(v slog.Value) string {
	text := v.String()
	if err, ok := v.Any().(error); ok && v.Kind() == slog.KindAny {
		text = err.Error()
		if f := (*fault.Fault)(nil); errors.As(err, &f) {
			text = f.Error()
		}
	}
	if v.Kind() == slog.KindFloat64 {
		text = strconv.FormatFloat(v.Float64(), 'f', decimals(v.Float64()), 64)
	}
	if strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

// decimals returns the number of decimals to show of a number: one below 10, where it matters.
func decimals(f float64) int {
	if f < 10 {
		return 1
	}
	return 0
}

// odd reports whether a character could end a value, or control a terminal.
func odd(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' }

// clean returns a message without characters that could control a terminal: each is replaced by
// U+FFFD, and so are line feeds, because a record is one line.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
