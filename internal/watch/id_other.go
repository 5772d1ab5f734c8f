//go:build !unix

package watch

import "io/fs"

// An identity identifies a folder independently of its name. On this system it is not known, and
// not needed, because only the root is watched.
type identity struct{ device, inode uint64 }

// identityOf returns the zero value.
func identityOf(fs.FileInfo) identity { return identity{} }

// nameless returns false: it is not known on this system.
func nameless(fs.FileInfo) bool { return false }
