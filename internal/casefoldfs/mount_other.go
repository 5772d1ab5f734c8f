//go:build !linux

package casefoldfs

import "testing"

// Mount skips the test, because the file system needs FUSE on Linux.
func Mount(t testing.TB, _ Options) (dir string) {
	t.Helper()
	t.Skip("there is no /dev/fuse on this system, so no file system can be mounted that folds case")
	return ""
}
