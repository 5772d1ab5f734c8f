package ci

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rookeryhq/rookery/internal/memory"
)

var (
	pytestFailed = regexp.MustCompile(`^FAILED (\S+?)(?: - (.*))?$`)
	pytestError  = regexp.MustCompile(`^ERROR (\S+?)(?: - (.*))?$`)
	pytestMark   = regexp.MustCompile(`^E   +(\S.*)$`)
	noPython     = regexp.MustCompile(`ModuleNotFoundError: (No module named .*)$`)
	pythonError  = regexp.MustCompile(`^([A-Z]\w*(?:Error|Exception)): (.+)$`)
	pythonFrame  = regexp.MustCompile(`^\s+File "([^"]+)", line (\d+), in (\S+)`)
)

// pytest finds failed Python tests, missing modules, and programs that ended with an error.
func pytest(r Run) []Finding {
	var all []Finding
	var marks []string
	lines := r.lines()
	for i, line := range lines {
		if m := pytestMark.FindStringSubmatch(line); m != nil {
			marks = append(marks, m[1])
		}
		switch {
		case pytestFailed.MatchString(line):
			all = append(all, pythonTest(pytestFailed.FindStringSubmatch(line), KindTest, categoryTest))
		case pytestError.MatchString(line) && strings.Contains(line, ".py"):
			all = append(all, pythonTest(pytestError.FindStringSubmatch(line), KindCrash, categoryRuntime))
		case noPython.MatchString(line):
			all = append(all, Finding{
				Tool: "pytest", Kind: KindDependency, Category: categoryDependency,
				Message: noPython.FindStringSubmatch(line)[1],
			})
		case pythonError.MatchString(line) && len(marks) == 0:
			if f := traceback(lines, i); f.File != "" {
				all = append(all, f)
			}
		}
	}
	for i := range all {
		if all[i].Message == "" && len(marks) > 0 {
			all[i].Message = marks[0]
		}
	}
	return dependenciesFirst(all)
}

func pythonTest(m []string, kind string, category memory.FailureCategory) Finding {
	file, _, _ := strings.Cut(m[1], "::")
	return Finding{Tool: "pytest", Kind: kind, Category: category, File: file, Symbol: m[1], Message: m[2]}
}

// traceback returns the finding of an error that ended a program, at the innermost frame above it.
// File is empty if there is no frame.
func traceback(lines []string, i int) Finding {
	m := pythonError.FindStringSubmatch(lines[i])
	f := Finding{Tool: "python", Kind: KindCrash, Category: categoryRuntime, Symbol: m[1], Message: m[2]}
	for j := i - 1; j >= 0 && j > i-10; j-- {
		if at := pythonFrame.FindStringSubmatch(lines[j]); at != nil {
			f.File, f.Line = at[1], number(at[2])
			break
		}
	}
	return f
}

// dependenciesFirst moves missing dependencies to the front, because they are the cause of the
// rest.
func dependenciesFirst(all []Finding) []Finding {
	var first, rest []Finding
	for _, f := range all {
		if f.Kind == KindDependency {
			first = append(first, f)
		} else {
			rest = append(rest, f)
		}
	}
	return append(first, rest...)
}

var (
	jestTest   = regexp.MustCompile(`^\s*● (.+ › .+)$`)
	jestFile   = regexp.MustCompile(`^\s*(?:FAIL|❯)\s+(\S+\.(?:[cm]?[jt]sx?))(?:\s+>\s+(.+))?`)
	jestModule = regexp.MustCompile(`Cannot find (?:module|package) ['"].*`)
)

// jest finds failed JavaScript tests of jest and vitest, and missing modules.
func jest(r Run) []Finding {
	var all []Finding
	file := ""
	lines := r.lines()
	for i, line := range lines {
		switch {
		case jestModule.MatchString(line):
			all = append(all, Finding{
				Tool: "jest", Kind: KindDependency, Category: categoryDependency, File: file,
				Message: jestModule.FindString(line),
			})
		case jestFile.MatchString(line):
			m := jestFile.FindStringSubmatch(line)
			if file = m[1]; m[2] != "" { // vitest: FAIL  file > suite > test
				all = append(all, javaScriptTest(file, strings.ReplaceAll(m[2], " > ", " › "), lines[i+1:]))
			}
		case jestTest.MatchString(line):
			all = append(all, javaScriptTest(file, jestTest.FindStringSubmatch(line)[1], lines[i+1:]))
		}
	}
	return dependenciesFirst(all)
}

// javaScriptTest returns the finding of a failed test, with the first line of its output.
func javaScriptTest(file, name string, below []string) Finding {
	return Finding{
		Tool: "jest", Kind: KindTest, Category: categoryTest, File: file, Symbol: strings.TrimSpace(name),
		Message: firstLine(strings.Join(below[:min(len(below), 8)], "\n"), "failed"),
	}
}

var (
	cargoError = regexp.MustCompile(`^error(?:\[(E\d{4})\])?: (.+)$`)
	cargoAt    = regexp.MustCompile(`^\s*--> ([^:]+):(\d+):\d+`)
	cargoTest  = regexp.MustCompile(`^test (\S+) \.\.\. FAILED`)
	cargoPanic = regexp.MustCompile(`^thread '([^']+)'(?: \(\d+\))? panicked at (?:'(.*)', )?([^:\s]+):(\d+):\d+`)
)

// cargo finds errors of the Rust compiler, and failed tests.
func cargo(r Run) []Finding {
	lines := r.lines()
	panics := map[string]Finding{}
	var all []Finding
	for i, line := range lines {
		switch {
		case cargoPanic.MatchString(line):
			m := cargoPanic.FindStringSubmatch(line)
			f := Finding{
				Tool: "cargo", Kind: KindCrash, Category: categoryRuntime, Symbol: m[1], File: m[3],
				Line: number(m[4]), Message: m[2],
			}
			if f.Message == "" && i+1 < len(lines) {
				f.Message = strings.TrimSpace(lines[i+1])
			}
			panics[f.Symbol] = f
		case cargoTest.MatchString(line):
			all = append(all, Finding{
				Tool: "cargo", Kind: KindTest, Category: categoryTest, Message: "failed",
				Symbol: cargoTest.FindStringSubmatch(line)[1],
			})
		case cargoError.MatchString(line):
			if f, ok := rustError(lines, i); ok {
				all = append(all, f)
			}
		}
	}
	for i, f := range all {
		if p, ok := panics[f.Symbol]; ok {
			all[i].File, all[i].Line, all[i].Message = p.File, p.Line, p.Message
			delete(panics, f.Symbol)
		}
	}
	if p, ok := panics["main"]; ok {
		all = append(all, p)
	}
	return all
}

// rustError returns an error of the compiler. ok is false for an error without a code and a
// position, which is a summary of others.
func rustError(lines []string, i int) (Finding, bool) {
	m := cargoError.FindStringSubmatch(lines[i])
	f := Finding{Tool: "cargo", Kind: KindBuild, Category: categoryBuild, Symbol: m[1], Message: m[2]}
	if strings.HasPrefix(m[1], "E03") {
		f.Category = categoryType
	}
	if i+1 < len(lines) {
		if at := cargoAt.FindStringSubmatch(lines[i+1]); at != nil {
			f.File, f.Line = at[1], number(at[2])
		}
	}
	return f, f.Symbol != "" || f.File != ""
}

var (
	tscError  = regexp.MustCompile(`^(\S[^(]*)\((\d+),\d+\): error (TS\d+): (.+)$`)
	tscPretty = regexp.MustCompile(`^(\S+?):(\d+):\d+ - error (TS\d+): (.+)$`)
	ccError   = regexp.MustCompile(
		`^(\S[^:]*\.(?:c|cc|cpp|cxx|h|hh|hpp|m|mm)):(\d+):(?:\d+:)? (?:fatal )?error: (.+)$`)
	javaError = regexp.MustCompile(
		`^(?:\[ERROR\] )?(\S[^:\[]*\.(?:java|kt|scala)):\[?(\d+)(?:,\d+\])?:? (?:error: )?(.+)$`)
	linkError  = regexp.MustCompile(`undefined reference to .*`)
	noSuchFile = regexp.MustCompile(`^(?:fatal error: )?(\S+): No such file or directory`)
)

// compilers finds errors of tsc, of C and C++ compilers, and of javac.
func compilers(r Run) []Finding {
	var all []Finding
	for _, line := range r.lines() {
		if f, ok := compilerError(line); ok {
			f.Kind = KindBuild
			all = append(all, f)
		}
	}
	return all
}

// compilerError parses one line of a compiler's output. ok is false if it is not an error.
func compilerError(line string) (f Finding, ok bool) {
	m := tscError.FindStringSubmatch(line)
	if m == nil {
		m = tscPretty.FindStringSubmatch(line)
	}
	if m != nil {
		return Finding{
			Tool: "tsc", Category: categoryType, File: m[1], Line: number(m[2]), Symbol: m[3], Message: m[4],
		}, true
	}
	if m := ccError.FindStringSubmatch(line); m != nil {
		f = Finding{Tool: "cc", Category: categoryBuild, File: m[1], Line: number(m[2]), Message: m[3]}
		if noSuchFile.MatchString(m[3]) {
			f.Category = categoryDependency
		}
		return f, true
	}
	isError := strings.Contains(line, "error: ") || strings.HasPrefix(line, "[ERROR]")
	if m := javaError.FindStringSubmatch(line); m != nil && isError {
		return Finding{Tool: "javac", Category: categoryBuild, File: m[1], Line: number(m[2]), Message: m[3]}, true
	}
	if m := linkError.FindString(line); m != "" {
		return Finding{Tool: "cc", Category: categoryBuild, Symbol: "ld", Message: m}, true
	}
	return Finding{}, false
}

var (
	npmError  = regexp.MustCompile(`^npm (?:error|ERR!) code (\S+)`)
	npmMore   = regexp.MustCompile(`^npm (?:error|ERR!) (\S.*)$`)
	pnpmError = regexp.MustCompile(`(ERR_PNPM_[A-Z_]+)\s*(.*)$`)
	yarnError = regexp.MustCompile(`^error (Command failed.*|.*Couldn't find.*)$`)
)

// packages finds the errors of JavaScript package managers.
func packages(r Run) []Finding {
	var all []Finding
	lines := append(r.lines(), "")
	for i, line := range lines[:len(lines)-1] {
		f := Finding{Kind: KindBuild, Category: categoryBuild}
		if m := npmError.FindStringSubmatch(line); m != nil {
			f.Tool, f.Symbol = "npm", m[1]
			if more := npmMore.FindStringSubmatch(lines[i+1]); more != nil {
				f.Message = more[1]
			}
		} else if m := pnpmError.FindStringSubmatch(line); m != nil {
			f.Tool, f.Symbol, f.Message = "pnpm", m[1], m[2]
		} else if m := yarnError.FindStringSubmatch(line); m != nil {
			f.Tool, f.Message = "yarn", m[1]
		} else {
			continue
		}
		if isMissing(f) {
			f.Kind, f.Category = KindDependency, categoryDependency
		}
		f.Message = cmp.Or(f.Message, "failed")
		all = append(all, f)
	}
	return all
}

// isMissing reports whether a package does not exist.
func isMissing(f Finding) bool {
	signs := []string{"404", "ERESOLVE", "ETARGET", "NO_MATCHING_VERSION", "FETCH_404", "Couldn't find"}
	return slices.ContainsFunc(signs, func(sign string) bool {
		return strings.Contains(f.Symbol, sign) || strings.Contains(f.Message, sign)
	})
}

var (
	dockerFailed = regexp.MustCompile(`^ERROR: failed to (?:solve|build): (.+)$`)
	dockerStep   = regexp.MustCompile(`process "([^"]+)" did not complete successfully: exit code: (\d+)`)
	dockerRun    = regexp.MustCompile(`executor failed running \[([^\]]+)\]: exit code: (\d+)`)
)

// docker finds the step at which the build of an image failed.
func docker(r Run) []Finding {
	var all []Finding
	for _, line := range r.lines() {
		f := Finding{Tool: "docker", Kind: KindBuild, Category: categoryBuild}
		if m := dockerFailed.FindStringSubmatch(line); m != nil {
			f.Message = m[1]
		} else if m := dockerRun.FindStringSubmatch(line); m != nil {
			f.Message = m[0]
		} else {
			continue
		}
		for _, step := range []*regexp.Regexp{dockerStep, dockerRun} {
			if m := step.FindStringSubmatch(f.Message); m != nil {
				f.Symbol, f.Message = m[1], "exit code "+m[2]
				break
			}
		}
		if strings.Contains(f.Message, "not found") && f.Symbol == "" {
			f.Kind, f.Category = KindDependency, categoryDependency
		}
		all = append(all, f)
	}
	return all
}

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
