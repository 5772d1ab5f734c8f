package lambdahost

import (
	"runtime"
	"syscall"
)

// dieWithParent makes the system kill the process when the thread that starts it ends, which
// happens when this process is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// ownThread locks the goroutine to its thread, which starts a process, until release is called.
func ownThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
