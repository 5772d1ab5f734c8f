package localapp

import "golang.org/x/sys/unix"

// machineMemory returns the memory of the machine in bytes, or 0 if it is unknown.
func machineMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
