// Rookery is the program for everything that happens on a person's machine: the command line, the
// local server, and MCP over stdio.
//
// The commands of the tools are made by package clitool from the catalogue. This package adds the
// parts that clitool must not know: how a target becomes a connection, the commands that call no
// tool, and the process itself. Nothing here implements a tool. A command without a server and a
// command with one run the same tools, in process or over HTTP, so their answers do not differ.
//
// # Files
//
// main.go builds the App and lists the commands. connect.go chooses the target of a command line: a
// server, a data directory or a folder. The tools of a directory are called in this process.
//
// serve.go is the local server, with its log. mcp.go relays MCP from stdin. login.go stores and
// removes tokens. doctor.go checks a directory, a server or a stack, and asks a server for the
// caller of a token. backup.go works on a data directory; cloud.go has the commands for a stack in
// AWS. rum.go converts a database of another program for an import.
//
// The files that begin with ci belong to `rookery ci`, which remembers how builds fail: ci_learn.go
// runs a command and learns from it, ci_recall.go prints memories, ci_run.go runs the command, and
// ci.go gets a token and asks Git.
//
// # Rules
//
// Every command returns its result through App.Finish, so that --json, --envelope and exit codes
// work in the same way everywhere. Every error for a person is a fault with a fix. Text that did
// not come from this program is escaped before it reaches a terminal.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/localapp"
)

func main() { os.Exit(run()) }

// run runs the command line until it ends or is interrupted, and returns the exit code. SIGINT and
// SIGTERM end the context, so every command stops in its own orderly way; nothing here exits the
// process early.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return newApp(os.Stdin, os.Stdout, os.Stderr, os.Getenv).Run(ctx, os.Args[1:])
}

// newApp returns the command line over these streams and this environment. It is the place where
// all parts of the program are connected. It reads nothing from the process except the terminals
// behind the streams and the version of the build, so tests call it with buffers and a map.
//
// localapp.Tools(nil) is the catalogue without an open data directory: it is enough to build the
// commands. Calls go to the catalogue of the process that has the data.
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
	d := &doctorCommand{app: a, cloud: cloud{app: a}}
	dead, restore := &deadLetters{cloud: cloud{app: a}}, &restorer{cloud: cloud{app: a}}
	r := &rebuilder{app: a}
	i, o := &login{app: a}, &logout{app: a}
	a.Extra = append(a.Extra, s.command(), m.command(), i.command(), o.command(), d.command(), r.command(),
		(&pathCommand{a}).command(), dead.command(), restore.command(),
		backupCommand(a), ciCommand(a), versionCommand())
	return a
}

// sections returns the groups of commands in the help, everyday commands first. A command that is
// in no group is listed at the end, so a new one is never missing.
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

// isTerminal reports whether a stream is a file that is a terminal. It is false for the buffers of
// tests.
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

// version returns the version of the module, or else the first 12 characters of the commit that the
// program was built from, for a build whose version is missing or "(devel)". It is "unknown" if the
// build has no information at all. Servers report it, and backups contain it.
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

// versionLine returns the version of the program, its platform and the version of Go, without a
// line feed. A report of a bug should contain it.
func versionLine() string {
	return fmt.Sprintf("rookery %s %s/%s %s", version(), runtime.GOOS, runtime.GOARCH,
		runtime.Version())
}

// versionCommand returns the command `version`. It does the same as the flag --version, and uses
// none of the global flags: its output is one line of text also with --json.
func versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  rookery version",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), versionLine())
			return err
		},
	}
	clitool.Uses(c)
	return c
}
