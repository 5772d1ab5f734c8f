//go:build !linux

package lambdahost_test

import (
	"os"
	"syscall"
	"testing"
)

// requireGone requires that a process ends soon.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, func() bool {
		process, err := os.FindProcess(pid)
		return err != nil || process.Signal(syscall.Signal(0)) != nil
	}, "the process ends")
}
