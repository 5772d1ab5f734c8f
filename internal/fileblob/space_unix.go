//go:build linux || darwin

package fileblob

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Space returns the bytes that are available to unprivileged users on the file system of a folder,
// and its total size in bytes.
func Space(dir string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("ask for the space of a disk: %w", err)
	}
	size := uint64(s.Bsize)
	return s.Bavail * size, s.Blocks * size, nil
}
