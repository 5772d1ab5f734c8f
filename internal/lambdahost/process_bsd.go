//go:build unix && !linux

package lambdahost

import "syscall"

// dieWithParent does nothing: the system cannot do it. When this process is killed, an idle process loses
// its connection and ends, and one in a call ends after the call.
func dieWithParent(*syscall.SysProcAttr) {}

func ownThread() (release func()) { return func() {} }
