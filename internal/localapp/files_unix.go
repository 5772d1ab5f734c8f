//go:build unix

package localapp

import "syscall"

// maxFiles returns how many files the process may have open, and whether that is known. It is the
// soft limit, which the Go runtime has already raised to the hard one where it can.
func maxFiles() (files uint64, known bool) {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0, false
	}
	return uint64(l.Cur), true //nolint:unconvert // it is signed on some systems
}
