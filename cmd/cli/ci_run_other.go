//go:build !unix

package main

import (
	"io"
	"os"
)

// passedOn are the signals that go to the command and do not end us.
var passedOn = []os.Signal{os.Interrupt}

// fromTerminal reports whether a signal is one that a terminal sends to the command itself.
func fromTerminal(os.Signal, io.Reader) bool { return true }

// endedBy is the signal that ended a command: there are none here.
func endedBy(*os.ProcessState) int { return 0 }

// A terminal is what a command writes to where we write to one: here to pipes always.
type terminal struct{ theirs *os.File }

func openTerminal(io.Writer, io.Writer) (*terminal, error) { return nil, nil }

func (t *terminal) resize()                      {}
func (t *terminal) close()                       {}
func (t *terminal) pass(io.Writer) chan struct{} { return nil }
func (t *terminal) drain(chan struct{})          {}
