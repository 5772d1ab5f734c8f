//go:build unix && !linux

package lambdahost

import "syscall"

// dieWithParent does nothing, because the system does not support it. When this process is killed,
// an idle process loses its connection and ends; a process in a call ends after the call.
func dieWithParent(*syscall.SysProcAttr) {}

// ownThread does nothing: only Linux needs it.
func ownThread() (release func()) { return func() {} }
