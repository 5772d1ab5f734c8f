// Package ci reads what a build wrote and finds the failures in it, so that `rookery ci` can store them as memories.
//
// The package is pure: output, reports, environment and the state of the checkout come as arguments, and it runs
// nothing.
package ci

import (
	"cmp"
	"slices"
)

// The kinds of findings.
const (
	KindTest       = "test"       // a test failed
	KindBuild      = "build"      // something could not be compiled or built
	KindCrash      = "crash"      // a program ended by itself: a panic, an error outside of tests
	KindRace       = "race"       // a data race
	KindDependency = "dependency" // something that is needed is not there
	KindTimeout    = "timeout"    // it took too long
	KindMemory     = "memory"     // it needed too much memory
	KindExit       = "exit"       // nothing is known but the exit code
)

// The categories of failures that a memory can have (spec/rum-retrieval-api.md, failure_category).
const (
	categoryDependency = "missing_dependency"
	categoryRace       = "race_condition"
	categoryType       = "type_error"
	categoryTest       = "test_failure"
	categoryBuild      = "build_failure"
	categoryRuntime    = "runtime_error"
	categoryOther      = "other"
)

// MostFindings is how many findings of a run are kept.
const MostFindings = 10

// A Finding is one failure that the output of a command tells of.
type Finding struct {
	Tool     string // go, pytest, jest, cargo, tsc, cc, javac, npm, pnpm, yarn, docker, junit, shell
	Kind     string // one of the kinds
	Category string // one of the categories of a memory
	File     string // as the tool wrote it; empty: it named none
	Line     int    // in the file, from 1; 0: it named none
	Symbol   string // a test, an error code, a step: what has this failure; may be empty
	Message  string // one line of the tool
}

// A Run is a command that has ended.
type Run struct {
	Output  string   // what it wrote, without escape sequences; see Plain
	Exit    int      // its exit code
	Reports [][]byte // files of JUnit XML that it wrote
}

// A recogniser finds the failures of one tool.
type recogniser func(Run) []Finding

// recognisers are in the order in which their findings come: the most specific first.
var recognisers = []recogniser{
	junit, golang, pytest, jest, cargo, compilers, packages, docker, ending,
}

// Recognise returns what is wrong in a run that failed: at least one finding and at most MostFindings, without
// repetitions. The first is the one by which the run is remembered.
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

// repeats reports whether a finding says of the same thing what another one has said: a report and the output
// tell of one test each in their words.
func (f Finding) repeats(o Finding) bool {
	if f.Kind != o.Kind {
		return false
	}
	if f.Symbol != "" && o.Symbol != "" && f.Tool != o.Tool {
		return lastPart(f.Symbol) == lastPart(o.Symbol)
	}
	return f.Symbol == o.Symbol && f.File == o.File && (f.Symbol != "" && f.Kind == KindTest || f.Message == o.Message)
}

// Verification is how a finding was seen, as verified_by.type of a memory says it.
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

// Title is a finding in one line: its tool, what has it, and what it is.
func (f Finding) Title() string {
	title := f.Tool
	if name := cmp.Or(f.Symbol, f.File); name != "" {
		title += " " + name
	}
	return cut(title+": "+f.Message, mostTitle)
}

const mostTitle = 300

// cut is the beginning of a text, at most so many bytes of whole characters.
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
