//go:build !linux && !darwin

package watch

// remote tells whether a folder lies on a file system of another machine. Here that is not known.
func remote(string) bool { return false }
