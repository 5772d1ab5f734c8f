package lambdahost

import (
	"runtime"
	"syscall"
)

// dieWithParent makes the system kill the process when the thread that starts it ends, as it does when
// this process is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// ownThread keeps the thread of the caller, which starts a process, until release is called.
func ownThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
