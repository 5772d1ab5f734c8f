//go:build !unix

package lambdahost

import (
	"errors"
	"os/exec"
)

// startGroup returns an error, because process groups cannot be stopped and continued on this
// system.
func startGroup(*exec.Cmd) error { return errors.ErrUnsupported }

// stopGroup does nothing: no process is started on this system.
func stopGroup(int, bool) {}

// killGroup does nothing: no process is started on this system.
func killGroup(int) {}

// ownThread does nothing.
func ownThread() (release func()) { return func() {} }
