//go:build !linux

package tenant_test

import "os"

// swapNames renames one to two and makes an empty file named one, for systems that cannot exchange
// two files in one step. The old file two is lost.
func swapNames(one, two string) error {
	if err := os.Rename(one, two); err != nil {
		return err
	}
	return os.WriteFile(one, nil, 0o600)
}
