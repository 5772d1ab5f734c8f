//go:build unix

package watch

import (
	"io/fs"
	"syscall"
)

// An identity identifies a folder independently of its name.
type identity struct{ device, inode uint64 }

// identityOf returns the identity of a folder; the zero value if it is not known.
func identityOf(info fs.FileInfo) identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return identity{}
	}
	return identity{uint64(s.Dev), s.Ino} //nolint:unconvert // a device is an int32 on macOS
}

// nameless reports whether a folder has been removed although a descriptor of it is still open.
func nameless(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink == 0
}
