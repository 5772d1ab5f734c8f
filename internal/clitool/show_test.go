package clitool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/fault"
)

// A canned is an Invoker that answers every call with one envelope.
type canned string

func (c canned) Invoke(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	if f := (struct{ Error *fault.Fault }{}); json.Unmarshal([]byte(c), &f) == nil && f.Error != nil {
		return json.RawMessage(c), f.Error
	}
	return json.RawMessage(c), nil
}

// show runs a command whose call is answered with an envelope.
func show(t *testing.T, envelope string, terminal bool, args ...string) (int, string, string) {
	t.Helper()
	s := newShell(t, ravenTools())
	s.inner, s.app.Terminal = canned(envelope), terminal
	return s.run(append([]string{"object", "list"}, args...)...)
}

func answer(data string) string { return `{"ok":true,"data":` + data + `,"warnings":[]}` }

func TestPipesGetPlainText(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"rows": {
			`{"items":[{"id":"a","n":1,"x":null},{"id":"b","tags":["p","q"],"f":{"k":"v","w":2}}]}`,
			"id\tn\ttags\tf\na\t1\t\t\nb\t\tp, q\tk=v, w=2\n",
		},
		"a cell of several lines": {`{"items":[{"id":"a\tb\nc"}]}`, "id\na b c\n"},
		"rows beside other things": {
			`{"total":2,"types":[{"name":"a"},{"name":"b"}],"none":[]}`,
			"total: 2\ntypes:\nname\na\nb\n",
		},
		"texts":   {`{"names":["a","b"]}`, "a\nb\n"},
		"nothing": {`{"items":[]}`, ""},
		"one thing": {
			`{"object":{"id":"a","heading":null,"ok":true,"tags":["x","y"],"fields":{"name":"A"}}}`,
			"id: a\nok: true\ntags: x, y\nfields:\n  name: A\n",
		},
		"named things keep their names": {
			`{"types":{"person":{"fields":{"name":{"type":"string"}}}}}`,
			"types:\n  person:\n    fields:\n      name:\n        type: string\n",
		},
		"a tree is indented": {
			`{"tree":{"path":"","n":3,"in":[{"path":"a","n":2,"in":[{"path":"a/b","n":0,"in":[]}]},{"path":"c","n":1,"in":[]}]},"state":"x"}`,
			"tree:\n  .  n 3\n    a  n 2\n      a/b  n 0\n    c  n 1\nstate: x\n",
		},
		"a tree whose root is only its branches": {
			`{"path":"a.md","root":{"in":[{"id":"h1","in":[{"id":"h2","in":[]}]}]},"cut":false}`,
			"path: a.md\nroot:\n  h1\n    h2\ncut: false\n",
		},
		"a mutation says it once": {
			`{"action":"created","object":{"id":"a","type":"t","fields":{}},"id":"a","type":"t"}`,
			"action: created\nid: a\ntype: t\n",
		},
		"content":                 {`{"path":"a.md","content":"# A\n\nno end","line_count":3}`, "# A\n\nno end"},
		"content of a change":     {`{"action":"created","path":"a.md","content":"x"}`, "action: created\npath: a.md\ncontent: x\n"},
		"content of a plan":       {`{"dry_run":true,"path":"a.md","content":"x"}`, "dry run: nothing was changed\npath: a.md\ncontent: x\n"},
		"big numbers stay":        {`{"n":12345678901234567890,"f":1.50}`, "n: 12345678901234567890\nf: 1.50\n"},
		"a text of several lines": {`{"a":"x\n\ny"}`, "a:\n  | x\n  | \n  | y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := show(t, answer(c.data), false)
			require.Zero(t, code)
			require.Equal(t, c.want, out)
			require.Empty(t, errs)
		})
	}
}

func TestDryRunPrintsItsPlan(t *testing.T) {
	_, out, _ := show(t, answer(`{"dry_run":true,
		"would_update":{"id":"due-1","changes":{"value":{"old":"2025-02-01","new":"2025-02-20"}}},
		"would_modify_files":[
			{"path":"a.md","action":"create","content_preview":"---\ntype: t\n---\n"},
			{"path":"b.md","action":"modify","line":23,"old_content":"- x","new_content":"- y"}],
		"side_effects":[]}`), false)
	require.Equal(t, `dry run: nothing was changed
would_update:
  id: due-1
  changes:
    value:
      old: 2025-02-01
      new: 2025-02-20
would_modify_files:
  - path: a.md
    action: create
    content_preview:
      | ---
      | type: t
      | ---
  - path: b.md
    action: modify
    line: 23
    old_content: - x
    new_content: - y
`, out)
}

func TestWarningsAndFurtherPagesGoToStandardError(t *testing.T) {
	envelope := `{"ok":true,"data":{"items":[{"id":"a"}]},
		"warnings":[{"code":"REF_NOT_FOUND","message":"no people/bob","ref":"people/bob"}],
		"meta":{"count":1,"total":3,"has_more":true,"next_page_token":"abc"}}`
	_, out, errs := show(t, envelope, false)
	require.Equal(t, "id\na\n", out)
	require.Equal(t, "warning: REF_NOT_FOUND no people/bob\n"+
		"1 of 3 shown; the next page: --page-token abc\n", errs)

	_, out, errs = show(t, envelope, false, "--bare")
	require.Equal(t, `{"items":[{"id":"a"}]}`+"\n", out)
	require.Equal(t, "warning: REF_NOT_FOUND no people/bob\n", errs)
}

func TestJSONIsPrintedAsReceived(t *testing.T) {
	const envelope = `{"ok":true,"data":{"b":1.0,"a":"<&>","z":{}},"warnings":[],"meta":{"version":"v1"}}`
	for _, flags := range [][]string{{"--json"}, {"--envelope"}, {"--json", "--envelope"}} {
		code, out, errs := show(t, envelope, false, flags...)
		require.Zero(t, code)
		require.Equal(t, envelope+"\n", out)
		require.Empty(t, errs)
	}
	for _, flags := range [][]string{
		{"--bare"}, {"--json", "--bare"}, {"--envelope=false"}, {"--input", `{"envelope":false}`},
	} {
		_, out, _ := show(t, envelope, false, flags...)
		require.Equal(t, `{"b":1.0,"a":"<&>","z":{}}`+"\n", out, flags)
	}
	_, out, _ := show(t, answer(`{"a":[1]}`), true, "--bare")
	require.Equal(t, "{\n  \"a\": [\n    1\n  ]\n}\n", out)
}

const refusal = `{"ok":false,"data":{"results":[{"op":"set","ok":false}]},"error":{
	"code":"VALIDATION_FAILED","message":"2 validation errors found","details":{"failed_at":1},
	"errors":[
		{"code":"INVALID_FIELD","message":"no field x","details":{"available":["a","b"],"matches":2},
			"location":{"file":"n.md","line":3}},
		{"code":"INVALID_VALUE","message":"no date","location":{"file":"n.md"}}],
	"fixes":["rookery schema type person"],"retry_after":3},
	"warnings":[{"code":"UNKNOWN_FIELD","message":"odd"}]}`

func TestFailures(t *testing.T) {
	code, out, errs := show(t, refusal, false)
	require.Equal(t, 2, code)
	require.Equal(t, "op\tok\nset\tfalse\n", out)
	require.Equal(t, `warning: UNKNOWN_FIELD odd
error: 2 validation errors found (VALIDATION_FAILED)
  failed_at: 1
  - n.md:3: no field x (INVALID_FIELD)
    available: a, b
    matches: 2
  - n.md: no date (INVALID_VALUE)
  again in: 3s
try: rookery schema type person
`, errs)

	code, out, errs = show(t, refusal, false, "--json")
	require.Equal(t, 2, code)
	require.Equal(t, refusal+"\n", out)
	require.Empty(t, errs)

	code, out, errs = show(t, refusal, false, "--bare")
	require.Equal(t, 2, code)
	require.True(t, strings.HasPrefix(out, `{"code":"VALIDATION_FAILED","status":"invalid_argument",`), out)
	require.Equal(t, "warning: UNKNOWN_FIELD odd\n", errs)

	_, bare, _ := show(t, refusal, false, "--input", `{"envelope":false}`)
	require.Equal(t, out, bare)
}

func TestExitCodesFollowTheCode(t *testing.T) {
	for _, code := range fault.Codes() {
		raw, err := json.Marshal(fault.New(code, "no"))
		require.NoError(t, err)
		got, _, _ := show(t, `{"ok":false,"error":`+string(raw)+`,"warnings":[]}`, false)
		require.Equal(t, code.Exit(), got, code)
		require.Greater(t, got, 1)
	}
}

func TestAnswerThatIsNoEnvelopeIsInternal(t *testing.T) {
	for _, junk := range []string{`<html>`, `[]`, `{}`, `{"ok":true`} {
		code, _, errs := show(t, junk, false)
		require.Equal(t, 2, code)
		require.Contains(t, errs, "(INTERNAL)")
		require.NotContains(t, errs, "html")
	}
}

func TestTerminalsGetTables(t *testing.T) {
	data := answer(`{"items":[{"id":"a","text":"` + strings.Repeat("long ", 60) + `"},{"id":"b"}]}`)
	s := newShell(t, ravenTools())
	s.inner, s.app.Terminal, s.app.Width = canned(data), true, 60
	s.env["NO_COLOR"] = "1"
	_, out, _ := s.run("object", "list")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	require.Equal(t, "id  text", lines[0])
	require.Equal(t, "a   "+strings.Repeat("long ", 11)+"…", lines[2])
	require.Len(t, lines, 4)
	require.NotContains(t, out, "\x1b")

	s.env["NO_COLOR"] = ""
	_, out, _ = s.run("object", "list")
	require.Contains(t, out, "\x1b[1mid\x1b[0m")
}

func TestTextSteersNoTerminal(t *testing.T) {
	for _, data := range []string{
		`{"path":"a.md","content":"a\u001b]0;evil\u0007b\u009bc"}`,
		`{"items":[{"id":"a\u001b[2Jb"}]}`,
		`{"object":{"id":"a\u001b[2Jb"}}`,
	} {
		s := newShell(t, ravenTools())
		s.inner, s.app.Terminal = canned(answer(data)), true
		s.env["NO_COLOR"] = "1"
		_, out, _ := s.run("object", "list")
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, out, "\u009b")
	}
	for _, odd := range []string{`\u001b`, `\u007f`, `\u009b`, `\u202a`, `\u202e`, `\u2066`, `\u2069`} {
		data := `{"path":"a?.md","content":"b?","n?":{"x?":"y?"},"rows":[{"k?":"v?"}],"list":["l?"]}`
		ok := strings.ReplaceAll(`{"ok":true,"data":`+data+`,"warnings":[{"code":"W","message":"m?",
			"fixes":["f?"]}],"meta":{"version":"v?"}}`, "?", odd)
		failed := strings.ReplaceAll(`{"ok":false,"error":{"code":"NOT_FOUND","message":"m?",
			"details":{"d?":"e?"},"fixes":["f?"],"location":{"file":"p?"}},"warnings":[]}`, "?", odd)
		char, err := strconv.Unquote(`"` + odd + `"`)
		require.NoError(t, err)
		for _, answer := range []string{ok, strings.Replace(ok, "content", "other", 1), failed} {
			for _, flags := range [][]string{{}, {"--json"}, {"--bare"}} {
				s := newShell(t, ravenTools())
				s.inner, s.app.Terminal = canned(answer), true
				s.env["NO_COLOR"] = "1"
				_, out, errs := s.run(append([]string{"object", "list"}, flags...)...)
				require.NotContains(t, out+errs, char, "%v", flags)
				require.Contains(t, out+errs, odd, "%v %s", flags, answer)
				if slices.Contains(flags, "--json") {
					require.JSONEq(t, answer, out, "it is the same JSON")
				}
			}
		}
	}
	_, out, _ := show(t, answer(`{"path":"a.md","content":"a\u001b[0m"}`), false)
	require.Equal(t, "a\x1b[0m", out, "a pipe gets the bytes of the note")
	_, _, errs := show(t, `{"ok":false,"error":{"code":"NOT_FOUND","message":"no \u001b[2J"},"warnings":[]}`, false)
	require.NotContains(t, errs, "\x1b")
}

func TestHelp(t *testing.T) {
	s := sample(t)
	code, out, errs := s.run("book", "set", "--help")
	require.Zero(t, code)
	require.Empty(t, errs)
	for _, part := range []string{
		"Sets fields of a book.\n",
		"  rookery book set ID [NAME=VALUE]... [flags]\n",
		"  ID          the book's id\n",
		"  NAME=VALUE  fields and their new values",
		"--dry-run ", "--if-version ", "--input ", "--stdin ", "--server ", "--readonly ",
		"rookery help flags explains the common flags.\n", "      --set name=value   fields",
		"Examples:\n  rookery book set people/freya pages=7\n",
	} {
		require.Contains(t, out, part)
	}
	for _, hidden := range []string{"--reference", "--fields", "--only", "--agent-id", "--id ", "--session", "address of the server"} {
		require.NotContains(t, out, hidden)
	}
	_, again, _ := s.run("help", "book", "set")
	require.Equal(t, out, again)

	_, out, _ = s.run("book", "list", "-h")
	require.Contains(t, out, "(one of saga, atlas)")
	require.NotContains(t, out, "(default 50)")
	require.NotContains(t, out, "--readonly")
	require.Contains(t, out, "rookery book list [GENRE] [flags]")

	_, out, _ = s.run("book")
	require.Contains(t, out, "  get     Get a book\n")
	_, out, _ = s.run()
	require.Contains(t, out, "  book        Read and write books\n")
	require.Contains(t, out, "  shelf       create, export, import\n")
	_, out, _ = s.run("help", "flags")
	for _, part := range []string{
		"$RAVEN_VAULT", "--server URL", "(default 50)", "--dry-run ", "--input JSON|FILE", "--only text",
	} {
		require.Contains(t, out, part)
	}
}

func TestGroupThatIsATool(t *testing.T) {
	s := newShell(t, ravenTools())
	_, out, _ := s.run("schema", "--help")
	require.Contains(t, out, "rookery schema [flags]")
	require.Contains(t, out, "rookery schema COMMAND")
	require.Contains(t, out, "  types     schema_types")
}

func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"book list --genre |": "saga\natlas\n:4\n",
		"book list |":         "saga\natlas\n:4\n",
		"book list saga |":    ":4\n",
		"book ge|":            "get\tGet a book\n:4\n",
		"shelf import |":      ":0\n",
		"help bo|":            "book\ncompletion\nfail\nnew\nshelf\nwhoami\n:4\n",
	} {
		t.Run(line, func(t *testing.T) {
			s := sample(t)
			words := strings.Split(strings.TrimSuffix(line, "|"), " ")
			code, out, _ := s.run(append([]string{"__complete"}, words...)...)
			require.Zero(t, code)
			require.Equal(t, want, out)
			require.Empty(t, s.calls)
		})
	}
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		s := sample(t)
		code, out, _ := s.run("completion", name)
		require.Zero(t, code)
		require.Contains(t, out, "rookery")
	}
}

// TestColumns checks that a person sees the columns that the tool names, if there are any, and that
// a program, or a line that selects others, gets all of them.
func TestColumns(t *testing.T) {
	tools := ravenTools()
	for _, made := range tools {
		made.Columns = []string{"n", "id"}
	}
	for _, c := range []struct {
		data string
		args []string
		want string
	}{
		{`{"items":[{"id":"a","n":1,"x":2}]}`, nil, "n\tid\n1\ta\n"},
		{`{"items":[{"id":"a","x":2}]}`, nil, "id\na\n"},
		{`{"items":[{"name":"a","x":2}]}`, nil, "name\tx\na\t2\n"},
		{`{"items":[{"id":"a","x":2}]}`, []string{"--only", "id", "--only", "x"}, "id\tx\na\t2\n"},
		{`{"items":[{"id":"a","x":2}]}`, []string{"--bare"}, `{"items":[{"id":"a","x":2}]}` + "\n"},
	} {
		s := newShell(t, tools)
		s.inner = canned(answer(c.data))
		_, out, errs := s.run(append([]string{"object", "list"}, c.args...)...)
		require.Equal(t, c.want, out, errs)
	}
}

func TestWarningsShowTheCommandThatHelps(t *testing.T) {
	code, _, errs := show(t, `{"ok":true,"data":{"action":"created"},"warnings":[{"code":"REF_NOT_FOUND",
		"message":"nothing has the name \"x\" yet","create_command":"rookery object create page --title x"}]}`, false)
	require.Zero(t, code)
	require.Equal(t, "warning: REF_NOT_FOUND nothing has the name \"x\" yet\n"+
		"try: rookery object create page --title x\n", errs)
}
