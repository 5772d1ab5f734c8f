//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// passedOn contains the signals that are forwarded to the command, and do not end this process.
// SIGKILL and SIGSTOP cannot be caught. SIGWINCH reports a new size of the terminal, and SIGCONT
// that the process runs again.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGWINCH, syscall.SIGCONT,
}

// fromTerminal reports whether a terminal sends the signal to the command directly, because both
// are in its foreground process group. It assumes that SIGINT and SIGQUIT come from the keyboard if
// standard input is a terminal.
func fromTerminal(s os.Signal, in io.Reader) bool {
	return isTerminal(in) && (s == syscall.SIGINT || s == syscall.SIGQUIT)
}

// endedBy returns the signal that ended a command; 0 if none did.
func endedBy(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// A terminal is a pseudo-terminal for the command. nil means that there is none; its methods then
// do nothing. The command writes to theirs, and this process reads from ours. shown is the terminal
// of this process, whose size is copied.
type terminal struct {
	ours, theirs *os.File
	shown        *os.File // the terminal of this process
}

// openTerminal opens a pseudo-terminal with the size of the terminal of this process. It returns
// nil if out or errs is not a terminal: a redirected stream must stay separate from the other,
// which a terminal cannot do. The caller must call pass and drain after the command was started, or
// close if it was not.
func openTerminal(out, errs io.Writer) (*terminal, error) {
	shown, ok := out.(*os.File)
	if !ok || !isTerminal(out) {
		return nil, nil
	}
	if e, ok := errs.(*os.File); !ok || !isTerminal(e) {
		return nil, nil // standard error is redirected, and must stay separate
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, err
	}
	t := &terminal{ours, theirs, shown}
	t.resize()
	return t, nil
}

// resize gives the pseudo-terminal the size of the terminal of this process.
func (t *terminal) resize() {
	if t != nil {
		_ = pty.InheritSize(t.shown, t.ours)
	}
}

// close releases the terminal of a command that was not started.
func (t *terminal) close() {
	if t != nil {
		_, _ = t.ours.Close(), t.theirs.Close()
	}
}

// pass forwards the command's output until all processes have closed the terminal, and then closes
// done. It closes this process's copy of the command's side first: while it is open, the end of the
// output cannot be seen. It returns nil without a terminal.
func (t *terminal) pass(to io.Writer) (done chan struct{}) {
	if t == nil {
		return nil
	}
	_ = t.theirs.Close()
	done = make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, t.ours) // it ends with an error when all processes have closed it
	}()
	return done
}

// drain waits until all output is forwarded, at most for lingering, and closes the terminal, which
// also ends the goroutine of pass.
func (t *terminal) drain(done chan struct{}) {
	if t == nil {
		return
	}
	select {
	case <-done:
	case <-time.After(lingering):
	}
	_ = t.ours.Close()
}
