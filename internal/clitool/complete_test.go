package clitool_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/fault"
	"github.com/rookeryhq/rookery/internal/tool"
	"github.com/rookeryhq/rookery/internal/tooltest"
)

// offered returns the suggestions for the last word of a line and the directive: 4 suppresses file
// names, 2 suppresses the space after the word, 0 is the default.
func offered(t *testing.T, s *shell, line string) (values []string, directive string) {
	t.Helper()
	code, out, errs := s.run(append([]string{"__complete"}, strings.Split(line, " ")...)...)
	require.Zero(t, code)
	require.Regexp(t, `^Completion ended with directive: [A-Za-z, ]+\n$`, errs)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return lines[:len(lines)-1], lines[len(lines)-1]
}

func TestCompletionAsksTheTools(t *testing.T) {
	for line, want := range map[string]string{
		"--vault main book get p":            "people/freya :4",
		"--vault main book get ":             "a/b c#d%|people/freya|x?y=z&w|ünï/코드 :4",
		"--vault spare book get ":            " :4",
		"--vault gone book get ":             " :4",
		"book get --vault main --id p":       "people/freya :4",
		"--vault main review x":              "x?y=z&w :4",
		"--vault main review --tone k":       "kind :4",
		"--vault main book get people/freya": "people/freya :4",
		"--vault main book get a b":          " :4",
		"--vault s":                          "spare :4",
		"--vault x":                          " :0",
		"book list --vault m":                "main :4",
		"book list --genre s":                "saga :4",
		"fail f":                             "fault :4",
	} {
		s := newShell(t, tooltest.AidedTools())
		values, directive := offered(t, s, line)
		require.Equal(t, want, strings.Join(values, "|")+" "+directive, line)
	}
}

// TestCompletionLooksOnly checks that completion uses the target of the line, and that nothing may
// be created.
func TestCompletionLooksOnly(t *testing.T) {
	s := newShell(t, tooltest.AidedTools())
	s.env["ROOKERY_TOKEN"] = "rk_env"
	offered(t, s, "--server http://there --vault main --agent robin book get p")
	s.target.From = nil
	require.Equal(t, clitool.Target{
		Server: "http://there", Token: "rk_env", Vault: "main", Agent: "robin", Existing: true,
	}, s.target)
	require.Len(t, s.calls, 1)
	require.JSONEq(t, `{"kind":"book","prefix":"p","limit":100,"vault":"main"}`, s.calls[0].args)
}

// TestPairsHaveNoPlace checks that words of the form name=value do not count as positional
// arguments.
func TestPairsHaveNoPlace(t *testing.T) {
	s := newShell(t, tooltest.AidedTools())
	values, _ := offered(t, s, "--vault main book new pages=7 Ed")
	require.Empty(t, values)
	values, directive := offered(t, s, "book set pages=7 genre=saga x")
	require.Equal(t, " :4", strings.Join(values, "|")+" "+directive)
}

// TestManyValuesHoldWhatIsTyped checks that the shell cannot take the common prefix of the shown
// values for that of all values.
func TestManyValuesHoldWhatIsTyped(t *testing.T) {
	s := newShell(t, tooltest.AidedTools())
	for i := range 101 {
		code, _, errs := s.run("--vault", "spare", "book", "new", fmt.Sprintf("t%03d", i))
		require.Zero(t, code, errs)
	}
	values, directive := offered(t, s, "--vault spare book get ")
	require.Len(t, values, tool.MaxValues)
	require.Contains(t, values, "", "what is typed")
	require.Equal(t, ":6", directive)
	all, _ := offered(t, s, "--vault spare book get t00")
	values, directive = offered(t, s, "--vault spare book get "+all[0][:3])
	require.Equal(t, all, values)
	require.Equal(t, ":4", directive)
}

// TestCompletionSaysNothingOfFailures checks that completion shows no errors.
func TestCompletionSaysNothingOfFailures(t *testing.T) {
	s := newShell(t, tooltest.AidedTools())
	s.fails[0] = fault.New(fault.Unavailable, "the server is away")
	values, directive := offered(t, s, "--vault main book get p")
	require.Empty(t, values)
	require.Equal(t, ":4", directive)
	s.app.Connect = func(
		context.Context, clitool.Target,
	) (tool.Invoker, io.Closer, error) {
		return nil, nil, fault.New(fault.NotFound, "there is no data directory")
	}
	values, _ = offered(t, s, "--vault main book get p")
	require.Empty(t, values)
	s.env["ROOKERY_READONLY"] = "perhaps"
	values, _ = offered(t, s, "book get p")
	require.Empty(t, values)
}

// TestCompletionGivesUp checks that completion ends with its context, even if the connection hangs.
func TestCompletionGivesUp(t *testing.T) {
	s := newShell(t, tooltest.AidedTools())
	ctx, cancel := context.WithCancel(t.Context())
	hangs := make(chan struct{})
	t.Cleanup(func() { close(hangs) })
	s.app.Connect = func(
		context.Context, clitool.Target,
	) (tool.Invoker, io.Closer, error) {
		cancel()
		<-hangs
		return nil, nil, fault.New(fault.Unavailable, "too late")
	}
	require.Zero(t, s.app.Run(ctx, []string{"__complete", "book", "get", "p"}))
	require.Equal(t, ":4\n", s.out.String())
}
