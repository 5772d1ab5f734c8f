//go:build !linux

package crashdisk_test

import "testing"

// newForgetful skips the test: a file system is served by FUSE, on Linux.
func newForgetful(t *testing.T) machine {
	t.Skip("there is no /dev/fuse on this system, so no file system can be made that forgets")
	return nil
}
