// Package ci finds the failures in the output of a build, so that `rookery ci` can store them as
// memories.
//
// The package is pure: output, reports, environment and the state of the checkout are arguments,
// and it runs no programs.
package ci

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The kinds of findings.
const (
	KindTest       = "test"       // a test failed
	KindBuild      = "build"      // a compilation or build failed
	KindCrash      = "crash"      // a program ended with a panic, or with an error outside of tests
	KindRace       = "race"       // a data race
	KindDependency = "dependency" // a dependency is missing
	KindTimeout    = "timeout"    // a timeout
	KindMemory     = "memory"     // out of memory
	KindExit       = "exit"       // only the exit code is known
)

// The failure categories of a memory (spec/rum-retrieval-api.md, failure_category).
const (
	categoryDependency = "missing_dependency"
	categoryRace       = "race_condition"
	categoryType       = "type_error"
	categoryTest       = "test_failure"
	categoryBuild      = "build_failure"
	categoryRuntime    = "runtime_error"
	categoryOther      = "other"
)

// MostFindings is the largest number of findings of a run.
const MostFindings = 10

// A Finding is one failure in the output of a command.
type Finding struct {
	Tool     string // go, pytest, jest, cargo, tsc, cc, javac, npm, pnpm, yarn, docker, junit, shell
	Kind     string // one of the kinds
	Category string // one of the categories of a memory
	File     string // as the tool wrote it; empty if there is none
	Line     int    // in the file, from 1; 0 if unknown
	Symbol   string // the test, the error code or the step that failed; may be empty
	Message  string // one line of the tool's output
}

// A Run is a command that has ended.
type Run struct {
	Output  string   // its output without escape sequences; see Plain
	Exit    int      // its exit code
	Reports [][]byte // its JUnit XML files
}

// A recogniser returns the failures of one tool.
type recogniser func(Run) []Finding

// recognisers are in the order of their findings: the most specific first.
var recognisers = []recogniser{
	junit, golang, pytest, jest, cargo, compilers, packages, docker, exitFindings,
}

// Recognise returns the failures of a failed run: at least one finding and at most MostFindings,
// without repetitions. The run is remembered by the first one.
func Recognise(r Run) []Finding {
	var all []Finding
	for _, of := range recognisers {
		for _, f := range of(r) {
			if !slices.ContainsFunc(all, f.repeats) {
				all = append(all, f)
			}
			if len(all) == MostFindings {
				return all
			}
		}
	}
	if len(all) == 0 {
		all = append(all, unknown(r))
	}
	return all
}

// repeats reports whether two findings are about the same failure: a report and the output describe
// a test in different words.
func (f Finding) repeats(o Finding) bool {
	if f.Kind != o.Kind {
		return false
	}
	if f.Symbol != "" && o.Symbol != "" && f.Tool != o.Tool {
		return lastPart(f.Symbol) == lastPart(o.Symbol)
	}
	return f.Symbol == o.Symbol && f.File == o.File && (f.Symbol != "" && f.Kind == KindTest || f.Message == o.Message)
}

// Verification returns how a finding was verified, as a value of verified_by.type of a memory.
func (f Finding) Verification() string {
	switch {
	case f.Category == categoryType:
		return "typecheck"
	case f.Kind == KindTest || f.Kind == KindRace:
		return "test"
	case f.Kind == KindBuild || f.Kind == KindDependency:
		return "build"
	}
	return "manual"
}

// Title returns a finding as one line: its tool, its symbol or file, and its message.
func (f Finding) Title() string {
	title := f.Tool
	if name := cmp.Or(f.Symbol, f.File); name != "" {
		title += " " + name
	}
	return cut(title+": "+f.Message, mostTitle)
}

const mostTitle = 300

// cut returns a text, or its beginning and an ellipsis: at most most bytes of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "…"
	end := max(0, most-len(more))
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + more
}

// An exhaustion is a way for a command to run out of memory or time.
type exhaustion struct {
	kind, symbol string
	line         *regexp.Regexp // matches the lines that report it
	exit         int            // the exit code that shows it
	message      string         // if only the exit code shows it
}

// exhaustions are in the order of their findings.
var exhaustions = []exhaustion{
	{
		kind: KindMemory, symbol: "oom", exit: 137, message: "it was killed", // 128 + SIGKILL: usually out of memory
		line: regexp.MustCompile(
			`(?m)^Killed\b.*|.*(?:heap out of memory|runtime: out of memory|OutOfMemoryError|Cannot allocate memory).*`),
	},
	{
		kind: KindTimeout, symbol: "timeout", exit: 124, message: "it took too long", // of timeout(1)
		line: regexp.MustCompile(`(?mi)^.*(?:deadline exceeded|timed out|timeout exceeded).*$`),
	},
}

// exitFindings finds commands that ran out of memory or time.
func exitFindings(r Run) []Finding {
	for _, e := range exhaustions {
		line := e.line.FindString(r.Output)
		if line == "" && r.Exit != e.exit {
			continue
		}
		return []Finding{{
			Tool: "shell", Kind: e.kind, Category: categoryRuntime, Symbol: e.symbol,
			Message: strings.TrimSpace(cmp.Or(line, e.message)),
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
