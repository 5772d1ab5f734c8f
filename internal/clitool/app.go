// Package clitool is the command line: one command, with its flags, arguments, completion and help,
// for each way that a tool's Spec says it is called from a shell (CONTRACT §7).
//
// It is handed an Invoker and cannot tell which one it is: the catalogue in process, or a client
// that reaches one over HTTP. Nothing here knows a tool by name; how an answer is shown follows
// from the shape of its JSON.
package clitool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"rookery/internal/fault"
	"rookery/internal/tool"
)

// An App is the command line of a catalogue. Tools, Connect, In, Out and Err are required.
type App struct {
	Tools []*tool.Tool

	// Connect reaches the tools at a target. It is called once a command is read and is sure to
	// call a tool; the Closer, which may be nil, is closed at its end. Its error is shown as the
	// fault that it is, or as INTERNAL.
	Connect func(ctx context.Context, t Target) (tool.Invoker, io.Closer, error)

	// Extra are commands that call no tool, such as one that serves. A RunE answers a fault, or a
	// usage error made by Usage. A command keeps what it has parsed: an App with such commands runs
	// once.
	Extra []*cobra.Command

	// Convert, by the name of a tool that brings files in, returns the file that is read in the place of one that is
	// named; the same one if it is read as it is. done is called when it has been read.
	Convert map[string]func(ctx context.Context, path string) (file string, done func(), err error)

	// Sections are the commands that the help of the whole shows first. Words that are no commands are left
	// out.
	Sections []Section

	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) string // nil: the environment is empty

	Version string // the line that --version prints; empty: there is no such flag

	Terminal bool // a person reads Out: tables, colour and indented JSON
	Progress bool // a person reads Err: a progress bar on long work
	Asks     bool // a person reads Err and types In: questions before what cannot be undone
	Width    int  // columns of the terminal; 0: 100

	Now func() time.Time // the clock, in the zone of the person; nil: time.Now

	nodes map[*cobra.Command]*command // of the line that is being read

	// Wait pauses before a call that was refused for now is made again; nil: for that long.
	Wait func(ctx context.Context, d time.Duration) error
}

// exitUsage is the exit code of a command line that cannot be read (CONTRACT §2).
const exitUsage = 1

// An ExitStatus is what RunE of a command of Extra returns to end the program with that exit code, and to print
// nothing more.
type ExitStatus int

// Error implements error.
func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Run reads a command line, without the program's name, does what it says, and answers the exit
// code (CONTRACT §2). It never panics over what was typed.
func (a *App) Run(ctx context.Context, args []string) int {
	root := a.root(completes(args))
	args = a.paired(root, args)
	root.SetArgs(append([]string{}, args...)) // nil would be the arguments of the process
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if status := ExitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	if usage := (*usageError)(nil); errors.As(err, &usage) {
		a.refuse(usage, root, args)
		return exitUsage
	}
	if failed := (*failure)(nil); errors.As(err, &failed) {
		a.fail(failed)
		return failed.family.ExitCode(failed.fault.Code)
	}
	failed := newFailure(nil, err)
	failed.form = formOf(asksJSON(args))
	a.fail(failed)
	return failed.fault.Code.Exit()
}

// commandOf is the command that a line calls, nil if it calls no tool.
func (a *App) commandOf(root *cobra.Command, args []string) *command {
	node, _, err := root.Find(args)
	if err != nil {
		return nil
	}
	return a.nodes[node]
}

// completes reports whether a shell asks what can stand at the end of a command line.
func completes(args []string) bool {
	return len(args) > 0 &&
		(args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// root is the whole tree of commands. What completes flags is added only where it is asked for: cobra
// keeps it for as long as the process lives.
func (a *App) root(completing bool) *cobra.Command {
	a.nodes = map[*cobra.Command]*command{}
	root := &cobra.Command{
		Use:           "rookery",
		Short:         "Team memory for agents and people: vaults of Markdown notes",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          a.runRoot,

		PersistentPreRun: a.warnToken,
	}
	if a.Version != "" {
		root.Flags().Bool(versionFlag, false, "print the version")
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetGlobalNormalizationFunc(dashed)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.help)
	root.SetHelpCommand(a.helpCommand())
	addGlobals(root.PersistentFlags())
	for _, t := range a.Tools {
		for _, way := range t.Commands {
			c, node := a.add(root, t, way)
			if completing {
				c.completeFlags(node)
			}
		}
	}
	if completing {
		completeFlag(root, "vault", a.completeVault)
	}
	root.AddCommand(a.Extra...)
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		a.group(c)
	}
	for _, c := range root.Commands() {
		finish(c)
	}
	forward(root)
	return root
}

// versionFlag prints the version. Cobra's own flag of that name prints another text.
const versionFlag = "version"

// runRoot prints the version if the line asks for it, else does what any group does.
func (a *App) runRoot(c *cobra.Command, args []string) error {
	if asked, err := c.Flags().GetBool(versionFlag); err != nil || !asked {
		return runGroup(c, args)
	}
	_, err := fmt.Fprintln(a.Out, a.Version)
	return err
}

// env is a variable of the environment; empty without one.
func (a *App) env(name string) string {
	if a.Env == nil {
		return ""
	}
	return a.Env(name)
}

// width is the number of columns that tables have.
func (a *App) width() int {
	if a.Width > 0 {
		return a.Width
	}
	return 100
}

// now returns the time, in the zone of the person.
func (a *App) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// wait pauses, or ends early with the context.
func (a *App) wait(ctx context.Context, d time.Duration) error {
	if a.Wait != nil {
		return a.Wait(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Unavailable, "interrupted").Because(ctx.Err())
	}
}
