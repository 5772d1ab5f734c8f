package ci

import (
	"fmt"
	"regexp"
	"strings"
)

// Exit codes with a meaning.
const (
	exitKilled   = 137 // 128 + SIGKILL: usually out of memory
	exitTimedOut = 124 // of timeout(1)
)

var (
	outOfMemory = regexp.MustCompile(
		`(?m)^Killed\b.*|.*(?:heap out of memory|runtime: out of memory|OutOfMemoryError|Cannot allocate memory).*`)
	timedOut = regexp.MustCompile(`(?mi)^.*(?:deadline exceeded|timed out|timeout exceeded).*$`)
)

// exitFindings finds commands that ran out of memory or time.
func exitFindings(r Run) []Finding {
	if line := outOfMemory.FindString(r.Output); line != "" || r.Exit == exitKilled {
		if line == "" {
			line = "it was killed"
		}
		return []Finding{{
			Tool: "shell", Kind: KindMemory, Category: categoryRuntime, Symbol: "oom",
			Message: strings.TrimSpace(line),
		}}
	}
	if line := timedOut.FindString(r.Output); line != "" || r.Exit == exitTimedOut {
		if line == "" {
			line = "it took too long"
		}
		return []Finding{{
			Tool: "shell", Kind: KindTimeout, Category: categoryRuntime, Symbol: "timeout",
			Message: strings.TrimSpace(line),
		}}
	}
	return nil
}

// unknown returns the finding of a run without a recognised failure: its last three lines that are
// not blank.
func unknown(r Run) Finding {
	var last []string
	lines := r.lines()
	for i := len(lines) - 1; i >= 0 && len(last) < 3; i-- {
		if line := strings.TrimSpace(lines[i]); line != "" {
			last = append([]string{line}, last...)
		}
	}
	f := Finding{Tool: "shell", Kind: KindExit, Category: categoryOther, Symbol: fmt.Sprintf("exit %d", r.Exit)}
	if f.Message = strings.Join(last, " / "); f.Message == "" {
		f.Message = "it wrote nothing"
	}
	return f
}
