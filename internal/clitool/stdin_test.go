package clitool_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/tool"
)

type writeIn struct {
	ID   string `json:"id"`
	Text string `json:"text" text:"true"`
	Note string `json:"note,omitempty" text:"true"`
	tool.Mutation
}

// writeTools returns a tool that takes a prose text, and one that does not.
func writeTools() []*tool.Tool {
	return append(ravenTools(), tool.New(tool.Spec{
		Name: "write", Family: papers, Title: "write", Doc: "Writes.", Kind: tool.Write,
		Role: auth.Editor, Commands: []tool.Command{word("write", "id", "text?")}, Stdin: "text",
	}, func(context.Context, auth.Caller, writeIn) (struct{}, error) { return struct{}{}, nil }))
}

// TestTextFromStandardInput checks how a command reads a text from standard input.
func TestTextFromStandardInput(t *testing.T) {
	const prose = "## A\n\n\"b\"\tc\n"
	const quoted = `"## A\n\n\"b\"\tc\n"`
	for name, c := range map[string]struct {
		line, stdin, want string
	}{
		"a dash as a word":        {"write a -", prose, `{"id":"a","text":` + quoted + `}`},
		"a dash as a flag":        {"write a --text -", prose, `{"id":"a","text":` + quoted + `}`},
		"a dash behind =":         {"write a --text=-", prose, `{"id":"a","text":` + quoted + `}`},
		"of another text":         {"write a x --note -", prose, `{"id":"a","text":"x","note":` + quoted + `}`},
		"--stdin":                 {"write a --stdin", prose, `{"id":"a","text":` + quoted + `}`},
		"--stdin of an object":    {"write a --stdin", `{"id":"b"}`, `{"id":"a","text":"{\"id\":\"b\"}"}`},
		"--stdin beats the input": {`write --stdin --input {"id":"a","text":"y"}`, "x", `{"id":"a","text":"x"}`},
		"a dash that is one":      {`write --input {"id":"a","text":"-"}`, prose, `{"id":"a","text":"-"}`},
		"no text":                 {"write - x", prose, `{"id":"-","text":"x"}`},
		"two dashes":              {"write a --", prose, `{"id":"a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t, writeTools())
			s.app.In = strings.NewReader(c.stdin)
			_, _, errs := s.run(strings.Fields(c.line)...)
			require.Len(t, s.calls, 1, errs)
			require.JSONEq(t, c.want, s.calls[0].args)
		})
	}
}

func TestStandardInputThatIsNoText(t *testing.T) {
	for name, c := range map[string]struct {
		line, stdin, want string
		exit              int
	}{
		"empty":            {"write a -", "", "standard input is empty: text expected", 2},
		"empty by flag":    {"write a --stdin", "", "standard input is empty", 2},
		"not UTF-8":        {"write a -", "a\xff", "standard input is not valid UTF-8 (INVALID_VALUE)", 2},
		"too long":         {"write a -", strings.Repeat("x", 9<<20), "(BATCH_TOO_LARGE)", 2},
		"twice":            {"write a - --note -", "x", "standard input can be read only once", 1},
		"with --stdin":     {"write a --stdin --note -", "x", "standard input can be read only once", 1},
		"given and piped":  {"write a x --stdin", "x", "text is given twice, also with --stdin", 1},
		"dash and piped":   {"write a - --stdin", "x", "text is given twice, also with --stdin", 1},
		"an object of all": {"new --stdin", "prose", "the input must be one JSON object", 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t, writeTools())
			s.app.In = strings.NewReader(c.stdin)
			code, _, errs := s.run(strings.Fields(c.line)...)
			require.Equal(t, c.exit, code, errs)
			require.Contains(t, errs, c.want)
			require.Empty(t, s.calls)
		})
	}
}

func TestHelpOfStandardInput(t *testing.T) {
	s := newShell(t, writeTools())
	code, out, _ := s.run("write", "--help")
	require.Zero(t, code)
	require.Contains(t, out, "(- reads standard input)")
	require.Contains(t, out, "read the text from standard input")
}
