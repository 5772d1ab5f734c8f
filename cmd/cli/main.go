// Rookery is the command line, the local server, and MCP over stdio.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/localapp"
)

func main() { os.Exit(run()) }

// run runs the command line until it ends or is interrupted, and returns the exit code.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return newApp(os.Stdin, os.Stdout, os.Stderr, os.Getenv).Run(ctx, os.Args[1:])
}

// newApp returns the command line over these streams and this environment.
func newApp(in io.Reader, out, errs io.Writer, env func(string) string) *clitool.App {
	a := &clitool.App{
		Tools: localapp.Tools(nil), In: in, Out: out, Err: errs, Env: env,
		Terminal: isTerminal(out), Progress: isTerminal(errs), Width: width(out),
		Asks:    isTerminal(in) && isTerminal(errs),
		Version: versionLine(), Sections: sections(),
	}
	a.Connect = connector{a}.connect
	a.Convert = map[string]func(context.Context, string) (string, func(), error){"memory_import": convertDatabase}
	s := &server{app: a}
	m := &mcp{app: a}
	d := &doctor{app: a, cloud: cloud{app: a}}
	dead, restore := &deadLetters{cloud: cloud{app: a}}, &restorer{cloud: cloud{app: a}}
	r := &rebuilder{app: a}
	i, o := &login{app: a}, &logout{app: a}
	a.Extra = append(a.Extra, s.command(), m.command(), i.command(), o.command(), d.command(), r.command(),
		(&pathCommand{a}).command(), dead.command(), restore.command(),
		backupCommand(a), ciCommand(a), versionCommand())
	return a
}

// sections returns the groups of commands in the help, everyday commands first.
func sections() []clitool.Section {
	return []clitool.Section{
		{Title: "Everyday commands", Words: []string{
			"new", "add", "read", "search", "edit", "set", "upsert", "object", "trait", "backlinks", "history",
			"undo", "delete",
		}},
		{Title: "Vaults and servers", Words: []string{
			"vault", "path", "serve", "mcp", "login", "logout", "whoami", "doctor", "backup",
		}},
		{Title: "Builds", Words: []string{"ci"}},
		{Title: "In AWS, for operators", Words: []string{"dead-letters", "rollback"}},
		{Title: "Access, for admins", Words: []string{"token", "member", "issuer", "audit", "usage"}},
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width returns the number of columns of a terminal; 0 if the stream is not a terminal.
func width(stream any) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// version returns the version of the module, or else the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && (v == "" || v == "(devel)") {
			v = s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
