package clitool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

// TestScripts runs readable scripts. In them `rookery` runs a command line over the sample tools,
// whose state lasts for the script, and `exit N` checks its exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Values["shell"] = sample(t)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"rookery": runLine,
			"exit":    checkExit,
		},
	})
}

func runLine(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("shell").(*shell)
	s.app.In = strings.NewReader(ts.ReadFile("stdin"))
	s.env["ROOKERY_VAULT"] = ts.Getenv("ROOKERY_VAULT")
	code, out, errs := s.run(args...)
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), errs)
	ts.Setenv("CODE", fmt.Sprint(code))
	if neg == (code == 0) {
		ts.Fatalf("exit code %d", code)
	}
}

func checkExit(ts *testscript.TestScript, _ bool, args []string) {
	if got := ts.Getenv("CODE"); got != args[0] {
		ts.Fatalf("exit code %s, not %s", got, args[0])
	}
}

func TestExamplesOfEveryHelpCanBeRead(t *testing.T) {
	s := sample(t)
	s.inner = canned(answer(`{}`))
	for _, line := range examples(s) {
		code, _, errs := s.run(line...)
		require.NotEqual(t, 1, code, "%v: %s", line, errs)
	}
}

// examples returns the example lines of the sample tools.
func examples(s *shell) [][]string {
	var lines [][]string
	for _, t := range s.app.Tools {
		for _, line := range t.Prose().Commands {
			lines = append(lines, strings.Fields(line)[1:])
		}
	}
	return lines
}
