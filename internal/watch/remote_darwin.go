package watch

import "golang.org/x/sys/unix"

// remote tells whether a folder lies on a file system of another machine.
func remote(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && s.Flags&unix.MNT_LOCAL == 0
}
