//go:build !unix

package watch

import "io/fs"

// An identity is what a folder keeps when it is renamed. Here it is not known, nor needed: only
// the root is watched.
type identity struct{ device, inode uint64 }

func identityOf(fs.FileInfo) identity { return identity{} }

func nameless(fs.FileInfo) bool { return false }
