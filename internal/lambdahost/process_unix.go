//go:build unix

package lambdahost

import (
	"os/exec"
	"syscall"
)

// startGroup starts a process as the leader of a process group, so that signals also reach the
// processes that it starts.
func startGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	return cmd.Start()
}

// stopGroup stops the processes of a group, or continues them if stop is false.
func stopGroup(pid int, stop bool) {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	_ = syscall.Kill(-pid, signal)
}

// killGroup ends the processes of a group, even stopped ones.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
