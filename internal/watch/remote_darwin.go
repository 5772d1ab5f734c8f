package watch

import "golang.org/x/sys/unix"

// remote reports whether a folder is on a network file system.
func remote(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && s.Flags&unix.MNT_LOCAL == 0
}
