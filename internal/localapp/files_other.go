//go:build !unix

package localapp

// maxFiles reports that the limit is unknown: such systems limit the memory of a process instead.
func maxFiles() (files uint64, known bool) { return 0, false }
