package tenant_test

import "golang.org/x/sys/unix"

// swapNames exchanges two files in one step.
func swapNames(one, two string) error {
	return unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, two, unix.RENAME_EXCHANGE)
}
