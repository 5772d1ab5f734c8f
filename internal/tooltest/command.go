package tooltest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
	"github.com/rookeryhq/rookery/internal/clitool"
	"github.com/rookeryhq/rookery/internal/httptool"
	"github.com/rookeryhq/rookery/internal/tool"
)

// A Connect is how commands reach the tools at a target.
type Connect func(clitool.Target) tool.Invoker

// InProcess reaches a catalogue as the caller, under the agent and session of the target.
func InProcess(cat *tool.Catalogue, c auth.Caller) Connect {
	return func(t clitool.Target) tool.Invoker {
		own := c
		own.Agent, own.Session = cmp.Or(t.Agent, c.Agent), cmp.Or(t.Session, c.Session)
		own.ReadOnly = c.ReadOnly || t.ReadOnly
		return As(cat, own)
	}
}

// Served reaches the server at base.
func Served(base string) Connect {
	return func(t clitool.Target) tool.Invoker {
		return &httptool.Client{
			Base: base, Agent: t.Agent, Session: t.Session, ReadOnly: t.ReadOnly,
		}
	}
}

// Commands is the way over the command line, with every argument as a person would type it.
func Commands(tools []*tool.Tool, connect Connect) Way {
	return Way{"cli", func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		argv, ok := Argv(tools, c)
		if !ok {
			return nil, false
		}
		return called(t, tools, Run(t, tools, connect, argv...)), true
	}}
}

// Inputs is the way over the command line with all arguments in --input. It carries every call of a
// tool by its name.
func Inputs(tools []*tool.Tool, connect Connect) Way {
	return Way{"cli --input", func(t testing.TB, c Call) (json.RawMessage, bool) {
		t.Helper()
		made := find(tools, c.Tool)
		if made == nil {
			return nil, false
		}
		if _, ok := c.Args[made.Body]; made.Body != "" && !ok {
			return nil, false // it would be taken for the body
		}
		way, ok := wayOf(made, c)
		if !ok {
			return nil, false
		}
		argv := append(strings.Fields(way.Words),
			envelopeFlag(made.Family), "--input", string(c.JSON(t)))
		return called(t, tools, Run(t, tools, connect, argv...)), true
	}}
}

// Run runs a command line that prints JSON, and checks that its exit code is that of the answer.
func Run(t testing.TB, tools []*tool.Tool, connect Connect, argv ...string) json.RawMessage {
	t.Helper()
	p := Shell{Tools: tools, Connect: connect}.Run(t, argv...)
	answer := json.RawMessage(strings.TrimSuffix(p.Out, "\n"))
	if f := familyOf(tools, argv); f != nil && f.Terse && p.Exit != 0 && len(answer) == 0 {
		answer = json.RawMessage(strings.TrimSuffix(p.Err, "\n")) // a bare failure
	}
	require.NotEmpty(t, answer, "%q: exit %d: %s", argv, p.Exit, p.Err)
	want := 0
	if code := CodeOf(t, answer); code != "" {
		want = familyOf(tools, argv).ExitCode(code)
	}
	require.Equal(t, want, p.Exit, "%q: %s%s", argv, answer, p.Err)
	return answer
}

// envelopeFlag is the flag that prints the envelope.
func envelopeFlag(f *tool.Family) string {
	if f.Terse {
		return "--envelope"
	}
	return "--json"
}

// familyOf is the family of the tool that a command line calls; nil: none is known.
func familyOf(tools []*tool.Tool, argv []string) *tool.Family {
	var found *tool.Family
	longest := 0
	for _, made := range tools {
		for _, way := range made.Commands {
			words := strings.Fields(way.Words)
			if len(words) > longest && len(words) <= len(argv) && slices.Equal(words, argv[:len(words)]) {
				found, longest = made.Family, len(words)
			}
		}
	}
	return found
}

// A Shell runs command lines of these tools, without a terminal.
type Shell struct {
	Tools   []*tool.Tool
	Connect Connect
	Env     map[string]string
	Stdin   string
}

// Printed is what a command line came to.
type Printed struct {
	Exit     int
	Out, Err string
}

// Run runs a command line, without the name of the program.
func (s Shell) Run(t testing.TB, argv ...string) Printed {
	t.Helper()
	var out, errs bytes.Buffer
	app := &clitool.App{
		Tools: s.Tools, In: strings.NewReader(s.Stdin), Out: &out, Err: &errs,
		Env: func(name string) string { return s.Env[name] },
		Connect: func(_ context.Context, t clitool.Target) (tool.Invoker, io.Closer, error) {
			return s.Connect(t), nil, nil
		},
	}
	exit := app.Run(t.Context(), argv)
	return Printed{exit, out.String(), errs.String()}
}

// Argv is the command line of a call, if one can say it.
func Argv(tools []*tool.Tool, c Call) ([]string, bool) {
	made := find(tools, c.Tool)
	if made == nil {
		return nil, false
	}
	args, ok := named(made, c)
	if !ok {
		return nil, false
	}
	way, ok := wayOf(made, c)
	if !ok {
		return nil, false
	}
	l := line{made: made, way: way, words: map[string][]string{}}
	if in := made.Input; in != nil && len(c.Args[in.Arg]) > 0 && c.Args[in.Arg][0] != '[' {
		return nil, false // it would be the path of files
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if way.Set[name] != "" {
			continue
		}
		if !l.add(args[name], name, c.Args[name]) {
			return nil, false
		}
	}
	for _, p := range made.Presets {
		if _, given := args[p.Arg]; !given {
			l.flags = append(l.flags, "--"+p.Flag)
		}
	}
	return l.argv(), true
}

// wayOf returns the command that makes a call.
func wayOf(made *tool.Tool, c Call) (tool.Command, bool) {
	return made.CommandFor(func(name string) json.RawMessage { return c.Args[name] })
}

// A line is a command line in the making.
type line struct {
	made  *tool.Tool
	way   tool.Command
	flags []string
	words map[string][]string // by the argument that they stand for
}

// add adds an argument, as a flag or as words. It is false if text cannot say the value.
func (l *line) add(a tool.Arg, name string, raw json.RawMessage) bool {
	if a.Name == l.made.Body {
		l.flags = append(l.flags, "--input="+string(raw))
		return len(raw) > 0 && (raw[0] == '{' || raw[0] == '[')
	}
	values, ok := texts(a, raw)
	switch {
	case !ok:
		return false
	case a.Bool(), a.Kind() == "integer", a.Kind() == "number":
		if raw[0] == '"' {
			return false // what is no number, the command line itself refuses
		}
	case a.Text && len(values) == 1 && values[0] == "-":
		return false // it would be standard input
	case a.Name == "vault" && strings.ContainsAny(values[0], `/\.`):
		return false // it would be a folder
	case a.Shared && len(values[0]) > 128:
		return false // the command line refuses it in its own words
	}
	if slices.Contains(l.places(), a.Name) && name == a.Name && l.areWords(a, values) {
		l.words[a.Name] = values
		return true
	}
	l.flag(a, values)
	return true
}

// areWords reports whether the values can stand without a flag: as words that are taken for what
// they are.
func (l *line) areWords(a tool.Arg, values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool {
		name, _, pair := strings.Cut(v, "=")
		isPair := pair && name != "" && !strings.ContainsAny(name, "/#? ")
		return l.way.Pairs != "" && isPair != (a.Name == l.way.Pairs)
	})
}

func (l *line) flag(a tool.Arg, values []string) {
	name := a.Flag
	if a.Shared && a.Name == "agent_id" {
		name = "agent" // a global flag stands for it
	}
	for _, v := range values {
		l.flags = append(l.flags, "--"+name+"="+v)
	}
}

// places are the arguments that the command takes without a flag, in order.
func (l *line) places() []string {
	var all []string
	for _, entry := range l.way.Args {
		name, _, _ := tool.Positional(entry)
		all = append(all, name)
	}
	if l.way.Pairs != "" {
		all = append(all, l.way.Pairs)
	}
	return all
}

// argv is the command line. Words behind a place that is left empty are flags.
func (l *line) argv() []string {
	var typed []string
	gap := false
	for _, name := range l.places() {
		given := l.words[name]
		if gap && name != l.way.Pairs {
			for _, v := range given {
				l.flags = append(l.flags, "--"+tool.Kebab(name)+"="+v)
			}
			continue
		}
		gap = gap || len(given) == 0
		typed = append(typed, given...)
	}
	argv := strings.Fields(l.way.Words)
	if !slices.Contains(l.flags, "--envelope=false") {
		argv = append(argv, envelopeFlag(l.made.Family))
	}
	argv = append(argv, l.flags...)
	if len(typed) > 0 {
		argv = append(append(argv, "--"), typed...)
	}
	return argv
}

func find(tools []*tool.Tool, name string) *tool.Tool {
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Words are those of a command line, as a shell reads them: blanks part them, and quotes keep them
// together. Of the rest that a shell can do, nothing is known.
func Words(line string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, begun = true, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && c == ' ':
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}

// Allocated is what a function allocates: how many objects, and how many bytes in all, those that were
// freed since included. Other goroutines that run meanwhile are counted too.
func Allocated(do func()) (objects, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}
