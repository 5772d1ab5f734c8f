package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A machine describes the machine on which the numbers depend. A value that cannot be determined is
// empty or 0.
type machine struct {
	Cores      int
	CPU        string
	Memory     int64 // bytes
	OS, Arch   string
	Kernel     string
	Go         string
	FileSystem string        // of the data directories
	Sync       time.Duration // p50 of the time to append 4 KiB to a file and sync it
}

// thisMachine describes this machine, and the file system of a folder.
func thisMachine(dir string) (machine, error) {
	wait, err := syncTime(dir)
	return machine{
		Cores: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		CPU:    valueIn("/proc/cpuinfo", "model name"),
		Memory: bytesOf(valueIn("/proc/meminfo", "MemTotal")),
		Kernel: firstLine("/proc/sys/kernel/osrelease"), FileSystem: fileSystem(dir),
		Sync: wait,
	}, err
}

// syncTime returns the p50 of the time of a synced append, which is the lower bound of every
// durable write.
func syncTime(dir string) (time.Duration, error) {
	const times, size = 200, 4096
	f, err := os.CreateTemp(dir, "sync-")
	if err != nil {
		return 0, fmt.Errorf("make a file to sync: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // temporary files are removed by the system anyway
	defer f.Close()
	var waits []time.Duration
	for range times {
		begun := time.Now()
		if _, err := f.Write(make([]byte, size)); err != nil {
			return 0, fmt.Errorf("append to a file: %w", err)
		}
		if err := f.Sync(); err != nil {
			return 0, fmt.Errorf("sync a file: %w", err)
		}
		waits = append(waits, time.Since(begun))
	}
	slices.Sort(waits)
	return percentile(waits, 50), nil
}

// A memory is the memory use of a process.
type memory struct {
	When           string
	Resident, Peak int64 // bytes; 0: not known
	Own            int64 // the part of Resident that is not a mapped file
}

// memoryOf returns the memory use of a process. On systems without /proc it returns the zero memory
// and no error.
func memoryOf(pid int) (memory, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	if _, err := os.Stat("/proc/self/status"); err != nil {
		return memory{}, nil
	}
	m := memory{
		Resident: bytesOf(valueIn(path, "VmRSS")), Peak: bytesOf(valueIn(path, "VmHWM")),
		Own: bytesOf(valueIn(path, "RssAnon")),
	}
	if m.Resident == 0 {
		return m, fmt.Errorf("the server has ended: %s tells no memory", path)
	}
	return m, nil
}

// cpuOf returns the CPU time of a process. On systems without /proc, known is false and there is no
// error.
func cpuOf(pid int) (busy time.Duration, known bool, err error) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return 0, false, nil
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, fmt.Errorf("the server has ended: %w", err)
	}
	busy, err = busyIn(string(data))
	return busy, err == nil, err
}

// busyIn returns the sum of the user and system time in a line of proc_pid_stat(5). The name of the
// program, in parentheses, can contain spaces.
func busyIn(stat string) (time.Duration, error) {
	const (
		user, kernel = 11, 12                // fields after the name, from 0
		tick         = 10 * time.Millisecond // USER_HZ is 100 on every architecture that Go supports
	)
	words := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(words) <= kernel {
		return 0, fmt.Errorf("the line of a process has %d fields behind its name", len(words))
	}
	var ticks int64
	for _, word := range words[user : kernel+1] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the time of a process: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// valueIn returns the value after `key:` in a file of such lines, or "" if the key or the file does
// not exist.
func valueIn(path, key string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		k, v, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// bytesOf parses a size such as `1234 kB`. It returns 0 for other texts.
func bytesOf(size string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(size, " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// firstLine returns the first line of a file, or "" if it cannot be read.
func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}

// fileSystem returns the type of the file system of a folder: that of the longest mount point above
// it.
func fileSystem(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	data, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return ""
	}
	return mountedAt(string(data), real)
}

// mountedAt returns the type from a list of mounts: device, mount point, type, options.
func mountedAt(mounts, dir string) string {
	best, found := "", ""
	for line := range strings.Lines(mounts) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue
		}
		above := strings.TrimSuffix(words[1], "/") + "/"
		if strings.HasPrefix(dir+"/", above) && len(above) >= len(best) {
			best, found = above, words[2]
		}
	}
	return found
}
