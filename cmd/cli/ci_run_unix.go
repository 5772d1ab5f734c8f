//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// passedOn are the signals that go to the command and do not end us.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGWINCH, syscall.SIGCONT,
}

// fromTerminal reports whether a signal is one that a terminal sends to the command itself.
func fromTerminal(s os.Signal, in io.Reader) bool {
	return isTerminal(in) && (s == syscall.SIGINT || s == syscall.SIGQUIT)
}

// endedBy is the signal that ended a command; 0: none did.
func endedBy(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// A terminal is what a command writes to where we write to one. Nil stands for none.
type terminal struct {
	ours, theirs *os.File
	shown        *os.File // the one that we write to
}

// openTerminal opens a terminal of the size of ours; nil if ours is none.
func openTerminal(out, errs io.Writer) (*terminal, error) {
	shown, ok := out.(*os.File)
	if !ok || !isTerminal(out) {
		return nil, nil
	}
	if e, ok := errs.(*os.File); !ok || !isTerminal(e) {
		return nil, nil // what it writes there must not come out here
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, err
	}
	t := &terminal{ours, theirs, shown}
	t.resize()
	return t, nil
}

// resize gives the terminal the size of ours.
func (t *terminal) resize() {
	if t != nil {
		_ = pty.InheritSize(t.shown, t.ours)
	}
}

func (t *terminal) close() {
	if t != nil {
		_, _ = t.ours.Close(), t.theirs.Close()
	}
}

// pass passes on what the command writes, until nobody has the terminal open.
func (t *terminal) pass(to io.Writer) (done chan struct{}) {
	if t == nil {
		return nil
	}
	_ = t.theirs.Close()
	done = make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, t.ours) // it ends with an error where everybody has closed it
	}()
	return done
}

// drain waits until all is passed on.
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
