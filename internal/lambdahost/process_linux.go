package lambdahost

import (
	"runtime"
	"syscall"
)

// dieWithParent makes the system kill the process when the thread that starts it ends, which
// happens when this process is killed. Therefore the thread must not end earlier; see ownThread.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// ownThread locks the goroutine to its thread, which starts a process, until release is called. Go
// may otherwise end the thread, or use it for other goroutines.
func ownThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}
