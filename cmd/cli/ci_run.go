package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/rookeryhq/rookery/internal/ci"
)

// Exit codes as in shells: of a command that could not be run, and of one that a signal ended, to
// which the number of the signal is added.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128
)

// lingering is how long the command's output is read after its end, because a background process
// may keep it open: a server that a test has started would otherwise let the build hang.
const lingering = 2 * time.Second

// A running is a command that `rookery ci learn` runs. It gets the standard input of this process,
// and its output is forwarded at once, so a person or a CI system sees the same as without this
// program. kept has the beginning and the end of the output, for the recognisers.
//
// If both output streams are terminals, the command gets a pseudo-terminal and not a pipe, because
// many programs print colours and progress only on a terminal. Otherwise each stream has a pipe of
// its own, and their order in kept is only approximate.
type running struct {
	in        io.Reader
	out, errs io.Writer
	kept      ci.Output // the output
}

// run runs a command until it ends, and returns its exit code as a shell does: 126 if it cannot be
// run, 127 if it is not found, 128 plus the number of the signal that ended it.
//
// It forwards signals to the command instead of ending, so that an interrupt of the build reaches
// the command, and its output after that is kept too. A signal that a terminal sends reaches the
// whole process group, also the command, and is not sent a second time. Every signal updates the
// size of the pseudo-terminal, because one of them reports a change of it.
func (r *running) run(command []string) (exit int) {
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // to run it is what we were called for
	cmd.Stdin, cmd.WaitDelay = r.in, lingering
	terminal, err := openTerminal(r.out, r.errs)
	if err != nil {
		terminal = nil // without a terminal, the output may have no colours
	}
	r.connect(cmd, terminal)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		terminal.close()
		return r.refused(command[0], err)
	}
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				terminal.resize()
				if !fromTerminal(s, r.in) {
					_ = cmd.Process.Signal(s)
				}
			case <-ended:
				return
			}
		}
	}()
	read := terminal.pass(io.MultiWriter(r.out, &r.kept))
	err = cmd.Wait()
	close(ended)
	terminal.drain(read)
	return exitCode(cmd.ProcessState, err)
}

// connect connects the output of a command: to a terminal if there is one, and otherwise to pipes.
// MultiWriter makes exec.Cmd copy the output in goroutines, which WaitDelay limits after the end.
func (r *running) connect(cmd *exec.Cmd, terminal *terminal) {
	if terminal != nil {
		cmd.Stdout, cmd.Stderr = terminal.theirs, terminal.theirs
		return
	}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(r.out, &r.kept), io.MultiWriter(r.errs, &r.kept)
}

// refused prints a line about a command that could not be started, in the form of a shell, and
// returns its exit code: 127 if there is no such program, otherwise 126. The line is kept too: such
// a failure is remembered like any other.
func (r *running) refused(name string, err error) int {
	exit, what := exitNotExecutable, "cannot be run"
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		exit, what = exitNotFound, "not found"
	}
	_, _ = io.WriteString(io.MultiWriter(r.errs, &r.kept), "rookery ci: "+name+": "+what+"\n")
	return exit
}

// exitCode returns the exit code of a command that has ended. err is the error of Wait; it decides
// only if the system reports neither a signal nor a code. A nil state means that the end of the
// command is unknown.
func exitCode(state *os.ProcessState, err error) int {
	if state == nil {
		return exitNotExecutable
	}
	if n := endedBy(state); n > 0 {
		return exitSignal + n
	}
	if code := state.ExitCode(); code >= 0 {
		return code
	}
	if err != nil {
		return 1
	}
	return 0
}
