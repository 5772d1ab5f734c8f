package localapp

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// controlGroup is the file with the memory limit of a container in bytes, or the word max.
const controlGroup = "/sys/fs/cgroup/memory.max"

// machineMemory returns the memory of the machine, or of the container if that is less, in bytes.
// It returns 0 if it is unknown. The limit of a control group is read where version 2 has it in a
// container; outside one, the file does not exist.
func machineMemory() int64 {
	var most int64
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		most = int64(info.Totalram) * int64(info.Unit)
	}
	text, err := os.ReadFile(controlGroup)
	if err != nil {
		return most
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err == nil && (most == 0 || limit < most) { // without a limit the file contains max
		return limit
	}
	return most
}
