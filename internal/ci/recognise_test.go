package ci_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/ci"
)

// A machine renders outputs as they come on it: what stands in braces differs from machine to machine.
type machine map[string]string

var (
	machineA = machine{
		"root": "/home/runner/checkout/app", "tmp": "/tmp/TestX123/001", "line": "41", "col": "7", "took": "0.02s",
		"time": "2026-03-02T08:00:00Z", "id": "3f2a9c1e-0b1d-4c59-9c3a-2f1e5d7b9a01", "addr": "0xc000012345",
		"hash": "9f1c2d3", "host": "127.0.0.1:43121", "n": "1234", "thread": "18", "color": "\x1b[31m", "plain": "\x1b[0m",
	}
	machineB = machine{
		"root": "/builds/acme/app", "tmp": "/var/tmp/TestX987/002", "line": "977", "col": "12", "took": "1m12.5s",
		"time": "2027-11-30 23:59:59", "id": "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee", "addr": "0x7ffe9b",
		"hash": "0b12ac9d34e5", "host": "db.internal.test:5432", "n": "98765", "thread": "4501", "color": "", "plain": "",
	}
)

// render is an output on the machine.
func (m machine) render(template string) string {
	for name, value := range m {
		template = strings.ReplaceAll(template, "{"+name+"}", value)
	}
	return template
}

// A sample is a failure, as the output of a tool tells of it, and what must be found first.
type sample struct {
	output               string
	kind, category, name string // name is the symbol
}

// samples are five different failures for each tool.
var samples = map[string][]sample{
	"go": {
		{"# app/store\nstore/a.go:{line}:{col}: undefined: frob\nFAIL\tapp/store [build failed]\n", "build", "build_failure", ""},
		{"--- FAIL: TestPut ({took})\n    put_test.go:{line}: want 3, got 4\nFAIL\nFAIL\tapp/store\t{took}\n", "test", "test_failure", "TestPut"},
		{"--- FAIL: TestPut ({took})\n    --- FAIL: TestPut/empty ({took})\n        put_test.go:{line}: dial tcp {host}: connection refused\nFAIL\n", "test", "test_failure", "TestPut/empty"},
		{"panic: runtime error: index out of range [5] with length 3 [recovered]\n\ngoroutine {thread} [running]:\nmain.run()\n\t{root}/run.go:{line} +{addr}\n", "crash", "runtime_error", "panic"},
		{"WARNING: DATA RACE\nWrite at {addr} by goroutine {thread}:\n  app/store.(*Store).Put()\n      {root}/store/store.go:{line} +{addr}\n--- FAIL: TestRace ({took})\n    testing.go:{line}: race detected during execution of test\n", "race", "race_condition", "app/store.(*Store).Put"},
		{"main.go:{line}:{col}: no required module provides package example.com/x; to add it:\n", "dependency", "missing_dependency", ""},
		{"panic: test timed out after {took}\n\trunning tests:\n\t\tTestSlow ({took})\n\ngoroutine {thread} [running]:\n", "timeout", "runtime_error", "TestSlow"},
	},
	"pytest": {
		{"E   assert 3 == 4\nFAILED tests/test_a.py::test_sum - assert 3 == 4\n", "test", "test_failure", "tests/test_a.py::test_sum"},
		{"FAILED tests/test_a.py::test_other - ValueError: no {id}\n", "test", "test_failure", "tests/test_a.py::test_other"},
		{"E   ModuleNotFoundError: No module named 'yaml'\nERROR tests/test_b.py\n", "dependency", "missing_dependency", ""},
		{"FAILED tests/test_a.py::test_sum[x-1] - TimeoutError: {host} at {time}\n", "test", "test_failure", "tests/test_a.py::test_sum[x-1]"},
		{"ERROR tests/test_c.py::test_x - fixture 'db' not found\n", "crash", "runtime_error", "tests/test_c.py::test_x"},
	},
	"jest": {
		{"FAIL src/a.test.ts\n  ● sum › adds\n\n    expect(received).toBe(expected)\n", "test", "test_failure", "sum › adds"},
		{"FAIL src/a.test.ts\n  ● sum › subtracts\n\n    expect(received).toBe(expected)\n", "test", "test_failure", "sum › subtracts"},
		{" FAIL  src/b.test.ts > list > is empty\nAssertionError: expected 1 to be 0\n", "test", "test_failure", "list › is empty"},
		{"FAIL src/c.test.ts\n  ● Test suite failed to run\n\n    Cannot find module './gone' from '{root}/src/c.ts'\n", "dependency", "missing_dependency", ""},
		{"FAIL src/a.test.ts\n  {color}● net › connects{plain}\n\n    connect ECONNREFUSED {host}\n", "test", "test_failure", "net › connects"},
	},
	"cargo": {
		{"error[E0308]: mismatched types\n  --> src/main.rs:{line}:{col}\n", "build", "type_error", "E0308"},
		{"error[E0425]: cannot find value `x` in this scope\n  --> src/main.rs:{line}:{col}\n", "build", "build_failure", "E0425"},
		{"test a::adds ... FAILED\nthread 'a::adds' panicked at src/lib.rs:{line}:{col}:\nassertion `left == right` failed\n", "test", "test_failure", "a::adds"},
		{"test a::other ... FAILED\nthread 'a::other' ({thread}) panicked at src/lib.rs:{line}:{col}:\nassertion `left == right` failed\n", "test", "test_failure", "a::other"},
		{"thread 'main' panicked at src/main.rs:{line}:{col}:\nno file {tmp}/x\n", "crash", "runtime_error", "main"},
	},
	"tsc": {
		{"src/a.ts({line},{col}): error TS2322: Type 'string' is not assignable to type 'number'.\n", "build", "type_error", "TS2322"},
		{"src/a.ts({line},{col}): error TS2304: Cannot find name 'x'.\n", "build", "type_error", "TS2304"},
		{"src/b.ts({line},{col}): error TS2322: Type 'string' is not assignable to type 'number'.\n", "build", "type_error", "TS2322"},
		{"src/a.ts:{line}:{col} - error TS2345: Argument of type 'A'.\n", "build", "type_error", "TS2345"},
		{"{root}/src/d.ts({line},{col}): error TS2339: Property 'y' does not exist.\n", "build", "type_error", "TS2339"},
	},
	"cc": {
		{"src/a.c:{line}:{col}: error: expected ';' before 'return'\n", "build", "build_failure", ""},
		{"src/a.c:{line}:{col}: error: unknown type name 'foo'\n", "build", "build_failure", ""},
		{"src/b.cpp:{line}:{col}: fatal error: foo.h: No such file or directory\n", "build", "missing_dependency", ""},
		{"{root}/src/c.cc:{line}:{col}: error: no matching function\n", "build", "build_failure", ""},
		{"main.c:(.text+{addr}): undefined reference to `frob'\n", "build", "build_failure", "ld"},
	},
	"javac": {
		{"src/A.java:{line}: error: ';' expected\n", "build", "build_failure", ""},
		{"src/A.java:{line}: error: cannot find symbol\n", "build", "build_failure", ""},
		{"src/B.java:{line}: error: ';' expected\n", "build", "build_failure", ""},
		{"[ERROR] {root}/src/C.java:[{line},{col}] incompatible types\n", "build", "build_failure", ""},
		{"[ERROR] {root}/src/C.java:[{line},{col}] missing return statement\n", "build", "build_failure", ""},
	},
	"npm": {
		{"npm error code E404\nnpm error 404 Not Found - GET https://registry.example.test/left-pad\n", "dependency", "missing_dependency", "E404"},
		{"npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\n", "dependency", "missing_dependency", "ERESOLVE"},
		{"npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\n", "build", "build_failure", "ELIFECYCLE"},
		{"npm error code EACCES\nnpm error syscall mkdir {tmp}/x\n", "build", "build_failure", "EACCES"},
		{"npm error code E404\nnpm error 404 '@acme/gone@1.0.0' is not in this registry.\n", "dependency", "missing_dependency", "E404"},
	},
	"docker": {
		{"ERROR: failed to solve: process \"/bin/sh -c make\" did not complete successfully: exit code: 2\n", "build", "build_failure", "/bin/sh -c make"},
		{"ERROR: failed to solve: process \"/bin/sh -c make\" did not complete successfully: exit code: 127\n", "build", "build_failure", "/bin/sh -c make"},
		{"ERROR: failed to solve: process \"/bin/sh -c test\" did not complete successfully: exit code: 2\n", "build", "build_failure", "/bin/sh -c test"},
		{"ERROR: failed to solve: acme/gone:latest: not found\n", "dependency", "missing_dependency", ""},
		{"executor failed running [/bin/sh -c go build]: exit code: 1\n", "build", "build_failure", "/bin/sh -c go build"},
	},
	"shell": {
		{"FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n", "memory", "runtime_error", "oom"},
		{"curl: operation timed out after {n} milliseconds\n", "timeout", "runtime_error", "timeout"},
		{"building {hash}\nno space on {tmp}\nmake: *** [all] stopped\n", "exit", "other", "exit 3"},
		{"building {hash}\nno space on {tmp}\nmake: *** [other] stopped\n", "exit", "other", "exit 3"},
		{"", "exit", "other", "exit 3"},
	},
}

// findings are those of an output.
func findings(output string) []ci.Finding {
	return ci.Recognise(ci.Run{Output: ci.Plain(output), Exit: 3})
}

// TestFingerprints covers that a failure is found for what it is, that it has one fingerprint on two machines, and
// that no two failures have one.
func TestFingerprints(t *testing.T) {
	prints := map[string]string{}
	for tool, all := range samples {
		require.GreaterOrEqual(t, len(all), 5, tool)
		for i, s := range all {
			name := fmt.Sprintf("%s %d", tool, i)
			a, b := findings(machineA.render(s.output))[0], findings(machineB.render(s.output))[0]
			require.Equal(t, []string{tool, s.kind, s.category, s.name}, []string{a.Tool, a.Kind, string(a.Category), a.Symbol}, name)
			print := a.Fingerprint(machineA["root"])
			require.Equal(t, print, b.Fingerprint(machineB["root"]), "%s: %q %q", name, a.Message, b.Message)
			require.Regexp(t, `^fp1-[0-9a-f]{16}$`, print)
			require.Empty(t, prints[print], name)
			prints[print] = name
		}
	}
}

// TestLinesAreNotInFingerprints covers that a failure which has moved within its file is the same.
func TestLinesAreNotInFingerprints(t *testing.T) {
	a := findings("a.go:1:1: undefined: x\n")[0]
	b := findings("a.go:700:12: undefined: x\n")[0]
	require.Equal(t, 1, a.Line)
	require.Equal(t, 700, b.Line)
	require.Equal(t, a.Fingerprint(""), b.Fingerprint(""))
}

const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="s">
<testcase classname="pkg.Store" name="put" file="store.py" line="3"><failure message="want 3&#10;more">trace</failure></testcase>
<testcase classname="pkg.Store" name="get"/>
<testcase name="start"><error type="IOError">cannot open</error></testcase>
</testsuite></testsuites>`

// TestReports covers that reports come before the output, and that what both tell of is one finding.
func TestReports(t *testing.T) {
	all := ci.Recognise(ci.Run{
		Output: "FAILED store.py::put - want 3\n", Exit: 1, Reports: [][]byte{[]byte(report), []byte("<broken"), nil},
	})
	require.Len(t, all, 2)
	require.Equal(t, ci.Finding{
		Tool: "junit", Kind: "test", Category: "test_failure", File: "store.py", Line: 3, Symbol: "pkg.Store.put",
		Message: "want 3",
	}, all[0])
	require.Equal(t, []string{"crash", "start", "cannot open"}, []string{all[1].Kind, all[1].Symbol, all[1].Message})
}

// TestEndings covers exit codes that say how a command ended, where its output says nothing.
func TestEndings(t *testing.T) {
	for exit, symbol := range map[int]string{137: "oom", 124: "timeout", 2: "exit 2"} {
		all := ci.Recognise(ci.Run{Output: "\n", Exit: exit})
		require.Len(t, all, 1)
		require.Equal(t, symbol, all[0].Symbol)
	}
}

// TestMostFindings covers that findings have an end, and no repetitions.
func TestMostFindings(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "a%d.go:1:1: undefined: x\na%d.go:1:1: undefined: x\n", i, i)
	}
	all := findings(b.String())
	require.Len(t, all, ci.MostFindings)
	require.Equal(t, "a9.go", all[9].File)
}

// TestOutput covers that of a long output the beginning and the end are kept.
func TestOutput(t *testing.T) {
	var o ci.Output
	for i := range 400_000 {
		_, err := fmt.Fprintf(&o, "line %d\r\n", i)
		require.NoError(t, err)
	}
	text := o.String()
	require.True(t, strings.HasPrefix(text, "line 0\nline 1\n"))
	require.True(t, strings.HasSuffix(text, "line 399999\n"))
	require.Contains(t, text, "\n...\n")
	require.Less(t, len(text), 64<<10+1<<20+10)
	require.Equal(t, "red\nb\n", ci.Plain("\x1b[31mred\x1b[0m\rb\r\n\x00"))
}

// FuzzRecognise covers that no output and no report does harm: there is a finding, it is bounded, its fingerprint
// is the same twice, and no secret is left.
func FuzzRecognise(f *testing.F) {
	for _, all := range samples {
		for _, s := range all {
			f.Add(machineA.render(s.output), report)
		}
	}
	f.Fuzz(func(t *testing.T, output, report string) {
		r := ci.NewRedactor([]string{"API_KEY=correct-horse"}, output)
		run := ci.Run{Output: ci.Plain(output), Exit: 1, Reports: [][]byte{[]byte(report)}}
		all := ci.Recognise(run)
		require.NotEmpty(t, all)
		require.LessOrEqual(t, len(all), ci.MostFindings)
		failure := ci.Failure{Findings: all, Output: run.Output, Redactor: r, Command: "x correct-horse"}
		require.Equal(t, failure.Print(), failure.Print())
		s := failure.Store()
		require.LessOrEqual(t, len(s.Outcome.FailureReason), 2<<10)
		require.LessOrEqual(t, len(s.Intent.Goal), 400)
		require.NotContains(t, s.Actions[0].Command, "correct-horse")
	})
}
