//go:build !unix

package lambdahost

import (
	"errors"
	"os/exec"
)

// startGroup returns an error, because process groups cannot be stopped and continued on this
// system.
func startGroup(*exec.Cmd) error { return errors.ErrUnsupported }

func stopGroup(int, bool) {}

func killGroup(int) {}

// ownThread does nothing.
func ownThread() (release func()) { return func() {} }
