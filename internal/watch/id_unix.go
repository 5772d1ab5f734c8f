//go:build unix

package watch

import (
	"io/fs"
	"syscall"
)

// An identity is what a folder keeps when it is renamed.
type identity struct{ device, inode uint64 }

func identityOf(info fs.FileInfo) identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(s.Dev), s.Ino} //nolint:unconvert // a device is an int32 on macOS
}

// nameless tells that a folder has been removed though it can still be reached.
func nameless(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
}
