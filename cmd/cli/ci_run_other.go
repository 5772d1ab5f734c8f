//go:build !unix

package main

import (
	"io"
	"os"
)

// passedOn contains the signals that are forwarded to the command, and do not end this process.
var passedOn = []os.Signal{os.Interrupt}

// fromTerminal reports whether a terminal sends the signal to the command directly.
func fromTerminal(os.Signal, io.Reader) bool { return true }

// endedBy returns 0: there are no signals on this system.
func endedBy(*os.ProcessState) int { return 0 }

// A terminal is a pseudo-terminal for the command. This system has none, so it is always nil.
type terminal struct{ theirs *os.File }

// openTerminal returns nil: the output of the command always goes through pipes.
func openTerminal(io.Writer, io.Writer) (*terminal, error) { return nil, nil }

func (t *terminal) resize()                      {}
func (t *terminal) close()                       {}
func (t *terminal) pass(io.Writer) chan struct{} { return nil }
func (t *terminal) drain(chan struct{})          {}
