//go:build !linux && !darwin

package fileblob

import "errors"

// Space is how many bytes the disk of a folder has left, and has in all; here nobody can tell.
func Space(string) (free, total uint64, err error) { return 0, 0, errors.ErrUnsupported }
