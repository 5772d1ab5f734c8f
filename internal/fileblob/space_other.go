//go:build !linux && !darwin

package fileblob

import "errors"

// Space returns errors.ErrUnsupported on this system.
func Space(string) (free, total uint64, err error) { return 0, 0, errors.ErrUnsupported }
