//go:build !unix

package lambdahost

import (
	"errors"
	"os/exec"
)

// startGroup refuses: processes cannot be stopped and continued as a group here.
func startGroup(*exec.Cmd) error { return errors.ErrUnsupported }

func stopGroup(int, bool) {}

func killGroup(int) {}

func ownThread() (release func()) { return func() {} }
