package ci

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	goTestFailed = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	goPackage    = regexp.MustCompile(`^FAIL\s+(\S+)\s+(?:\[(.+)\]|[\d.]+s|\(cached\))\s*$`)
	goAt         = regexp.MustCompile(`^\s*((?:[A-Za-z]:)?[^\s:]+\.go):(\d+)(?::\d+)?: (.+)$`)
	goTestEnds   = regexp.MustCompile(`^(?:\s*--- |=== |FAIL|ok\s|PASS)`)
	goPanic      = regexp.MustCompile(`^(?:panic|fatal error): (.+)$`)
	goFrame      = regexp.MustCompile(`^(?:\t|      )((?:[A-Za-z]:)?[^\s:]+\.go):(\d+)`)
	goNoModule   = regexp.MustCompile(
		`(?:no required module provides package|cannot find (?:package|module)|missing go\.sum entry).*`)
	goRunningTests = regexp.MustCompile(`^\s+(Test\S+|Fuzz\S+|Example\S*) \(`)
)

// golang finds the failures of the go command: of builds, tests and the race detector, and panics.
func golang(r Run) []Finding {
	g := &goLines{lines: r.lines(), seen: map[string]bool{}}
	for i := range g.lines {
		g.read(i)
	}
	return append(append(g.first, g.found...), g.packages()...)
}

// A goLines is a parser of the output of the go command.
type goLines struct {
	lines []string
	first []Finding // races and timeouts, which are the cause of failed tests
	found []Finding
	seen  map[string]bool // names of tests with a finding
	fails []string        // failed packages
}

func (g *goLines) add(f Finding) {
	f.Tool = "go"
	g.found = append(g.found, f)
}

// read reads the line with an index.
func (g *goLines) read(i int) {
	line := g.lines[i]
	switch {
	case strings.HasPrefix(line, "WARNING: DATA RACE"):
		f := Finding{Tool: "go", Kind: KindRace, Category: categoryRace, Message: "data race"}
		f.File, f.Line = g.frame(i)
		if f.File != "" {
			f.Symbol = function(g.lines, i)
		}
		g.first = append(g.first, f)
	case goPanic.MatchString(line):
		g.panicked(i, goPanic.FindStringSubmatch(line)[1])
	case goTestFailed.MatchString(line):
		g.failed(i, goTestFailed.FindStringSubmatch(line)[1])
	case goNoModule.MatchString(line):
		g.add(Finding{Kind: KindDependency, Category: categoryDependency,
			Message: strings.TrimSpace(goNoModule.FindString(line))})
	case goPackage.MatchString(line):
		g.fails = append(g.fails, goPackage.FindStringSubmatch(line)[1])
	case goAt.MatchString(line) && line[0] != ' ' && line[0] != '\t':
		m := goAt.FindStringSubmatch(line)
		g.add(Finding{
			Kind: KindBuild, Category: categoryBuild, File: m[1], Line: number(m[2]), Message: m[3],
		})
	}
}

// failed adds a failed test, with the first line of its output that has a position. It ignores a
// test whose subtest failed.
func (g *goLines) failed(i int, name string) {
	if g.seen[name] {
		return
	}
	g.seen[name] = true
	if i+1 < len(g.lines) {
		if sub := goTestFailed.FindStringSubmatch(g.lines[i+1]); sub != nil && strings.HasPrefix(sub[1], name+"/") {
			return
		}
	}
	f := Finding{Kind: KindTest, Category: categoryTest, Symbol: name, Message: "failed"}
	at := func(j int) bool {
		m := goAt.FindStringSubmatch(g.lines[j])
		if m != nil {
			f.File, f.Line, f.Message = m[1], number(m[2]), g.told(j, m[3])
		}
		return m != nil
	}
	found := false
	for j := i + 1; j < len(g.lines) && !found && !goTestEnds.MatchString(g.lines[j]); j++ {
		found = at(j)
	}
	// With -v, the output is before the result.
	for j := i - 1; j >= 0 && !found && !goTestEnds.MatchString(g.lines[j]); j-- {
		found = at(j)
	}
	g.add(f)
}

var testifyError = regexp.MustCompile(`^\s*Error:\s+(\S.*)$`)

// told returns the message of a test; if the line is the head of a testify trace, the error of
// that.
func (g *goLines) told(i int, message string) string {
	if message = strings.TrimSpace(message); message != "" && !strings.HasPrefix(message, "Error Trace:") {
		return message
	}
	for j := i + 1; j < len(g.lines) && j < i+8; j++ {
		if m := testifyError.FindStringSubmatch(g.lines[j]); m != nil {
			return m[1]
		}
	}
	return "failed"
}

// panicked adds a panic, or a test timeout.
func (g *goLines) panicked(i int, message string) {
	if strings.HasPrefix(message, "test timed out after") {
		f := Finding{Tool: "go", Kind: KindTimeout, Category: categoryRuntime, Message: message}
		for j := i + 1; j < len(g.lines) && j < i+20; j++ {
			if m := goRunningTests.FindStringSubmatch(g.lines[j]); m != nil {
				f.Symbol = m[1]
				break
			}
		}
		g.first = append(g.first, f)
		return
	}
	message, _, _ = strings.Cut(message, " [recovered")
	f := Finding{Tool: "go", Kind: KindCrash, Category: categoryRuntime, Message: message, Symbol: "panic"}
	f.File, f.Line = g.frame(i)
	g.first = append(g.first, f)
}

// frame returns the first position below a line that is not in the Go runtime or in package
// testing.
func (g *goLines) frame(i int) (file string, line int) {
	for j := i + 1; j < len(g.lines) && j < i+60; j++ {
		m := goFrame.FindStringSubmatch(g.lines[j])
		if m != nil && !strings.Contains(m[1], "/src/runtime/") && !strings.Contains(m[1], "/src/testing/") {
			return m[1], number(m[2])
		}
	}
	return "", 0
}

var raceFunction = regexp.MustCompile(`^\s+(\S+)\(`)

// function returns the first function below a line that is not in the runtime.
func function(lines []string, i int) string {
	for j := i + 1; j < len(lines) && j < i+10; j++ {
		if m := raceFunction.FindStringSubmatch(lines[j]); m != nil && !strings.HasPrefix(m[1], "runtime.") {
			return m[1]
		}
	}
	return ""
}

// packages returns the failed packages, if there is no other finding.
func (g *goLines) packages() []Finding {
	if len(g.first)+len(g.found) > 0 {
		return nil
	}
	var all []Finding
	for _, name := range g.fails {
		all = append(all, Finding{
			Tool: "go", Kind: KindTest, Category: categoryTest, Symbol: name, Message: "the package failed",
		})
	}
	return all
}

// number returns a number that a pattern has matched; 0 if it is too large.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// lastPart returns the name of a test without its parents.
func lastPart(symbol string) string {
	return symbol[strings.LastIndexAny(symbol, ".:/ ›")+1:]
}
