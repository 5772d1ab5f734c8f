// Package clitool implements the command line. It has one command, with flags, arguments,
// completion and help, for each Command in the Spec of a tool (CONTRACT §7).
//
// It calls the tools through an Invoker and does not depend on its implementation: the catalogue in
// process, or a client that reaches one over HTTP. The package knows no tool by name; the way in
// which an answer is shown depends only on the shape of its JSON.
//
// A command line goes through these steps. The tree of commands is built from the tools
// (command.go, flags.go, help.go). cobra finds the command and its flags. command.go sorts the
// words and makes the arguments of the call, with flags.go and inputflags.go. ask.go asks the
// person, if necessary. target.go says which server or data directory is meant, and App.Connect
// connects to it. run.go makes the call, or many calls for files: import.go with source.go,
// split.go, export.go with sink.go. run.go also waits for jobs.
//
// The answer is printed in one of three forms. For programs it is JSON: the envelope, or only its
// data. For people print.go, printpeople.go and table.go choose a layout from the shape of the data
// and from the schema of the tool. A fault is printed by formatcall.go, which writes the calls in
// its fixes as command lines; usage.go names arguments as the line did.
//
// Everything that a server sends is escaped before it is printed on a terminal (harmless), because
// a note may contain control sequences.
//
// # What programs and people may rely on
//
// A program reads Out with --json, --bare or --envelope, or reads the lines with tabs that a table
// becomes when Out is not a terminal. The envelope and the exit codes are part of the contract
// (CONTRACT §1 and §2), and names of members are those of the tool. What people see on a terminal
// may change at any time.
//
// Results go to Out, and everything about them goes to Err: warnings, counts, progress, questions
// and faults. So the output of a command can be piped without filtering. A failed call prints
// nothing on Out for people, except the results of steps that did succeed.
//
// # Names and values
//
// A word, a flag and a member of a JSON object mean the same argument of the tool, and its schema
// decides how a text becomes a value. Flags have dashes where arguments have underscores; both are
// accepted. The tool checks the values, not this package, so that messages and codes are the same
// over HTTP. The exceptions are errors that only the command line can have: an unknown flag, a word
// that is left over, an argument that is given twice, and a text for a flag that takes a number or
// a boolean. These are usage errors, with exit code 1.
package clitool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
)

// An App is the command line of a catalogue. Tools, Connect, In, Out and Err are required. It is
// used by one goroutine. It reads nothing from the process: environment, streams and clock are
// fields, so a test can run a command line as a user would.
//
// Each Run builds a new tree of commands, because cobra stores the values of flags in it. Without
// Extra commands, an App can therefore run many lines, one after the other.
type App struct {
	Tools []*tool.Tool

	// Connect returns an Invoker for a target. It is called after the command line was parsed, and
	// only if a tool will be called. The Closer may be nil; it is closed at the end of the command.
	// An error that is not a fault is shown as INTERNAL.
	Connect func(ctx context.Context, t Target) (tool.Invoker, io.Closer, error)

	// Extra are commands that call no tool, such as the one that starts a server. A RunE returns a
	// fault, an error made by Usage, or an ExitStatus. A cobra command keeps its parsed flags, so
	// an App with Extra commands can run only once.
	Extra []*cobra.Command

	// Convert contains, by the name of an importing tool, a function that returns the file to read
	// instead of the one at a path; it may return the same path. done is called after that file was
	// read.
	Convert map[string]func(ctx context.Context, path string) (file string, done func(), err error)

	// Sections are the groups of commands that the root help shows first. Unknown words are
	// ignored.
	Sections []Section

	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) string // nil: the environment is empty

	Version string // printed by --version; empty: there is no such flag

	Terminal bool // Out is a terminal: use tables, colour and indented JSON
	Progress bool // Err is a terminal: show a progress bar for long work
	Asks     bool // Err and In are a terminal: ask before what cannot be undone
	Width    int  // columns of the terminal; 0: 100

	Now func() time.Time // the clock, in the user's time zone; nil: time.Now

	nodes map[*cobra.Command]*command // commands of the current line

	// Wait pauses before a temporarily refused call is repeated; nil: it sleeps for d.
	Wait func(ctx context.Context, d time.Duration) error
}

// exitUsage is the exit code of a command line that cannot be parsed (CONTRACT §2).
const exitUsage = 1

// An ExitStatus is an error with which the RunE of an Extra command ends the program with that exit
// code, without printing anything more.
type ExitStatus int

// Error implements error.
func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Run parses and executes a command line, without the program's name, and returns the exit code
// (CONTRACT §2): 0 for success, 1 for a line that cannot be parsed, that of the fault for a failed
// call, or that of an ExitStatus. It prints all results and errors. It does not panic on invalid
// input.
func (a *App) Run(ctx context.Context, args []string) int {
	root := a.root(completes(args))
	args = a.paired(root, args)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
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

// commandOf returns the command that a line calls, or nil if it calls no tool, or cannot be parsed.
// It is for decisions that must be made before cobra parses the line.
func (a *App) commandOf(root *cobra.Command, args []string) *command {
	node, _, err := root.Find(args)
	if err != nil {
		return nil
	}
	return a.nodes[node]
}

// completes reports whether the line is a completion request of a shell. Such a line has other
// output than the command that it completes.
func completes(args []string) bool {
	return len(args) > 0 &&
		(args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// root returns the tree of commands, for one command line. Completion functions of flags are added
// only for a completion request, because cobra keeps them for the life of the process. cobra prints
// neither errors nor usage: Run does.
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
	a.addCommands(root, completing)
	return root
}

// addCommands adds the commands of the tools, and the others. The order matters: groups get their
// summaries when all commands are in the tree, and forwarded flags come last, when the flags of all
// commands are known.
func (a *App) addCommands(root *cobra.Command, completing bool) {
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
}

// versionFlag is the flag that prints the version. Cobra's own flag with that name prints another
// text.
const versionFlag = "version"

// runRoot prints the version if the line has --version. Otherwise it does the same as for any
// group: it prints help, or returns an error for a word that is not a command.
func (a *App) runRoot(c *cobra.Command, args []string) error {
	if asked, err := c.Flags().GetBool(versionFlag); err != nil || !asked {
		return runGroup(c, args)
	}
	_, err := fmt.Fprintln(a.Out, a.Version)
	return err
}

// env returns a variable of the environment, or "". An empty variable counts as one that is not
// set, everywhere in this package.
func (a *App) env(name string) string {
	if a.Env == nil {
		return ""
	}
	return a.Env(name)
}

// width returns the number of columns for tables: that of the terminal, or 100 if it is unknown.
func (a *App) width() int {
	if a.Width > 0 {
		return a.Width
	}
	return 100
}

// now returns the current time in the user's time zone. Times in answers are shown in this zone.
func (a *App) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// wait pauses. It returns UNAVAILABLE if ctx ends first, because the person has interrupted the
// program.
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

// An Outcome is the result of a command that calls no tool. Data must be set if a program may read
// the answer; Text may be empty. On a terminal, control characters in Text are escaped. A Fault may
// come with Data and Text, such as the findings of a check that has failed.
type Outcome struct {
	Data  any          // data of the answer, for programs
	Text  string       // shown to people instead of Data
	Fault *fault.Fault // nil: the command succeeded
}

// Finish prints the result of an Extra command in the form of a tool's answer: an envelope, the
// bare data, or text. A failure includes the data in its envelope and is printed at the end of Run,
// which derives the exit code from it. RunE must return the result of Finish.
func (a *App) Finish(c *cobra.Command, o Outcome) error {
	f, err := formFor(c)
	if err != nil {
		return err
	}
	raw, err := tool.Marshal(o.Data)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	data, err := decode(raw)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	p, ans := a.printer(f), &answer{ok: o.Fault == nil, data: data, fault: o.Fault}
	if f == forPeople {
		p.printf("%s", o.Text)
		ans.data = value{kind: nullKind}
	}
	switch {
	case o.Fault != nil:
		return &failure{fault: o.Fault, answer: ans, form: f}
	case f == forPeople:
		return nil
	}
	return p.success(ans, "")
}

// lineEvery is the interval of progress lines if Err is not a terminal.
const lineEvery = 3 * time.Second

// Reading returns a function that shows the progress of reading a folder: as a bar or, if Err is
// not a terminal, as a line from time to time. The function must not be called concurrently. After
// done has reached total, it may be called for another folder.
func (a *App) Reading() func(done, total int) {
	r := &reading{app: a}
	if a.Progress {
		return r.draw
	}
	return r.say
}

// A reading is the progress of a folder that is being read.
type reading struct {
	app  *App
	bar  *progressbar.ProgressBar // nil: no bar is shown
	last time.Time                // when the last line was written; zero: none was
}

// draw shows a bar, and removes it when all files are read. Errors are ignored, because the reading
// does not depend on them. The total of the first call is that of the bar.
func (r *reading) draw(done, total int) {
	if r.bar == nil {
		r.bar = progressbar.NewOptions(total,
			progressbar.OptionSetWriter(r.app.Err),
			progressbar.OptionSetDescription("reading the folder"),
			progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(),
		)
	}
	_ = r.bar.Set(done)
	if done >= total {
		r.bar = nil
	}
}

// say writes a line if the last one was written lineEvery ago, and a final line if there was one
// before. So a folder that is read at once produces no output, and a log that stores Err gets few
// lines. Errors are ignored.
func (r *reading) say(done, total int) {
	now := time.Now()
	if done < total && now.Sub(r.last) < lineEvery || done >= total && r.last.IsZero() {
		return
	}
	r.last = now
	if done >= total {
		r.last = time.Time{}
	}
	_, _ = fmt.Fprintf(r.app.Err, "reading the folder: %d of %d files\n", done, total)
}

// tokenFlag is the flag for a token, which all commands and login have.
const tokenFlag = "token"

// warnToken warns about a token on the command line, before every command. "-" reads it from
// standard input, and is no token. A command with a flag of its own of that name, such as login, is
// checked too.
func (a *App) warnToken(c *cobra.Command, _ []string) {
	f := c.Flags().Lookup(tokenFlag)
	if f == nil || !f.Changed {
		return
	}
	if text := f.Value.String(); text != "" && text != "-" {
		a.WarnToken()
	}
}

// WarnToken prints a warning about a token on the command line: other users of the machine can see
// it in the list of processes, and the shell stores it in its history.
func (a *App) WarnToken() {
	p := a.printer(forPeople)
	p.line("warning: ", yellow, "a token on the command line is visible in the process list, "+
		"and stays in the history of the shell")
	p.fixes([]string{"set ROOKERY_TOKEN, or log in with the token on standard input (--token -)"})
}
